//! Makes a trace of what another tool recorded.

mod champsim;
mod damon;
mod drmemtrace;
mod error;
mod format;
mod options;
mod perf_script;
mod sink;
mod text;

use std::fs::File;
use std::io::BufRead;
use std::path::Path;

use super::header::Totals;
use super::lackey;
use sink::Sink;
use text::{Line, lines};

pub use error::{ImportError, Refusal};
pub use format::Format;
pub use options::ImportOptions;

/// Writes what `input` has of a program's accesses as a trace at `output`.
///
/// There are no mappings in any of these formats: all pages of the trace are anonymous. `progress`
/// is called now and then with the references so far.
///
/// # Errors
///
/// [`ImportError::CutOff`]; [`ImportError::Line`], [`ImportError::Refused`] and
/// [`ImportError::Record`] for the first of the input that is not acceptable;
/// [`ImportError::Empty`], [`ImportError::TooManyPages`], [`ImportError::Read`],
/// [`ImportError::Write`]. Nothing is at `output` then but what was there before.
pub fn import(
    mut input: impl BufRead,
    output: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, ImportError> {
    let sink = Sink::new(output.as_ref(), options, progress);
    match options.format {
        Format::Lackey => lines(input, sink, lackey_line),
        Format::PerfScript => lines(input, sink, perf_script::line),
        Format::Drmemtrace => lines(input, sink, drmemtrace::line),
        Format::Damon => damon::import(input, sink),
        Format::Champsim => champsim::import(&mut input, sink),
    }
}

/// Looks at the end of a file before it is read from the start: one that was cut off is refused at
/// once, however long it is. `length` is the file's, in bytes.
///
/// # Errors
///
/// [`ImportError::CutOff`], [`ImportError::Record`], [`ImportError::Read`].
pub fn check_end(file: &File, length: u64, format: Format) -> Result<(), ImportError> {
    match format {
        Format::Champsim => champsim::check_end(length),
        Format::Lackey | Format::PerfScript | Format::Drmemtrace | Format::Damon => {
            text::check_end(file, length, format)
        }
    }
}

fn lackey_line(line: &[u8]) -> Option<Line> {
    if let Some(reference) = lackey::reference(line) {
        return Some(Line::Access { process: 0, reference: Some(reference) });
    }
    lackey::is_noise(line).then(|| match lackey::command(line) {
        command if command.is_empty() => Line::Nothing,
        command => Line::Command(command),
    })
}
