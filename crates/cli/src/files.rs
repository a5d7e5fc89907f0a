//! `compare FILE.json…`: records from files.

use crate::args::{CompareArgs, Labelled};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::Common;
use crate::other_file::other_file;
use crate::{caution, fail_on, output, tables};
use pageout_experiment::input;
use pageout_experiment::scenarios::Scenario;
use pageout_record::compare::LEAST_GAIN;
use pageout_record::schema::{
    Ground, LABEL, Labels, Pooling, ReadError, Record, RecordFile, acts_on_display,
};
use pageout_report::{ReportError, Table};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the record files that the arguments name, those with labels last. The first name decides
/// if they are files.
pub(crate) fn named(args: &CompareArgs) -> Option<Vec<Named>> {
    let is_file = args.scenario.as_ref().is_some_and(|name| is_json(name) || is_path(name));
    if !is_file && (args.scenario.is_some() || args.label.is_empty()) {
        return None;
    }
    let own = args.scenario.iter().chain(&args.fields).map(PathBuf::from);
    Some(all(own, &args.label))
}

/// Returns true for the path of something that is there, unless a scenario has this name.
fn is_path(name: &str) -> bool {
    Scenario::find(name).is_err() && Path::new(name).exists()
}

/// Returns the files, those with labels last.
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

/// Record files, merged into one.
pub(crate) struct Merged {
    pub file: RecordFile,
    /// The two names that files of the same variants are compared by, the base first.
    pub by_file: Option<[String; 2]>,
}

impl Merged {
    /// Returns a sentence on the comparison, if files are compared by their names.
    pub(crate) fn about(&self) -> Option<String> {
        let [base, new] = self.by_file.as_ref()?;
        Some(format!(
            "The files have the same variants: {new} is compared with {base} (--pool: as one).\n"
        ))
    }
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Compares all variants of some record files with one of them, by default the first. If files have
/// labels, only the labels are compared.
pub(crate) fn compare(named: &[Named], args: &CompareArgs) -> Result<ExitCode, CliError> {
    let inputs: Vec<_> = named.iter().map(|of| Some(of.path.as_path())).collect();
    output::check(&args.common.output.paths(), &inputs)?;
    refuse_measuring(args)?;
    let merged = merged(named, args.pool)?;
    let (file, said) = (&merged.file, merged.about());
    fail_on::check_files(args, file)?;
    let ran = file.records().find(|record| record.ground != Ground::Published);
    let ran = ran.ok_or_else(|| CliError::NothingRan(named[0].path.display().to_string()))?;
    let base = match (&args.base, label_of(file)) {
        (Some(text), _) => labels(text, file)?,
        (None, Some(label)) => label,
        (None, None) => ran.variant.clone(),
    };
    let along = along(&base);
    let shown = args.common.shown;
    let least_gain = args.min_gain.unwrap_or(LEAST_GAIN);
    let table = || -> Result<Table, ReportError> {
        Ok(Table::of(file, &base, along, &DECLARED)?.asking(least_gain))
    };
    let about: Vec<String> = caution::of_files(file).into_iter().collect();
    let text = |columns| {
        let compared = tables::of_table(&table()?, file, shown, &about, columns);
        Ok(said.clone().unwrap_or_default() + &compared)
    };
    let told = output::emit_file(&args.common.output, file, || Ok(vec![table()?]), &[], text);
    fail_on::judge(args, file, &base, along, told)
}

/// Returns the first label, if there is any: the base of comparisons.
pub(crate) fn label_of(file: &RecordFile) -> Option<Labels> {
    let ran = file.records().find(|record| record.ground != Ground::Published);
    let first = ran.and_then(|record| record.variant.get(LABEL));
    first.map(|first| Labels::from([(LABEL.to_owned(), first.clone())]))
}

/// Returns the only axis that is compared, if the base names only labels.
pub(crate) fn along(base: &Labels) -> Option<&'static str> {
    base.keys().eq([LABEL]).then_some(LABEL)
}

/// Returns all runs of the files, with their labels. Two files of the same variants get their names
/// as labels.
pub(crate) fn merged(named: &[Named], pool: bool) -> Result<Merged, CliError> {
    let labelled = named.iter().any(|one| one.label.is_some());
    let mut files = named.iter().map(|one| read(&one.path)).collect::<Result<Vec<_>, _>>()?;
    let same = !labelled && !pool && files.len() > 1 && have_same_variants(&files);
    let by_file = match (same, named) {
        (true, [base, new]) => Some(distinct_names(&base.path, &new.path)),
        (true, _) => return Err(CliError::SameVariants(named.len())),
        (false, _) => None,
    };
    let labels: Vec<Option<&str>> = match &by_file {
        Some(names) => names.iter().map(|name| Some(name.as_str())).collect(),
        None => named.iter().map(|one| one.label.as_deref()).collect(),
    };
    let mut all = Vec::new();
    for ((Named { path, .. }, label), mut file) in named.iter().zip(labels).zip(files.drain(..)) {
        let name = path.display().to_string();
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
        all.push((name, file));
    }
    let pooling = if pool { Pooling::Any } else { Pooling::Alike };
    Ok(Merged { file: RecordFile::merge(all, pooling)?, by_file })
}

