//! The commands that are written to `lru_gen`.

use core::fmt;

use crate::SWAPPINESS_ANON_ONLY;
use crate::errno::Errno;
use crate::number::{c_string, is_space, kstrtouint};

/// The operation of a command on a cgroup's generations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `+`: opens a new generation.
    Age,
    /// `-`: evicts old generations.
    Evict,
}

/// A command: `+ CGROUP NODE SEQ [SWAPPINESS [FORCE]]` or `- CGROUP NODE SEQ [SWAPPINESS [PAGES]]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// The cgroup's id.
    pub memcg: u64,
    /// The node.
    pub node: u32,
    /// The youngest generation for `+`; for `-`, the youngest one to evict.
    pub seq: u64,
    /// The swappiness: 0 to 200, or 201 for only anonymous memory. `None` uses the cgroup's.
    pub swappiness: Option<u8>,
    /// For `+`, nonzero to walk without regard to filters; for `-`, the number of pages to evict.
    /// All bits are set if it is left out.
    pub option: u64,
}

impl Command {
    /// Parses a command without its separator and the blanks before it, as Linux 7.3.4 does
    /// (`lru_gen_seq_write`: `sscanf` with `%c %llu %u %lu %n %4s %n %lu %n`, and the checks of its
    /// results). Blanks between fields are optional. Numbers are decimal and wrap around.
    /// Swappiness is at most four characters: a number in C's bases, or `max`, which is 201.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] if a field before swappiness is missing, if a number cannot be parsed, or
    /// if text is left over.
    pub fn parse(text: &str) -> Result<Self, Errno> {
        let mut scanner = Scanner(text.as_bytes());
        let operation = match scanner.byte() {
            Some(b'+') => Operation::Age,
            Some(b'-') => Operation::Evict,
            _ => return Err(Errno::EINVAL),
        };
        let memcg = scanner.unsigned()?;
        let node = scanner.unsigned()? as u32;
        let seq = scanner.unsigned()?;
        let swappiness = scanner.word().map(swappiness).transpose()?;
        let option = if scanner.at_end() { u64::MAX } else { scanner.unsigned()? };
        if !scanner.at_end() {
            return Err(Errno::EINVAL);
        }
        Ok(Self { operation, memcg, node, seq, swappiness, option })
    }
}

/// Writes the command as `lru_gen` takes it, with all fields but those left out at its end.
impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation {
            Operation::Age => '+',
            Operation::Evict => '-',
        };
        write!(out, "{operation} {} {} {}", self.memcg, self.node, self.seq)?;
        match self.swappiness {
            None => return Ok(()),
            Some(SWAPPINESS_ANON_ONLY) => write!(out, " max")?,
            Some(swappiness) => write!(out, " {swappiness}")?,
        }
        if self.option == u64::MAX { Ok(()) } else { write!(out, " {}", self.option) }
    }
}

/// Takes one write(2) to `lru_gen`: commands separated by `,`, `;` or a line end, which `run`
/// executes in order, up to the first error. The effects of commands before it stay (Linux 7.3.4,
/// `lru_gen_seq_write`).
///
/// # Errors
/// [`Errno::EINVAL`] if there is no command, or one cannot be parsed; those of `run`.
pub fn write(text: &str, mut run: impl FnMut(&Command) -> Result<(), Errno>) -> Result<(), Errno> {
    let commands = c_string(text).split([',', ';', '\n']);
    let commands = commands.map(|command| command.trim_start_matches(is_space));
    let mut done = Err(Errno::EINVAL);
    for command in commands.filter(|command| !command.is_empty()) {
        done = Command::parse(command).and_then(|command| run(&command));
        if done.is_err() {
            break;
        }
    }
    done
}

fn swappiness(word: &[u8]) -> Result<u8, Errno> {
    if word == b"max" {
        return Ok(SWAPPINESS_ANON_ONLY);
    }
    let number = core::str::from_utf8(word).ok().and_then(kstrtouint);
    let number = number.filter(|n| *n <= u32::from(SWAPPINESS_ANON_ONLY));
    number.map(|n| n as u8).ok_or(Errno::EINVAL)
}

/// The rest of a text that is read field by field.
struct Scanner<'t>(&'t [u8]);

impl<'t> Scanner<'t> {
    /// The largest number of characters in a string field.
    const WORD: usize = 4;

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip_spaces(&mut self) {
        let is_word = |byte: &u8| !is_space(char::from(*byte));
        let blank = self.0.iter().position(is_word).unwrap_or(self.0.len());
        self.0 = &self.0[blank..];
    }

    fn at_end(&mut self) -> bool {
        self.skip_spaces();
        self.0.is_empty()
    }

    fn take(&mut self, bytes: usize) -> &'t [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    /// Reads blanks and at least one digit.
    fn unsigned(&mut self) -> Result<u64, Errno> {
        self.skip_spaces();
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = |n: u64, digit: &u8| n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        if digits == 0 {
            return Err(Errno::EINVAL);
        }
        Ok(self.take(digits).iter().fold(0, value))
    }

