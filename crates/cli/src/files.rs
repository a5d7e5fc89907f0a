//! `compare FILE.json…`: records that were written before.

use crate::args::{CompareArgs, Labelled};
use crate::error::CliError;
use crate::options::Common;
use crate::tables::comparison_of_runs;
use crate::{fail_on, output};
use pageout_experiment::input;
use pageout_record::schema::{Ground, LABEL, Labels, Pooling, Record, RecordFile};
use pageout_report::Table;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The record files that the arguments name, if they name any: the first name decides. Those with
/// labels come last.
pub(crate) fn named(args: &CompareArgs) -> Option<Vec<Named>> {
    let is_file = args.scenario.as_ref().is_some_and(|name| is_json(name));
    if !is_file && (args.scenario.is_some() || args.label.is_empty()) {
        return None;
    }
    let own = args.scenario.iter().chain(&args.fields).map(PathBuf::from);
    Some(all(own, &args.label))
}

/// Files, those with labels last.
pub(crate) fn all(own: impl Iterator<Item = PathBuf>, labelled: &[Labelled]) -> Vec<Named> {
    let own = own.map(|path| Named { path, label: None });
    let labelled =
        labelled.iter().map(|of| Named { path: of.path.clone(), label: Some(of.name.clone()) });
    own.chain(labelled).collect()
}

/// A record file with the label it is to have.
pub(crate) struct Named {
    pub path: PathBuf,
    pub label: Option<String>,
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Compares all variants of some record files with one of them, the first unless `--base` says.
/// Where files have labels, these alone are compared.
pub(crate) fn compare(named: &[Named], args: &CompareArgs) -> Result<ExitCode, CliError> {
    refuse_measuring(args)?;
    let inputs: Vec<_> = named.iter().map(|of| Some(of.path.as_path())).collect();
    output::check(&args.common.output.paths(), &inputs)?;
    let file = merged(named, args.pool)?;
    fail_on::check_files(args, &file)?;
    let ran = file.records().find(|record| record.ground != Ground::Published);
    let ran = ran.ok_or_else(|| CliError::NothingRan(named[0].path.display().to_string()))?;
    let base = match (&args.base, label_of(&file)) {
        (Some(text), _) => labels(text)?,
        (None, Some(label)) => label,
        (None, None) => ran.variant.clone(),
    };
    let along = along(&base);
    let shown = args.common.shown;
    let tables = || Ok(vec![Table::of(&file, &base, along)?]);
    let text = || comparison_of_runs(&file, &base, along, shown);
    let told = output::emit_file(&args.common.output, &file, tables, text);
    fail_on::judge(args, &file, &base, along, told)
}

/// The label that comes first, if there is any: what others are compared with.
pub(crate) fn label_of(file: &RecordFile) -> Option<Labels> {
    let ran = file.records().find(|record| record.ground != Ground::Published);
    let first = ran.and_then(|record| record.variant.get(LABEL));
    first.map(|first| Labels::from([(LABEL.to_owned(), first.clone())]))
}

/// The axis that alone is compared, if the base names labels alone.
pub(crate) fn along(base: &Labels) -> Option<&'static str> {
    base.keys().eq([LABEL]).then_some(LABEL)
}

/// All runs of the files, with their labels.
pub(crate) fn merged(named: &[Named], pool: bool) -> Result<RecordFile, CliError> {
    let labelled = named.iter().any(|one| one.label.is_some());
    let mut files = Vec::new();
    for Named { path, label } in named {
        let (mut file, name) = (read(path)?, path.display().to_string());
        match label {
            Some(label) => file.label(label, &name)?,
            None if !labelled => {}
            None => {
                let has_label = |record: &Record| record.variant.contains_key(LABEL);
                if !file.records().all(has_label) {
                    return Err(CliError::Unlabelled(path.clone()));
                }
            }
        }
        files.push((name, file));
    }
    let pooling = if pool { Pooling::Any } else { Pooling::Alike };
    Ok(RecordFile::merge(files, pooling)?)
}

/// Refuses what only record files have.
pub(crate) fn refuse(args: &CompareArgs) -> Result<(), CliError> {
    let given = [("--label", !args.label.is_empty()), ("--pool", args.pool)];
    let found = given.into_iter().find(|(_, given)| *given);
    found.map_or(Ok(()), |(option, _)| Err(CliError::FilesAlone(option)))
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

/// The axes and choices of `--base`.
pub(crate) fn labels(text: &str) -> Result<Labels, CliError> {
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    let pairs = pairs.map(|pair| pair.map(|(axis, choice)| (axis.to_owned(), choice.to_owned())));
    pairs.collect::<Option<_>>().ok_or_else(|| CliError::BaseLabels(text.to_owned()))
}
