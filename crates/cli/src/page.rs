//! The page of a command's records.

use crate::declared::DECLARED;
use crate::error::CliError;
use crate::{command_line, output};
use pageout_record::schema::RecordFile;
use pageout_report::{Page, Table};
use std::path::Path;

/// Writes a page, which begins with `answer` if that is not empty.
pub(crate) fn write(
    path: &Path,
    file: &RecordFile,
    tables: &[Table],
    answer: &[String],
    printed: Option<&str>,
) -> Result<(), CliError> {
    let command = command();
    let page = Page { command: &command, file, tables, declared: &DECLARED, answer, printed };
    output::to(Some(path), page.html()?.as_bytes())
}

/// Returns the command line of this process, as a person would type it.
fn command() -> String {
    output::printable(&command_line::words().join(" ")).into_owned()
}
