//! The text of `drrun -t drmemtrace -tool view`, DynamoRIO's view of its memory traces:
//!
//! ```text
//! 47445  37770:  2765543 ifetch  5 byte(s) @ 0x0000000000404a7e 48 8b 5c 24 08  mov 0x08(%rsp) …
//! 47446  37770:  2765543 read    8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
//! 47451  37774:  2765543 <marker: system call 273>
//! ```
//!
//! A line has the number of the record and of the instruction, a colon, the thread (`W1.T2` if the
//! trace is of several programs, here the second), and an entry. Older views begin with the thread
//! (`T2765543`). An entry without a thread, such as that of an idle core, has no thread column. An
//! instruction too long for its column continues in a line of only bytes
//! (`clients/drcachesim/tools/view.cpp` and `view.h`, and the example in
//! `clients/drcachesim/docs`). The names of prefetches begin with `pref`; those by the processor
//! itself are `pref-HW`.

use super::access::{Access, Cause};
use super::text::{Line, words};
use crate::reference::{Reference, decimal, hexadecimal};

pub(super) fn line(line: &[u8]) -> Option<Line> {
    let mut rest = words(line);
    let Some(first) = rest.clone().next() else { return Some(Line::Nothing) };
    if is_frame(line) {
        return Some(Line::Nothing);
    }
    if first.starts_with(b"<") {
        return Some(Line::PassedOver(entry(line)));
    }
    let process = thread(&mut rest)?;
    let kind = rest.next()?;
    let (store, fetch) = match kind {
        b"ifetch" => (false, true),
        b"read" => (false, false),
        b"write" => (true, false),
        b"iflush" | b"dflush" => return Some(Line::PassedOver(Cause::Flush)),
        kind if kind.starts_with(b"pref") => {
            return Some(Line::Access { process, access: Access::Prefetch });
        }
        kind if kind.starts_with(b"<") => return Some(Line::PassedOver(entry(line))),
        // The bytes of a long instruction.
        kind if kind.len() == 2 && hexadecimal(kind).is_some() => return Some(Line::Nothing),
        _ => return None,
    };
    let size = decimal(rest.next()?)?;
    if (rest.next()?, rest.next()?) != (b"byte(s)", b"@") {
        return None;
    }
    let address = hexadecimal(rest.next()?.strip_prefix(b"0x")?)?;
    let access = Access::Reference(Reference::new(address, size, store, fetch)?);
    Some(Line::Access { process, access })
}

/// Returns true for the lines before, between and after the records.
fn is_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    [b"Output format:".as_slice(), b"<--record#->", b"View tool results:", b"----"]
        .iter()
        .any(|start| line.starts_with(start))
        || line.ends_with(b": total instructions")
}

/// Returns the cause for an entry in angle brackets.
fn entry(line: &[u8]) -> Cause {
    const UNKNOWN: &[u8] = b"<entry type ";
    if line.windows(UNKNOWN.len()).any(|part| part == UNKNOWN) {
        Cause::UnknownEntry
    } else {
        Cause::Marker
    }
}

/// Takes the numbers of a record and its thread, and returns the thread's program.
fn thread<'l>(words: &mut (impl Iterator<Item = &'l [u8]> + Clone)) -> Option<u64> {
    let mut rest = words.clone();
    let is_last_number =
        |word: &[u8]| word.strip_suffix(b":").is_some_and(|n| decimal(n).is_some());
    let first = rest.next()?;
    if is_last_number(first) {
        words.next();
    } else if decimal(first).is_some() && rest.next().is_some_and(is_last_number) {
        words.nth(1);
    }
    process(words.next()?)
}

/// Returns the program of a thread: the number after `W`, or 0 if there is one program.
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
    fn accesses_are_read_with_and_without_numbers_before_the_thread() {
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
            (read.replace("  47446  37770: 2765543", "T2765543"), 0, false, false),
            (read.replace("  47446  37770: 2765543", "   37770: T2765543"), 0, false, false),
        ] {
            let access = Access::Reference(
                Reference::new(address, 8, store, fetch).expect("a small access"),
            );
            let expected = Line::Access { process: program, access };
            assert_eq!(line(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn lines_of_no_access_have_their_cause() {
        let passed = |cause| Line::PassedOver(cause);
        let prefetch = Line::Access { process: 0, access: Access::Prefetch };
        for (text, expected) in [
            ("", Line::Nothing),
            ("Output format:", Line::Nothing),
            ("<--record#-> <--instr#->: <---tid---> <record details>", Line::Nothing),
            ("------------------------------------------------------------", Line::Nothing),
            ("           1           0:     2765542 <marker: version 5>", passed(Cause::Marker)),
            ("T342625 <marker: cache line size 64>", passed(Cause::Marker)),
            ("T342625 <thread 342625 exited>", passed(Cause::Marker)),
            ("<marker: core is idle>", passed(Cause::Marker)),
            ("1 0: 2765542 <marker: function argument 0x5: a>", passed(Cause::Marker)),
            ("8 1: W0.T4242 <entry type 46>", passed(Cause::UnknownEntry)),
            ("<entry type 46>", passed(Cause::UnknownEntry)),
            ("1 0: 2765542 pref-r-L1    0 byte(s) @ 0x10 by PC 0x20", prefetch.clone()),
            ("1 0: 2765542 pref-HW      1 byte(s) @ 0x10 by PC 0x20", prefetch),
            ("1 0: 2765542 iflush       1 byte(s) @ 0x10 by PC 0x20", passed(Cause::Flush)),
            ("                2765542                  00 00 00", Line::Nothing),
            ("View tool results:", Line::Nothing),
            ("          11752 : total instructions", Line::Nothing),
        ] {
            assert_eq!(line(text.as_bytes()), Some(expected), "{text}");
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
