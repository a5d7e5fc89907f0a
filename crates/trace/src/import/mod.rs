//! Converts the recordings of other tools into traces.

mod access;
mod champsim;
mod damon;
mod drmemtrace;
mod error;
mod format;
mod guess;
mod lackey_log;
mod named;
mod options;
mod oracle;
mod perf_script;
mod records;
mod seeming;
mod sink;
mod text;

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::unpack::unpacked;
use guess::{START, guess};
use sink::Sink;
use text::lines;

pub use access::{Cause, PassedOver};
pub use error::{ImportError, NextUse, Refusal};
pub use format::Format;
pub use named::named;
pub use options::{ImportOptions, Imported};
pub use seeming::{Foreign, Seeming};

/// Writes the accesses of a program in `input` as a trace at `output`.
///
/// An input that is compressed or one file of an archive is unpacked as it is read. None of these
/// formats has mappings: all pages of the trace are anonymous. `progress` is called from time to
/// time with the references so far.
///
/// # Errors
/// [`ImportError`]; then `output` is as it was before.
pub fn import(
    input: impl Read,
    output: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, ImportError> {
    let read = |source| ImportError::Read { unit: "byte", at: 0, source };
    let mut input = unpacked(input).map_err(read)?;
    let mut start = Vec::new();
    input.by_ref().take(START as u64).read_to_end(&mut start).map_err(read)?;
    let seeming = || named(&start);
    let format = options.format.or_else(|| guess(&start)).ok_or_else(|| match seeming() {
        Some(found) => ImportError::NotImported { found },
        None if start.is_empty() => ImportError::Nothing,
        None => ImportError::Unrecognized,
    })?;
    options.check_for(format)?;
    let sink = Sink::new(output.as_ref(), format, options, progress);
    let input = BufReader::new((&*start).chain(input));
    let done = match format {
        Format::Lackey => lines(input, sink, lackey_log::line),
        Format::PerfScript => lines(input, sink, perf_script::line),
        Format::Drmemtrace => lines(input, sink, drmemtrace::line),
        Format::Damon => damon::import(input, sink),
        Format::Champsim => champsim::import(input, sink),
        Format::Cloudsuite => champsim::import_cloudsuite(input, sink),
        Format::OracleGeneral => oracle::import(input, sink, options.available),
    };
    done.map_err(|error| match seeming() {
        Some(found) if error.is_of_content() && found != Seeming::Importable(format) => {
            ImportError::Other { found, expected: format }
        }
        _ => error,
    })
}

/// Reads the end of a file before it is imported, so that a truncated one is refused at once,
/// however long it is. `length` is the file's, in bytes.
///
/// # Errors
/// [`ImportError::CutOff`], [`ImportError::Record`], [`ImportError::TooManyRecords`],
/// [`ImportError::Read`].
pub fn check_end(file: &File, length: u64, format: Option<Format>) -> Result<(), ImportError> {
    let mut start = vec![0; length.min(START as u64) as usize];
    let read = file.read_exact_at(&mut start, 0);
    read.map_err(|source| ImportError::Read { unit: "byte", at: 0, source })?;
    let seeming = named(&start);
    let expected = format.or_else(|| guess(&start));
    match expected {
        // Its end is of another form, which the import names.
        _ if matches!(seeming, Some(other) if Some(other) != expected.map(Seeming::Importable)) => {
            Ok(())
        }
        None => Ok(()),
        Some(format @ Format::Champsim) => records::check_end(length, champsim::RECORD, format),
        Some(format @ Format::Cloudsuite) => {
            records::check_end(length, champsim::CLOUDSUITE_RECORD, format)
        }
        Some(format @ Format::OracleGeneral) => {
            records::check_end(length, crate::oracle_general::RECORD, format)?;
            oracle::check_length(length)
        }
        // JSON shows by itself where it ends.
        Some(Format::Damon) if damon::is_json(&start) => Ok(()),
        Some(
            format @ (Format::Lackey | Format::PerfScript | Format::Drmemtrace | Format::Damon),
        ) => text::check_end(file, length, format),
    }
}
