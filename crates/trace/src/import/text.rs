//! Texts in which each line stands by itself.

use std::fs::File;
use std::io::BufRead;
use std::os::unix::fs::FileExt;

use super::access::{Access, Cause};
use super::error::ImportError;
use super::format::Format;
use super::options::Imported;
use super::sink::Sink;
use crate::lines::{Lines, shown};

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A heading or a blank line.
    Nothing,
    /// The command that was traced.
    Command(Vec<String>),
    /// A line that is no access.
    PassedOver(Cause),
    /// An access of this process.
    Access { process: u64, access: Access },
}

/// Reads one line; `None` if the format does not have it.
pub(super) type Parse = fn(&[u8]) -> Option<Line>;

/// The mark that some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Imports a text in which each line stands by itself.
pub(super) fn lines(
    input: impl BufRead,
    mut sink: Sink<'_>,
    parse: Parse,
) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(input);
    while let Some((number, line)) = next(&mut lines, sink.format(), parse)? {
        match line {
            Line::Nothing => {}
            Line::Command(command) => sink.command(command),
            Line::PassedOver(cause) => sink.pass_over(cause),
            Line::Access { process, access } => {
                let is_of_trace = sink.is_of_trace(process);
                if is_of_trace.map_err(|refusal| ImportError::Refused { number, refusal })? {
                    sink.access(access)?;
                } else {
                    sink.pass_over(Cause::OtherProcess);
                }
            }
        }
    }
    sink.finish()
}

/// Returns the words of a line, between white space.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns the words of a line, each with the byte where it begins.
pub(super) fn placed_words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    let placed = line.split(u8::is_ascii_whitespace).map(move |word| {
        let at = next;
        next += word.len() + 1;
        (at, word)
    });
    placed.filter(|(_, word)| !word.is_empty())
}

/// Reads the next line, and returns its number and content. A line without an end was cut off: its
/// rest may be a valid line with a shorter address.
pub(super) fn next<R: BufRead, T>(
    lines: &mut Lines<R>,
    format: Format,
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<(u64, T)>, ImportError> {
    let at = lines.number();
    let found = lines.advance();
    if !found.map_err(|source| ImportError::Read { unit: "line", at, source })? {
        return Ok(None);
    }
    let (number, line) = (lines.number(), lines.line());
    let line = if number == 1 { unmarked(line) } else { line };
    let bad_line = || ImportError::Line { number, found: shown(line), format };
    let said = parse(line).ok_or_else(bad_line)?;
    if lines.is_whole() { Ok(Some((number, said))) } else { Err(ImportError::CutOff(format)) }
}

/// Returns the first bytes of a text without a byte-order mark.
pub(super) fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Reads the end of a text of `length` bytes.
pub(super) fn check_end(file: &File, length: u64, format: Format) -> Result<(), ImportError> {
    let Some(at) = length.checked_sub(1) else {
        return Ok(());
    };
    let mut last = [0];
    let read = file.read_exact_at(&mut last, at);
    read.map_err(|source| ImportError::Read { unit: "byte", at, source })?;
    if last == *b"\n" { Ok(()) } else { Err(ImportError::CutOff(format)) }
}