    /// Reads blanks and at least one other character.
    fn word(&mut self) -> Option<&'t [u8]> {
        self.skip_spaces();
        let bytes = self.0.iter().take(Self::WORD);
        let bytes = bytes.take_while(|byte| !is_space(char::from(**byte))).count();
        (bytes > 0).then(|| self.take(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// Cgroup, node, sequence number, swappiness, option.
    type Fields = (u64, u32, u64, Option<u8>, u64);

    const ABSENT: u64 = u64::MAX;

    fn fields(text: &str) -> Result<Fields, Errno> {
        let command = Command::parse(text)?;
        let Command { memcg, node, seq, swappiness, option, .. } = command;
        Ok((memcg, node, seq, swappiness, option))
    }

    #[test]
    fn fields_are_read_as_sscanf_reads_them() {
        let cases = [
            ("+ 1 0 3", (1, 0, 3, None, ABSENT)),
            ("+1 0 3", (1, 0, 3, None, ABSENT)),
            ("+ 1 0 3 ", (1, 0, 3, None, ABSENT)),
            ("+\t1  0\x0b3\r", (1, 0, 3, None, ABSENT)),
            ("+ 001 00 03", (1, 0, 3, None, ABSENT)),
            ("+ 1 0 3 60", (1, 0, 3, Some(60), ABSENT)),
            ("+ 1 0 3 0 0", (1, 0, 3, Some(0), 0)),
            ("+ 1 0 3 200 1 ", (1, 0, 3, Some(200), 1)),
            ("- 1 0 3 max 64", (1, 0, 3, Some(201), 64)),
            ("- 1 0 3 max", (1, 0, 3, Some(201), ABSENT)),
            ("- 1 0 3 201", (1, 0, 3, Some(201), ABSENT)),
            ("+ 1 0 3max", (1, 0, 3, Some(201), ABSENT)),
            ("+ 1 0 3 0x3c", (1, 0, 3, Some(60), ABSENT)),
            ("+ 1 0 3 074", (1, 0, 3, Some(60), ABSENT)),
            ("+ 1 0 3 +60", (1, 0, 3, Some(60), ABSENT)),
            // Four characters, then another field.
            ("+ 1 0 3 00607", (1, 0, 3, Some(48), 7)),
            ("+ 1 0 3 0x3c1", (1, 0, 3, Some(60), 1)),
            // Numbers wrap around.
            ("+ 18446744073709551617 4294967296 18446744073709551619", (1, 0, 3, None, ABSENT)),
            ("+ 1 4294967295 3", (1, u32::MAX, 3, None, ABSENT)),
            ("- 1 0 3 0 18446744073709551616", (1, 0, 3, Some(0), 0)),
        ];
        for (text, expected) in cases {
            assert_eq!(fields(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_command_is_printed_as_it_is_read() {
        for text in ["+ 1 0 3", "- 7 1 18446744073709551615 max", "+ 1 0 3 60 0", "- 1 0 3 0 64"] {
            assert_eq!(Command::parse(text).unwrap().to_string(), text);
        }
        // Without swappiness, no option can be written.
        assert_eq!(
            Command::parse("+ 1 0 3 201 18446744073709551615").unwrap().to_string(),
            "+ 1 0 3 max"
        );
    }

    #[test]
    fn commands_of_a_write_are_run_up_to_the_first_refused() {
        let seqs = |text| {
            let mut seqs = std::vec::Vec::new();
            let done = write(text, |command| {
                seqs.push(command.seq);
                if command.seq == 9 { Err(Errno::EEXIST) } else { Ok(()) }
            });
            (seqs, done)
        };
        let cases = [
            ("+ 1 0 3,+ 1 0 4;+ 1 0 5\n+ 1 0 6", &[3, 4, 5, 6][..], Ok(())),
            (" , + 1 0 3 ;; \n", &[3], Ok(())),
            ("+ 1 0 3, + 1 0 9, + 1 0 4", &[3, 9], Err(Errno::EEXIST)),
            ("+ 1 0 3; junk; + 1 0 4", &[3], Err(Errno::EINVAL)),
            ("+ 1 0 3\0, junk", &[3], Ok(())),
            ("", &[], Err(Errno::EINVAL)),
            (",;\n ;", &[], Err(Errno::EINVAL)),
            ("\0+ 1 0 3", &[], Err(Errno::EINVAL)),
        ];
        for (text, expected, done) in cases {
            assert_eq!(seqs(text), (expected.to_vec(), done), "{text:?}");
        }
    }

    #[test]
    fn the_first_character_says_what_to_do() {
        let operation = |text| Command::parse(text).map(|command| command.operation);
        assert_eq!(operation("+ 1 0 3"), Ok(Operation::Age));
        assert_eq!(operation("- 1 0 3"), Ok(Operation::Evict));
        for text in ["* 1 0 3", "1 0 3", "a 1 0 3", "é 1 0 3"] {
            assert_eq!(operation(text), Err(Errno::EINVAL), "{text:?}");
        }
    }

    #[test]
    fn what_is_missing_or_left_over_is_refused() {
        let bad = [
            "",
            "+",
            "+ 1",
            "+ 1 0",
            "+ 1 0 ",
            "+ x 0 3",
            "+ -1 0 3",
            "+ +1 0 3",
            "+ 1 -1 3",
            "+ 1 0 -3",
            "+ 1 0 0x3",
            "+ 1 0 3x",
            "+ 1 0 3 x",
            "+ 1 0 3 202",
            "+ 1 0 3 -1",
            "+ 1 0 3 08",
            "+ 1 0 3 0x",
            "+ 1 0 3 maxi",
            "+ 1 0 3 MAX",
            "+ 1 0 3 max1",
            "+ 1 0 3 60x",
            "+ 1 0 3 2000",
            "+ 1 0 3 4294967295",
            "+ 1 0 3 60 x",
            "+ 1 0 3 60 -1",
            "+ 1 0 3 60 1x",
            "+ 1 0 3 60 1 1",
            "+ 1 0 3 é",
            "+ 1 0 3 60é",
        ];
        for text in bad {
            assert_eq!(fields(text), Err(Errno::EINVAL), "{text:?}");
        }
    }
}
