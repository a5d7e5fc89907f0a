//! Texts of which each line says something by itself.

use std::fs::File;
use std::io::BufRead;
use std::os::unix::fs::FileExt;

use super::error::{ImportError, Refusal};
use super::format::Format;
use super::sink::Sink;
use crate::header::Totals;
use crate::lines::{Lines, shown};
use crate::reference::Reference;

/// What a line of a log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing of accesses.
    Nothing,
    /// The command that was traced.
    Command(Vec<String>),
    /// An access of this process, or one that is no part of a trace.
    Access { process: u64, reference: Option<Reference> },
}

/// Imports a text of which each line says something by itself; `parse` gives nothing for a line
/// that the format does not have.
pub(super) fn lines(
    input: impl BufRead,
    mut sink: Sink<'_>,
    parse: fn(&[u8]) -> Option<Line>,
) -> Result<Totals, ImportError> {
    let mut lines = Lines::new(input);
    let mut process = None;
    while let Some((number, said)) = next(&mut lines, sink.format(), parse)? {
        match said {
            Line::Nothing => {}
            Line::Command(command) => sink.command(command),
            Line::Access { process: found, reference } => {
                let before = *process.get_or_insert(found);
                if found != before {
                    let refusal = Refusal::Process { found, before };
                    return Err(ImportError::Refused { number, refusal });
                }
                if let Some(reference) = reference {
                    sink.reference(reference)?;
                }
            }
        }
    }
    sink.finish()
}

/// What stands between white space.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// What the next line says, and its number. A line without an end was cut off: what is left of it
/// may be a line of the format all the same, with a shorter address.
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
    let accepted = format.accepted();
    let bad_line = || ImportError::Line { number, found: shown(line), accepted };
    let said = parse(line).ok_or_else(bad_line)?;
    if lines.is_whole() { Ok(Some((number, said))) } else { Err(cut_off(format)) }
}

/// Looks at the end of a text of `length` bytes.
pub(super) fn check_end(file: &File, length: u64, format: Format) -> Result<(), ImportError> {
    let Some(at) = length.checked_sub(1) else {
        return Ok(());
    };
    let mut last = [0];
    let read = file.read_exact_at(&mut last, at);
    read.map_err(|source| ImportError::Read { unit: "byte", at, source })?;
    if last == *b"\n" { Ok(()) } else { Err(cut_off(format)) }
}

fn cut_off(format: Format) -> ImportError {
    ImportError::CutOff { accepted: format.accepted() }
}
