//! `report`: a page of record files; and the page that other commands write beside their output.

use crate::args::ReportArgs;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::{command_line, files, output};
use pageout_record::schema::RecordFile;
use pageout_report::{Page, Table};
use std::path::Path;

pub(crate) fn report(args: &ReportArgs) -> Result<(), CliError> {
    let named = files::all(args.files.iter().cloned(), &args.label);
    let inputs: Vec<_> = named.iter().map(|of| Some(of.path.as_path())).collect();
    output::check(&[Some(&args.output)], &inputs)?;
    let file = files::merged(&named, args.pool)?.file;
    let base = args.base.as_deref().map(|text| files::labels(text, &file)).transpose()?;
    let tables = match base.or_else(|| files::label_of(&file)) {
        Some(base) => vec![Table::of(&file, &base, files::along(&base), &DECLARED)?],
        None => Table::of_each_scenario(&file, &DECLARED)?,
    };
    if args.json {
        return output::to(Some(&args.output), pageout_report::json(&tables).as_bytes());
    }
    write(&args.output, &file, &tables, &[], None)
}

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
