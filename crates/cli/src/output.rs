//! The destination of results: text, JSON or CSV, to standard output or to a file.

use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::Output;
use crate::page;
use crate::terminal::{COLUMNS, columns};
use pageout_record::render::wrapped;
use pageout_record::schema::{Labels, RecordFile, RecordSet, acts_on_display, shown};
use pageout_report::{ReportError, Table};
use pageout_trace::{OutputFile, WriteError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns an error, before any work, for output files that cannot be written, that would replace
/// an input, or that are the same file twice.
pub(crate) fn check(outputs: &[Option<&Path>], inputs: &[Option<&Path>]) -> Result<(), CliError> {
    let mut taken: Vec<PathBuf> =
        inputs.iter().flatten().filter_map(|path| path.canonicalize().ok()).collect();
    for path in outputs.iter().flatten() {
        drop(OutputFile::create(path)?);
        let place = place(path);
        if taken.contains(&place) {
            return Err(CliError::OutputTaken((*path).to_owned()));
        }
        taken.push(place);
    }
    Ok(())
}

/// Returns the same name for all names of a file, whether the file exists or not.
fn place(path: &Path) -> PathBuf {
    let beside = |name| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new(".")).canonicalize();
        directory.map_or_else(|_| path.to_owned(), |directory| directory.join(name))
    };
    let new = || path.file_name().map_or_else(|| path.to_owned(), beside);
    path.canonicalize().unwrap_or_else(|_| new())
}

/// Writes the records of a run in the form asked for, which may be the `text` for a number of
/// columns; and a page, if asked for. The page has the comparisons that the text has: of these
/// records with these bases.
pub(crate) fn emit(
    output: &Output,
    records: &RecordSet,
    compared: &[(&RecordSet, &Labels)],
    text: impl Fn(&RecordSet, usize) -> Result<String, CliError>,
) -> Result<(), CliError> {
    emit_answering(output, records, compared, &[], text)
}

/// Writes the same, with a page that begins with an answer.
pub(crate) fn emit_answering(
    output: &Output,
    records: &RecordSet,
    compared: &[(&RecordSet, &Labels)],
    answer: &[String],
    text: impl Fn(&RecordSet, usize) -> Result<String, CliError>,
) -> Result<(), CliError> {
    let table = |(set, base): &(&RecordSet, &Labels)| Table::of_set(set, base, &DECLARED);
    let tables = || compared.iter().map(table).collect();
    let text = |columns| text(records, columns);
    emit_file(output, &records.clone().into(), tables, answer, text)
}

/// Writes the records of several runs in the form asked for, which may be the `text` for a number
/// of columns; and a page of these tables, if asked for.
pub(crate) fn emit_file(
    output: &Output,
    records: &RecordFile,
    tables: impl FnOnce() -> Result<Vec<Table>, ReportError>,
    answer: &[String],
    text: impl Fn(usize) -> Result<String, CliError>,
) -> Result<(), CliError> {
    if let Some(path) = &output.html {
        let text = wrapped(&text(COLUMNS)?, COLUMNS);
        page::write(path, records, &tables()?, answer, Some(&text))?;
    }
    let content = if output.json {
        records.to_json()?.into_bytes()
    } else if output.csv {
        let mut csv = Vec::new();
        records.to_csv(&mut csv)?;
        csv
    } else {
        let columns = output.columns();
        wrapped(&printable(&text(columns)?), columns).into_bytes()
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

/// Writes a text to standard output, with lines that are too long for it broken at words.
pub(crate) fn print_text(text: &str) -> Result<(), CliError> {
    print(wrapped(&printable(text), columns()).as_bytes())
}

/// Writes a text to standard error, with long lines broken likewise. Errors are ignored.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", wrapped(&printable(text), columns()));
}

/// Replaces the characters that a terminal would obey, except line ends and tabs. Names in the text
/// were [`shown`] before, so that they have no line ends.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| acts_on_display(c) && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    let parts = text.split_inclusive(['\n', '\t']).map(|part| {
        let rest = part.trim_end_matches(['\n', '\t']);
        format!("{}{}", shown(rest), &part[rest.len()..])
    });
    parts.collect::<String>().into()
}

/// Writes a text to standard output. Its colours are kept only on a terminal that takes them,
/// unless NO_COLOR, CLICOLOR or TERM forbid it.
pub(crate) fn print_coloured(text: &str) -> Result<(), CliError> {
    let mut stdout = anstream::stdout();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(CliError::Stdout)
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
