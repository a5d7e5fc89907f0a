//! Where results go: text, JSON or CSV, to standard output or to a file.

use crate::args::Output;
use crate::error::CliError;
use pageout_record::schema::RecordSet;
use pageout_sim::trace::{OutputFile, WriteError};
use std::io::{self, Write};
use std::path::Path;

/// Refuses an output file that could not be written, before the work is done.
pub(crate) fn check(output: &Output) -> Result<(), CliError> {
    output.output.as_deref().map_or(Ok(()), check_path)
}

/// Refuses a file that could not be written.
pub(crate) fn check_path(path: &Path) -> Result<(), CliError> {
    drop(OutputFile::create(path)?);
    Ok(())
}

/// Writes the records as asked, or what `text` makes of them.
pub(crate) fn emit(
    output: &Output,
    records: &RecordSet,
    text: impl FnOnce(&RecordSet) -> Result<String, CliError>,
) -> Result<(), CliError> {
    let content = if output.json {
        records.to_json()?.into_bytes()
    } else if output.csv {
        let mut csv = Vec::new();
        records.to_csv(&mut csv)?;
        csv
    } else {
        text(records)?.into_bytes()
    };
    to(output.output.as_deref(), &content)
}

/// Writes to a file, if one is named, or to standard output.
pub(crate) fn to(path: Option<&Path>, content: &[u8]) -> Result<(), CliError> {
    match path {
        Some(path) => write(path, content),
        None => print(content),
    }
}

/// Writes to standard output.
pub(crate) fn print(content: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout();
    stdout.write_all(content).and_then(|()| stdout.flush()).map_err(CliError::Stdout)
}

fn write(path: &Path, content: &[u8]) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: path.to_owned(), source };
    let mut file = OutputFile::create(path)?;
    file.write_all(content).map_err(failed)?;
    file.commit().map_err(|error| match error {
        WriteError::Write(source) => failed(source),
        other => other.into(),
    })
}
