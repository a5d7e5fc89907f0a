//! Pictures and their sources: records and texts of the tree, and what the program prints.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};
use pageout_record::schema::{Record, RecordFile};

use super::svg::Svg;
use crate::cmd;
use Source::{Printed, Stored};

/// A picture: the name of its file, what it is drawn from, and its drawing.
pub(super) struct Picture {
    pub(super) file: &'static str,
    pub(super) from: &'static [Source],
    pub(super) draw: fn(&Texts) -> Result<Svg>,
}

/// The origin of what a picture shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// The records that a command of the program makes, the same on every machine.
    Printed(&'static str),
    /// A file of the tree: records of a measurement, or another text.
    Stored(&'static str),
}

/// The texts of all sources.
pub(super) struct Texts(BTreeMap<Source, String>);

impl Texts {
    /// Reads the sources, and runs each command once, two at a time.
    pub(super) fn of(sources: impl Iterator<Item = Source>, program: &Path) -> Result<Self> {
        let mut left: Vec<Source> = sources.collect();
        left.sort_unstable();
        left.dedup();
        let (left, done) = (Mutex::new(left), Mutex::new(BTreeMap::new()));
        let work = || -> Result<()> {
            loop {
                let next = left.lock().ok().and_then(|mut left| left.pop());
                let Some(source) = next else { return Ok(()) };
                let text = source.text(program)?;
                done.lock().map(|mut done| done.insert(source, text)).ok();
            }
        };
        thread::scope(|scope| {
            let workers = [scope.spawn(work), scope.spawn(work)];
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker ends"))
        })?;
        Ok(Self(done.into_inner().unwrap_or_default()))
    }

    pub(super) fn text(&self, source: Source) -> Result<&str> {
        let (Printed(name) | Stored(name)) = source;
        self.0.get(&source).map(String::as_str).with_context(|| format!("no source {name}"))
    }

    pub(super) fn records(&self, source: Source) -> Result<Records> {
        let file = RecordFile::from_json(self.text(source)?)?;
        Ok(Records(file.sets.into_iter().flat_map(|set| set.records).collect()))
    }
}

impl Source {
    fn text(self, program: &Path) -> Result<String> {
        match self {
            Printed(words) => {
                let mut pageout = cmd::program(program);
                cmd::output(pageout.args(words.split_whitespace()).arg("--json"))
            }
            Stored(path) => {
                fs::read_to_string(cmd::root().join(path)).with_context(|| path.to_owned())
            }
        }
    }
}

/// Records, from which pictures take figures by their labels.
pub(super) struct Records(pub(super) Vec<Record>);

impl Records {
    /// Keeps the records that have these labels: fields, or choices of the variant.
    pub(super) fn with(self, wanted: &[(&str, &str)]) -> Self {
        let has = |record: &Record| wanted.iter().all(|(key, value)| label(record, key) == *value);
        Self(self.0.into_iter().filter(has).collect())
    }

    /// Returns the median of a metric in the one record that has these labels.
    pub(super) fn figure(&self, wanted: &[(&str, &str)], metric: &str) -> Result<f64> {
        let has = |record: &&Record| wanted.iter().all(|(key, value)| label(record, key) == *value);
        let mut found = self.0.iter().filter(has);
        let record = found.next().with_context(|| format!("no record has {wanted:?}"))?;
        ensure!(found.next().is_none(), "several records have {wanted:?}");
        Ok(quartiles(record, metric)?[1])
    }
}

/// Returns the record's choice or field of this name; empty without it.
pub(super) fn label<'r>(record: &'r Record, key: &str) -> &'r str {
    record.variant.get(key).or_else(|| record.fields.get(key)).map_or("", String::as_str)
}

/// Returns the values of a metric below which a quarter, a half and three quarters of its samples
/// are.
pub(super) fn quartiles(record: &Record, metric: &str) -> Result<[f64; 3]> {
    let metric = record.metric(metric).with_context(|| metric.to_owned())?;
    let mut values = metric.values.clone();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1).context("a metric has values")?;
    Ok([1, 2, 3].map(|quarter| values[last * quarter / 4]))
}
