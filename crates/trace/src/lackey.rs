//! The lines of `valgrind --tool=lackey --trace-mem=yes`.

use super::event::Page;

/// What an error message says of acceptable lines.
pub(crate) const ACCEPTED: &str = "`I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`, ` S ADDRESS,SIZE` or \
     ` M ADDRESS,SIZE`, with the address in hexadecimal and a size of 1 to 4096 bytes";

/// The widest access accepted, in bytes: no instruction touches more than two pages.
const MAX_SIZE: u64 = 4096;

/// One instruction fetched, or one load, store or modify of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    address: u64,
    size: u64,
    /// `S` and `M` lines; `M` loads as well.
    pub(crate) store: bool,
    /// An `I` line.
    pub(crate) fetch: bool,
}

impl Reference {
    /// Reads a line, if it is a reference.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let (kind, rest) = line.split_at_checked(3)?;
        let (store, fetch) = match kind {
            b"I  " => (false, true),
            b" L " => (false, false),
            b" S " | b" M " => (true, false),
            _ => return None,
        };
        let comma = rest.iter().position(|byte| *byte == b',')?;
        let address = hexadecimal(&rest[..comma])?;
        let size = decimal(&rest[comma + 1..]).filter(|size| (1..=MAX_SIZE).contains(size))?;
        Some(Self { address, size, store, fetch })
    }

    /// The page of the first byte, and that of the last where it is another.
    pub(crate) fn pages(&self, page_shift: u8) -> (Page, Option<Page>) {
        let first = Page::of_address(self.address, page_shift);
        let last = Page::of_address(self.address.saturating_add(self.size - 1), page_shift);
        (first, Some(last).filter(|last| *last != first))
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?))
    })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 10 + u64::from(char::from(*digit).to_digit(10)?))
    })
}

/// Whether Valgrind itself wrote the line: `==PID==`, `--PID--`, `**PID**`, or a system call,
/// of which one that the kernel lacks takes two lines.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    [b"==".as_slice(), b"--", b"**", b"SYSCALL[", b" --> ["]
        .iter()
        .any(|start| line.starts_with(start))
        || line.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_kinds_are_told_apart() {
        let kinds = [
            (b"I  0401ab70,3".as_slice(), (false, true)),
            (b" L 1fff0005c0,8", (false, false)),
            (b" S 1fff000748,8", (true, false)),
            (b" M 04033e06,1", (true, false)),
        ];
        for (line, expected) in kinds {
            let found = Reference::parse(line).map(|reference| (reference.store, reference.fetch));
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn an_access_over_a_page_boundary_touches_both() {
        let pages = |line: &[u8]| {
            let (first, last) = Reference::parse(line).expect("a reference").pages(12);
            (first.number(), last.map(Page::number))
        };
        assert_eq!(pages(b" L 1fff,1"), (1, None));
        assert_eq!(pages(b" L 1fff,2"), (1, Some(2)));
        assert_eq!(pages(b" S ffffffffffffffff,8"), ((1 << 52) - 1, None));
    }

    #[test]
    fn other_lines_are_not_references() {
        let others = [
            "",
            "I",
            "I  ",
            "I  12",
            "I  12,",
            "I  ,4",
            "I 12,4",
            " X 12,4",
            " L 12,0",
            " L 12,4097",
            " L 12g,4",
            " L 12345678901234567,4",
            " L 12,4 ",
            " L 12,+4",
            "I  12,4,4",
        ];
        for line in others {
            assert_eq!(Reference::parse(line.as_bytes()), None, "{line:?}");
        }
    }
}
