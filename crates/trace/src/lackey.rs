//! The lines of `valgrind --tool=lackey --trace-mem=yes`.

use super::reference::{Reference, decimal, hexadecimal};

/// The part of an error message that lists acceptable lines.
pub(crate) const ACCEPTED: &str = "`I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`, ` S ADDRESS,SIZE` or \
     ` M ADDRESS,SIZE`, with the address in hexadecimal and a size of 1 to 4096 bytes, and \
     Valgrind's own lines (--tool=lackey --trace-mem=yes)";

/// Returns the reference in a line, if it is one.
pub(crate) fn reference(line: &[u8]) -> Option<Reference> {
    let (kind, rest) = line.split_at_checked(3)?;
    let (store, fetch) = match kind {
        b"I  " => (false, true),
        b" L " => (false, false),
        // A modify loads as well.
        b" S " | b" M " => (true, false),
        _ => return None,
    };
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let (address, size) = (hexadecimal(&rest[..comma])?, decimal(&rest[comma + 1..])?);
    Reference::new(address, size, store, fetch)
}

/// Returns true if Valgrind itself wrote the line: `==PID==`, `--PID--`, `**PID**`, or a system
/// call. A system call that the kernel lacks takes two lines.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    [b"==".as_slice(), b"--", b"**", b"SYSCALL[", b" --> ["]
        .iter()
        .any(|start| line.starts_with(start))
        || line.is_empty()
}

/// Returns the command in a line such as `==4776== Command: ls -l`; Valgrind does not quote
/// arguments.
pub(crate) fn command(line: &[u8]) -> Vec<String> {
    let line = String::from_utf8_lossy(line);
    let command = line.split_once("== Command: ").map(|(_, command)| command);
    command.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Returns true for the first line that Valgrind writes of a program. If the program replaces
/// another one, this line follows the begun line of that call.
pub(crate) fn is_greeting(line: &[u8]) -> bool {
    let by = line.strip_suffix(b"== Lackey, an example Valgrind tool").unwrap_or_default();
    let digits = by.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && by[..by.len() - digits].ends_with(b"==")
}

/// Returns the signal in a line such as `==4776== Process terminating with default action of signal
/// 15 (SIGTERM)`, which means that the program ends by it.
pub(crate) fn fatal_signal(line: &[u8]) -> Option<u8> {
    let line = std::str::from_utf8(line.strip_prefix(b"==")?).ok()?;
    let (_, said) = line.split_once("== Process terminating with default action of signal ")?;
    said.split_once(' ')?.0.parse().ok()
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
            let found = reference(line).map(|reference| (reference.store, reference.fetch));
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn valgrind_greets_once_a_program() {
        let greeting = "==3601== Lackey, an example Valgrind tool";
        let replaces =
            format!("SYSCALL[3601,1](59) sys_execve ( 0x4(/bin/ls), 0x5, 0x6 ){greeting}");
        assert!([greeting, &replaces].iter().all(|line| is_greeting(line.as_bytes())));
        for line in ["", "==", "==3601== Command: a", &greeting[1..], &greeting[..40]] {
            assert!(!is_greeting(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_signal_that_ends_a_program_is_read() {
        let line = b"==4776== Process terminating with default action of signal 15 (SIGTERM)";
        assert_eq!(fatal_signal(line), Some(15));
        assert_eq!(fatal_signal(&line[1..]), None);
        assert_eq!(fatal_signal(b"==4776== Command: signal 15 (SIGTERM)"), None);
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
            assert_eq!(reference(line.as_bytes()), None, "{line:?}");
        }
    }
}