/// Returns true if every file has records of the same variants, without labels, and no others.
fn have_same_variants(files: &[RecordFile]) -> bool {
    let variants = |file: &RecordFile| {
        let ran = file.records().filter(|record| record.ground != Ground::Published);
        ran.map(|record| record.variant.clone()).collect::<BTreeSet<Labels>>()
    };
    let first = variants(&files[0]);
    let is_labelled = first.iter().any(|variant| variant.contains_key(LABEL));
    !is_labelled && !first.is_empty() && files[1..].iter().all(|file| variants(file) == first)
}

/// Returns the names of two files: their stems, or, if these are equal, as much of their paths as
/// differs.
fn distinct_names(one: &Path, other: &Path) -> [String; 2] {
    let names = |path: &Path| -> Vec<String> {
        let parts = path.with_extension("");
        let parts = parts.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.collect()
    };
    let [one, other] = [one, other].map(names);
    let tail = |of: &[String], parts: usize| {
        // A label has no comma, and no character that a terminal would obey.
        let tail = of[of.len().saturating_sub(parts)..].join("/");
        tail.replace(|c: char| c == ',' || acts_on_display(c), "_")
    };
    let most = one.len().max(other.len());
    let pair = |parts: usize| [tail(&one, parts), tail(&other, parts)];
    let apart = (1..=most).map(pair).find(|[one, other]| one != other);
    apart.unwrap_or_else(|| [tail(&one, most), format!("{} again", tail(&other, most))])
}

/// Returns an error for options that only record files have.
pub(crate) fn refuse(args: &CompareArgs) -> Result<(), CliError> {
    let given = [("--label", !args.label.is_empty()), ("--pool", args.pool)];
    let found = given.into_iter().find(|(_, given)| *given);
    found.map_or(Ok(()), |(option, _)| Err(CliError::FilesAlone(option)))
}

/// Returns an error for options that are valid only when measuring.
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

/// Reads the text of a record file, without a byte-order mark.
pub(crate) fn text_of(path: &Path) -> Result<String, CliError> {
    let text = input::read_text(path, input::MAX_RECORDS);
    let unreadable = |source| CliError::Read { path: path.to_owned(), source };
    let mut text = text.map_err(|source| other_file(path).unwrap_or_else(|| unreadable(source)))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

fn read(path: &Path) -> Result<RecordFile, CliError> {
    let file = RecordFile::from_json(&text_of(path)?);
    let not_records = |source| CliError::NotRecords { path: path.to_owned(), source };
    file.map_err(|source| match source {
        ReadError::NotRecords(_) => other_file(path).unwrap_or_else(|| not_records(source)),
        _ => not_records(source),
    })
}

/// Returns the axes and choices that `--base` names, either itself or by a label or a variant's
/// name that records have.
pub(crate) fn labels(text: &str, file: &RecordFile) -> Result<Labels, CliError> {
    let ran = || file.records().filter(|record| record.ground != Ground::Published);
    if !text.contains('=') {
        let label = |variant: &Labels| variant.get(LABEL).is_some_and(|label| label == text);
        if ran().any(|record| label(&record.variant)) {
            return Ok(Labels::from([(LABEL.to_owned(), text.to_owned())]));
        }
        let is_named =
            |variant: &&Labels| DECLARED.name_of(variant).is_some_and(|name| name.name == text);
        if let Some(variant) = ran().map(|record| &record.variant).find(is_named) {
            let mut variant = variant.clone();
            variant.retain(|axis, _| axis != LABEL);
            return Ok(variant);
        }
        return Err(CliError::BaseName { text: text.to_owned(), known: names(ran()) });
    }
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    let pairs = pairs.map(|pair| pair.map(|(axis, choice)| (axis.to_owned(), choice.to_owned())));
    pairs.collect::<Option<_>>().ok_or_else(|| CliError::BaseLabels(text.to_owned()))
}

/// Lists the labels and names of records' variants, each once; empty if there are none.
fn names<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for record in records {
        let label = record.variant.get(LABEL).map(String::as_str);
        let name = DECLARED.name_of(&record.variant).map(|name| name.name.as_str());
        for name in
            label.into_iter().chain(name).filter(|name| !known.contains(name)).collect::<Vec<_>>()
        {
            known.push(name);
        }
    }
    known.iter().map(|name| format!("{name}, ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_what_tells_them_apart() {
        let names = |one: &str, other: &str| distinct_names(Path::new(one), Path::new(other));
        assert_eq!(names("a.json", "b.json"), ["a", "b"]);
        assert_eq!(names("old/run.json", "new/run.json"), ["old/run", "new/run"]);
        assert_eq!(names("x/old/run.json", "/new/run.json"), ["old/run", "new/run"]);
        assert_eq!(names("run.json", "new/run.json"), ["run", "new/run"]);
        assert_eq!(names("a,b.json", "c.json"), ["a_b", "c"]);
        assert_eq!(names("a.json", "./a.json"), ["a", "./a"]);
        assert_eq!(names("a.json", "a.json"), ["a", "a again"]);
    }
}
