//! Record sets of version 1 as sets of this version.

use serde::Deserialize;
use uuid::{Uuid, uuid};

use super::basis::Basis;
use super::labels::Labels;
use super::problem::InvalidRecord;
use super::read::{self, ReadError};
use super::types::{
    Better, Bound, Claim, Ground, Machine, Metric, Record, RecordSet, Run, VERSION,
};
use crate::stats::{Interval, Kind};

/// The reason why a text was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The text is no record set.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text has another version.
    #[error("version is {found}; 1 is converted to {VERSION}")]
    Version {
        /// The version in the text.
        found: u32,
    },
    /// The result breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldSet {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(rename = "version")]
    _version: u32,
    run: OldRun,
    records: Vec<OldRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldRun {
    tool: String,
    #[serde(default)]
    commit: Option<String>,
    machine: Machine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldRecord {
    scenario: String,
    ground: Ground,
    seed: u64,
    #[serde(default)]
    fields: Labels,
    #[serde(default)]
    variant: Labels,
    metrics: Vec<OldMetric>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldMetric {
    name: String,
    unit: String,
    basis: Basis,
    better: Better,
    #[serde(default)]
    source: Option<String>,
    values: Vec<f64>,
}

/// The endings of names by which version 1 marked the ends of an interval of draws.
const DRAWS: [[&str; 2]; 2] = [[", low", ", high"], [", 5 %", ", 95 %"]];
/// The share of draws between them.
const LEVEL: f64 = 0.9;
/// The endings of names by which it marked the bounds of a quoted figure.
const BOUNDS: [&str; 2] = [", least", ", most"];
/// The name of the metric for the direction of a quoted difference: above, below or at 0.
const SIDE: &str = "side";

/// The namespace of the ids that are made for runs without one.
const WITHOUT_ID: Uuid = uuid!("b3955d7a-8392-4126-8181-5b2fb2fc5c58");

/// Reads a set of version 1. Its run gets an id that follows from all that it holds, so that a set
/// converted twice is still known as the same run.
///
/// Metrics that described another one, as the ends of their names show, become its interval or its
/// bounds; all else is kept unchanged.
///
/// # Errors
/// [`ConvertError`], which names the record and metric, what was found and what is accepted.
pub fn from_version_1(text: &str) -> Result<RecordSet, ConvertError> {
    match read::version(text)? {
        1 => {}
        found => return Err(ConvertError::Version { found }),
    }
    let old: OldSet = read::shaped(text)?;
    let records = old.records.into_iter().map(record).collect();
    let OldRun { tool, commit, machine } = old.run;
    let mut set = RecordSet::new(Run { id: Uuid::nil(), tool, commit, machine }, records);
    set.run.id = Uuid::new_v5(&WITHOUT_ID, set.to_json()?.as_bytes());
    Ok(set)
}

fn record(old: OldRecord) -> Record {
    let OldRecord { scenario, ground, seed, fields, variant, metrics } = old;
    let metrics: Vec<Metric> = metrics.into_iter().map(metric).collect();
    let metrics = if ground == Ground::Published { bounded(metrics) } else { drawn(metrics) };
    Record { scenario, ground, seed, fields, variant, metrics }
}

fn metric(old: OldMetric) -> Metric {
    let OldMetric { name, unit, basis, better, source, values } = old;
    Metric { source, ..Metric::new(&name, &unit, basis, better, values) }
}

/// Makes ends of intervals of draws part of the metric to which they belong.
fn drawn(mut metrics: Vec<Metric>) -> Vec<Metric> {
    for [low, high] in DRAWS {
        for name in metrics.iter().map(|metric| metric.name.clone()).collect::<Vec<_>>() {
            let at = |end: &str| {
                let end = format!("{name}{end}");
                metrics.iter().position(|metric| metric.name == end && is_one(metric))
            };
            let Some((low, high)) = at(low).zip(at(high)) else { continue };
            let [from, to] = [low, high].map(|end| metrics[end].values[0]);
            let of = metrics.iter().position(|metric| metric.name == name);
            metrics[of.expect("it was named")].interval =
                Some(Interval { kind: Kind::Draws, low: from, high: to, level: LEVEL });
            let mut place = 0..;
            metrics.retain(|_| place.next().is_some_and(|place| ![low, high].contains(&place)));
        }
    }
    metrics
}

/// Makes one metric of the bounds of a quoted figure, and a claim of its side.
fn bounded(metrics: Vec<Metric>) -> Vec<Metric> {
    let mut bounded: Vec<Metric> = Vec::new();
    for metric in metrics {
        let end = BOUNDS.iter().find_map(|end| Some((end, metric.name.strip_suffix(end)?)));
        match end.filter(|_| is_one(&metric)) {
            None if metric.name == SIDE && is_one(&metric) => {
                let claim = match metric.values[0] {
                    side if side > 0.0 => Claim::Better,
                    side if side < 0.0 => Claim::Worse,
                    _ => Claim::NoDifference,
                };
                bounded.push(Metric { claim: Some(claim), values: Vec::new(), ..metric });
            }
            None => bounded.push(metric),
            Some((end, name)) => {
                let value = Some(metric.values[0]);
                let known = bounded.iter_mut().find(|known| known.name == *name);
                let of = match known.and_then(|known| known.bound.as_mut()) {
                    Some(of) => of,
                    None => {
                        let bound = Some(Bound { at_least: None, at_most: None });
                        let name = name.to_owned();
                        bounded.push(Metric { name, bound, values: Vec::new(), ..metric });
                        let new = bounded.last_mut().and_then(|new| new.bound.as_mut());
                        new.expect("it was put there")
                    }
                };
                if *end == BOUNDS[0] { of.at_least = value } else { of.at_most = value }
            }
        }
    }
    bounded
}

fn is_one(metric: &Metric) -> bool {
    metric.values.len() == 1
}
