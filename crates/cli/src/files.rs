//! `compare FILE.json…`: records that were written before.

use crate::args::CompareArgs;
use crate::error::CliError;
use crate::options::Common;
use crate::tables::comparison_of_runs;
use crate::{fail_on, output};
use pageout_experiment::input;
use pageout_record::schema::{Ground, Labels, Pooling, RecordFile};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The record files among the arguments, if they are files: the first name decides.
pub(crate) fn named(args: &CompareArgs) -> Option<Vec<PathBuf>> {
    let first = args.scenario.as_ref().filter(|name| is_json(name))?;
    Some([first].into_iter().chain(&args.fields).map(PathBuf::from).collect())
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Compares all variants of some record files with one of them, the first unless `--base` says.
pub(crate) fn compare(paths: &[PathBuf], args: &CompareArgs) -> Result<ExitCode, CliError> {
    refuse_measuring(args)?;
    let inputs: Vec<_> = paths.iter().map(|path| Some(path.as_path())).collect();
    output::check(&[args.common.output.path()], &inputs)?;
    let mut files = Vec::new();
    for path in paths {
        files.push((path.display().to_string(), read(path)?));
    }
    let file = RecordFile::merge(files, Pooling::Alike)?;
    let base = match &args.base {
        Some(text) => labels(text)?,
        None => {
            let ran = file.records().find(|record| record.ground != Ground::Published);
            let nothing = || CliError::NothingRan(paths[0].display().to_string());
            ran.ok_or_else(nothing)?.variant.clone()
        }
    };
    let rows = args.common.rows;
    let told =
        output::emit_file(&args.common.output, &file, || comparison_of_runs(&file, &base, rows));
    fail_on::judge(args, &file, &base, told)
}

/// Options that measuring has and reading has not.
fn refuse_measuring(args: &CompareArgs) -> Result<(), CliError> {
    let Common { ground, trace, measuring, .. } = &args.common;
    let given = [
        ("--new", !args.new.is_empty()),
        ("--ground", *ground != Ground::Host),
        ("--trace", trace.is_some()),
        ("--runs", measuring.runs.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(CliError::NotOfFiles(option)),
        None => Ok(()),
    }
}

/// The text of a record file.
pub(crate) fn text_of(path: &Path) -> Result<String, CliError> {
    let text = input::read_text(path, input::MAX_RECORDS);
    text.map_err(|source| CliError::Read { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<RecordFile, CliError> {
    let file = RecordFile::from_json(&text_of(path)?);
    file.map_err(|source| CliError::NotRecords { path: path.to_owned(), source })
}

fn labels(text: &str) -> Result<Labels, CliError> {
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    let pairs = pairs.map(|pair| pair.map(|(axis, choice)| (axis.to_owned(), choice.to_owned())));
    pairs.collect::<Option<_>>().ok_or_else(|| CliError::BaseLabels(text.to_owned()))
}
