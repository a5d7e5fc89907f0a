//! `report`: a page of record files; and the page that other commands write beside their output.

use crate::args::ReportArgs;
use crate::error::CliError;
use crate::{files, output};
use pageout_record::schema::RecordFile;
use pageout_report::{Page, Table};
use std::path::Path;

pub(crate) fn report(args: &ReportArgs) -> Result<(), CliError> {
    let named = files::all(args.files.iter().cloned(), &args.label);
    let inputs: Vec<_> = named.iter().map(|of| Some(of.path.as_path())).collect();
    output::check(&[Some(&args.output)], &inputs)?;
    let file = files::merged(&named, args.pool)?;
    let base = args.base.as_deref().map(files::labels).transpose()?;
    let tables = match base.or_else(|| files::label_of(&file)) {
        Some(base) => vec![Table::of(&file, &base, files::along(&base))?],
        None => Table::of_each_scenario(&file)?,
    };
    write(&args.output, &file, &tables, None)
}

/// Writes a page.
pub(crate) fn write(
    path: &Path,
    file: &RecordFile,
    tables: &[Table],
    printed: Option<&str>,
) -> Result<(), CliError> {
    let command = command();
    let page = Page { command: &command, file, tables, printed };
    output::to(Some(path), page.html()?.as_bytes())
}

/// The command line of this process, as a person would type it.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| quoted(&word));
    let words = std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(words);
    output::printable(&words.collect::<Vec<_>>().join(" ")).into_owned()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:@,%".contains(c);
    match word.chars().all(plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        let words = ["order=4,pmd", "whole reclaim>3%", "it's", ""].map(quoted);
        assert_eq!(words, ["order=4,pmd", "'whole reclaim>3%'", r"'it'\''s'", "''"]);
    }
}
