//! Where results go: text, JSON or CSV, to standard output or to a file.

use crate::args::Output;
use crate::error::CliError;
use pageout_record::schema::RecordSet;
use pageout_sim::trace::OutputFile;
use std::io::Write;

/// Refuses an output file that could not be written, before the work is done.
pub(crate) fn check(output: &Output) -> Result<(), CliError> {
    if let Some(path) = &output.output {
        drop(OutputFile::create(path)?);
    }
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
    match &output.output {
        Some(path) => {
            let mut file = OutputFile::create(path)?;
            let error = |error| CliError::Open { path: path.clone(), error };
            file.write_all(&content).map_err(error)?;
            Ok(file.commit()?)
        }
        None => std::io::stdout().write_all(&content).map_err(CliError::Stdout),
    }
}
