//! The rules a record set keeps beyond its shape.

use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::slice;

use super::basis::Basis;
use super::checks::{finite, named, printable};
use super::labels::Labels;
use super::matrix::Matrix;
use super::problem::{InvalidRecord, Problem};
use super::sequence::Sequence;
use super::series::Series;
use super::types::{Activity, Bound, Ground, Metric, Record, RecordFile, RecordSet, Told};
use crate::stats::Interval;

type MetricKey<'a> = (&'a str, Ground, u64, &'a Labels, &'a Labels, &'a str);

/// A metric of a record. Two are equal if their keys are. A file may have 100,000 of them, and a
/// key takes four times the memory.
struct Placed<'a>(&'a Record, &'a Metric);

impl<'a> Placed<'a> {
    fn key(&self) -> MetricKey<'a> {
        let Record { scenario, ground, seed, fields, variant, .. } = self.0;
        (scenario, *ground, *seed, fields, variant, &self.1.name)
    }
}

impl PartialEq for Placed<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Placed<'_> {}

impl Hash for Placed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl RecordFile {
    /// Checks the rules that the types cannot enforce: each run occurs once, each metric has one
    /// kind of content, numbers are finite, ends are in order, published values have sources, names
    /// are present and printable, and no metric of a run is given twice.
    ///
    /// # Errors
    /// [`InvalidRecord`] with the place and the [`Problem`], of the first rule broken.
    pub fn validate(&self) -> Result<(), InvalidRecord> {
        validate(&self.sets)
    }
}

impl RecordSet {
    /// [`RecordFile::validate`] of a file of this run.
    ///
    /// # Errors
    /// [`InvalidRecord`] with the place and the [`Problem`], of the first rule broken.
    pub fn validate(&self) -> Result<(), InvalidRecord> {
        validate(slice::from_ref(self))
    }
}

/// Checks the sets of a file.
pub(super) fn validate(sets: &[RecordSet]) -> Result<(), InvalidRecord> {
    if sets.is_empty() {
        return Err(at("sets".to_owned(), Problem::NoSet));
    }
    let mut runs = BTreeSet::new();
    for (index, set) in sets.iter().enumerate() {
        let place = format!("sets[{index}]");
        if !runs.insert(set.run.id) {
            return Err(at(format!("{place}.run"), Problem::SameRun(set.run.id)));
        }
        check_set(set, &place)?;
    }
    Ok(())
}

fn check_set(set: &RecordSet, place: &str) -> Result<(), InvalidRecord> {
    let run = &set.run;
    let texts = [&run.tool, &run.machine.cpu, &run.machine.arch, &run.machine.os].into_iter();
    for text in texts.chain(&run.commit) {
        printable("text", text).map_err(|problem| at(format!("{place}.run"), problem))?;
    }
    let mut seen = HashSet::new();
    for (index, record) in set.records.iter().enumerate() {
        let place = format!("{place}.records[{index}] ({:?})", record.scenario);
        check_record(record).map_err(|problem| at(place.clone(), problem))?;
        for metric in &record.metrics {
            let place = || format!("{place}, metric {:?}", metric.name);
            check_metric(metric).map_err(|problem| at(place(), problem))?;
            if !seen.insert(Placed(record, metric)) {
                return Err(at(place(), Problem::Repeated));
            }
        }
    }
    Ok(())
}

fn at(place: String, problem: Problem) -> InvalidRecord {
    InvalidRecord { place, problem }
}

fn check_record(record: &Record) -> Result<(), Problem> {
    named("scenario", &record.scenario)?;
    for (name, value) in &record.fields {
        named("field name", name)?;
        printable("field value", value)?;
    }
    for (name, value) in &record.variant {
        named("axis name", name)?;
        printable("axis choice", value)?;
    }
    Ok(())
}

fn check_metric(metric: &Metric) -> Result<(), Problem> {
    named("metric name", &metric.name)?;
    printable("unit", &metric.unit)?;
    match &metric.source {
        Some(source) => named("source", source)?,
        None if metric.basis == Basis::Published => return Err(Problem::NoSource),
        None => {}
    }
    tells_one_thing(metric)?;
    for (index, value) in metric.values.iter().enumerate() {
        finite(|| format!("values[{index}]"), *value)?;
    }
    if let Some(interval) = &metric.interval {
        check_interval(metric, interval)?;
    }
    let quoted = [("bound", metric.bound.is_some()), ("claim", metric.claim.is_some())];
    if let Some((what, _)) = quoted.into_iter().find(|(_, is_there)| *is_there)
        && metric.basis != Basis::Published
    {
        return Err(Problem::NotPublished { what, basis: metric.basis });
    }
    metric.bound.iter().try_for_each(check_bound)?;
    metric.activities.iter().try_for_each(check_activity)?;
    metric.series.as_deref().map_or(Ok(()), Series::check)?;
    metric.matrix.as_deref().map_or(Ok(()), Matrix::check)?;
    metric.sequence.as_deref().map_or(Ok(()), Sequence::check)
}

fn tells_one_thing(metric: &Metric) -> Result<(), Problem> {
    match metric.all_told()[..] {
        [] => Err(Problem::NothingTold),
        [_] => Ok(()),
        ref several => {
            let found: Vec<&str> = several.iter().map(Told::name).collect();
            Err(Problem::SeveralTold { found: found.join(" and ") })
        }
    }
}

fn check_interval(metric: &Metric, interval: &Interval) -> Result<(), Problem> {
    let Interval { low, high, level, .. } = *interval;
    if !metric.is_sampled() {
        return Err(Problem::IntervalAlone);
    }
    finite(|| "interval.low".to_owned(), low)?;
    finite(|| "interval.high".to_owned(), high)?;
    if low > high {
        return Err(Problem::Ends { what: "the interval", low, high });
    }
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(Problem::Level(level)) }
}

fn check_bound(bound: &Bound) -> Result<(), Problem> {
    for (end, value) in [("at_least", bound.at_least), ("at_most", bound.at_most)] {
        value.map_or(Ok(()), |value| finite(|| format!("bound.{end}"), value))?;
    }
    match (bound.at_least, bound.at_most) {
        (None, None) => Err(Problem::NoBound),
        (Some(low), Some(high)) if low > high => {
            Err(Problem::Ends { what: "the bound", low, high })
        }
        _ => Ok(()),
    }
}

fn check_activity(activity: &Activity) -> Result<(), Problem> {
    let Activity { name, own, parts } = activity;
    named("activity name", name)?;
    finite(|| format!("the time of activity {name:?}"), *own)?;
    if *own < 0.0 {
        return Err(Problem::Negative { name: name.clone(), own: *own });
    }
    parts.iter().try_for_each(check_activity)
}
