//! Texts of which each line says something by itself.

use std::io::BufRead;

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
    while let Some((number, line)) = next(&mut lines)? {
        match parse(line).ok_or_else(|| bad_line(number, line, sink.format()))? {
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

/// The next line and its number.
pub(super) fn next<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(u64, &[u8])>, ImportError> {
    let at = lines.number();
    let line = lines.next().map_err(|source| ImportError::Read { unit: "line", at, source })?;
    Ok(line.map(|line| (at + 1, line)))
}

pub(super) fn bad_line(number: u64, line: &[u8], format: Format) -> ImportError {
    ImportError::Line { number, found: shown(line), accepted: format.accepted() }
}
