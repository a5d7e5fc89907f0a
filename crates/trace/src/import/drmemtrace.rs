//! The text of `drrun -t drmemtrace -tool view`, DynamoRIO's view of its memory traces:
//!
//! ```text
//! 47445  37770:  2765543 ifetch  5 byte(s) @ 0x0000000000404a7e 48 8b 5c 24 08  mov 0x08(%rsp) …
//! 47446  37770:  2765543 read    8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
//! 47451  37774:  2765543 <marker: system call 273>
//! ```
//!
//! A line has the number of the record and of the instruction, a colon, the thread (`W1.T2` where
//! the trace is of several programs, here the second), and what it is about. Fetches, reads and
//! writes are references; prefetches, flushes and markers are not. An instruction too long for its
//! column goes on in a line of bytes alone (`clients/drcachesim/tools/view.cpp`, and the example in
//! `clients/drcachesim/docs`).

use super::text::{Line, words};
use crate::reference::{Reference, decimal, hexadecimal};

pub(super) fn line(line: &[u8]) -> Option<Line> {
    if is_frame(line) {
        return Some(Line::Nothing);
    }
    let mut words = words(line);
    let process = match words.clone().position(|word| word.ends_with(b":")) {
        // A long instruction's further bytes have no numbers before the thread.
        None => process(words.next()?)?,
        Some(colon) if colon < 2 => {
            words.nth(colon)?;
            process(words.next()?)?
        }
        Some(_) => return None,
    };
    let kind = words.next()?;
    let (store, fetch) = match kind {
        b"ifetch" => (false, true),
        b"read" => (false, false),
        b"write" => (true, false),
        kind if is_other(kind) => return Some(Line::Nothing),
        _ => return None,
    };
    let size = decimal(words.next()?)?;
    if (words.next()?, words.next()?) != (b"byte(s)", b"@") {
        return None;
    }
    let address = hexadecimal(words.next()?.strip_prefix(b"0x")?)?;
    let reference = Some(Reference::new(address, size, store, fetch)?);
    Some(Line::Access { process, reference })
}

/// What stands before and after the records.
fn is_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    [b"Output format:".as_slice(), b"<--record#->", b"View tool results:", b"----"]
        .iter()
        .any(|start| line.starts_with(start))
        || line.ends_with(b": total instructions")
        || line.is_empty()
}

/// Kinds of lines that are no references: markers, prefetches, flushes, bytes.
fn is_other(kind: &[u8]) -> bool {
    let is_byte = kind.len() == 2 && hexadecimal(kind).is_some();
    kind.starts_with(b"<") || kind.starts_with(b"pref") || kind.ends_with(b"flush") || is_byte
}

/// The program of a thread: the number after `W`, or 0 where there is one program.
fn process(thread: &[u8]) -> Option<u64> {
    let Some(rest) = thread.strip_prefix(b"W") else {
        return decimal(thread.strip_prefix(b"T").unwrap_or(thread)).map(|_| 0);
    };
    let dot = rest.iter().position(|byte| *byte == b'.')?;
    decimal(rest[dot + 1..].strip_prefix(b"T")?)?;
    decimal(&rest[..dot])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_references_and_other_lines() {
        let read = "  47446  37770: 2765543 read   8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0404a7e";
        let address = 0x7fdf_64e2_adc8;
        for (text, program, store, fetch) in [
            (read.to_owned(), 0, false, false),
            (read.replace("read ", "write"), 0, true, false),
            (
                read.replace("read ", "ifetch").replace("by PC 0x0404a7e", "0f 05  syscall"),
                0,
                false,
                true,
            ),
            (read.replace("2765543", "W1.T2765543"), 1, false, false),
            (read.replace("2765543", "T2765543"), 0, false, false),
        ] {
            let reference = Reference::new(address, 8, store, fetch);
            let expected = Line::Access { process: program, reference };
            assert_eq!(line(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "",
            "Output format:",
            "<--record#-> <--instr#->: <---tid---> <record details>",
            "------------------------------------------------------------",
            "           1           0:     2765542 <marker: version 5>",
            "           1           0:     2765542 <marker: function argument 0x5: a>",
            "           1           0:     2765542 pref-r-L1    1 byte(s) @ 0x10 by PC 0x20",
            "           1           0:     2765542 iflush       1 byte(s) @ 0x10 by PC 0x20",
            "                              2765542                  00 00 00",
            "View tool results:",
            "          11752 : total instructions",
        ] {
            assert_eq!(line(text.as_bytes()), Some(Line::Nothing), "{text}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for text in [
            "hello, world",
            "1 2: 3 read 8 byte(s) @ 7fdf by PC 0x1",
            "1 2: 3 read 0 byte(s) @ 0x7fdf by PC 0x1",
            "1 2: 3 read 8 byte(s) 0x7fdf by PC 0x1",
            "1 2: 3 atomic 8 byte(s) @ 0x7fdf by PC 0x1",
            "1 2: Wx.T3 read 8 byte(s) @ 0x7fdf by PC 0x1",
            "1 2: 3",
            "a b c d: e",
        ] {
            assert_eq!(line(text.as_bytes()), None, "{text}");
        }
    }
}
