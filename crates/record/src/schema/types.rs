//! The types of a record set, as they stand in JSON.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use super::basis::Basis;
use super::kinds::{Name, Text, U64, is_quoted, one_content, quoted};
use super::labels::Labels;
use super::matrix::Matrix;
use super::sequence::Sequence;
use super::series::Series;
use crate::stats::Interval;

/// The schema name every record file carries.
pub const SCHEMA: &str = "pageout-record";

/// The schema version this crate reads and writes.
pub const VERSION: u32 = 2;

/// The pattern of an id.
const ID: &str = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";

/// The content of a file: a set for each of its runs, one or more.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordFile {
    /// The sets, in the order in which they were measured. From it follows which runs of variants
    /// took turns.
    pub sets: Vec<RecordSet>,
}

/// The records of one run of the tool.
///
/// It holds no time of day: two runs of one commit on one machine differ in their ids and in
/// measured values only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordSet {
    /// The tool and machine of the run.
    pub run: Run,
    /// The records in the order they were made; tables keep it.
    pub records: Vec<Record>,
}

/// The tool that made the records, and the machine it ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The id, which no other run has. Every copy of this run's records has it.
    #[serde(with = "uuid::serde::hyphenated")]
    #[schemars(with = "String", extend("pattern" = ID))]
    pub id: Uuid,
    /// Name and version, such as `pageout 0.1.0`.
    #[schemars(with = "Text")]
    pub tool: String,
    /// The commit the tool was built from; `None` outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Text")]
    pub commit: Option<String>,
    /// The machine the tool ran on, whatever machine it modelled.
    pub machine: Machine,
}

/// The machine a run took place on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Model name of the CPU.
    #[schemars(with = "Text")]
    pub cpu: String,
    /// Instruction set, such as `x86_64` or `aarch64`.
    #[schemars(with = "Text")]
    pub arch: String,
    /// Logical CPUs.
    #[schemars(range(max = u32::MAX))]
    pub cores: u32,
    /// Memory, in MiB.
    #[schemars(with = "U64")]
    pub memory_mib: u64,
    /// Operating system.
    #[schemars(with = "Text")]
    pub os: String,
}

/// The results of a scenario under a variant on a ground.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the scenario.
    #[schemars(with = "Name")]
    pub scenario: String,
    /// The ground that the scenario ran on.
    pub ground: Ground,
    /// Seed of every random choice of the scenario.
    #[schemars(with = "U64")]
    pub seed: u64,
    /// The other properties that tell the scenario from its siblings: format, order, size.
    #[serde(default)]
    pub fields: Labels,
    /// Every axis of the variant with its choice, defaults included: `young=line`.
    #[serde(default)]
    pub variant: Labels,
    /// The results.
    #[serde(deserialize_with = "exactly")]
    pub metrics: Vec<Metric>,
}

impl Record {
    /// Returns the metric of a name; a record has no two of one name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// A quantity. It has exactly one kind of content: see [`Told`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "oneOf" = one_content(),
    "dependentRequired" = { "interval": ["values"] },
    "if" = is_quoted(),
    "then" = quoted(),
))]
pub struct Metric {
    /// The name of the quantity, such as `age`.
    #[schemars(with = "Name")]
    pub name: String,
    /// The unit of all its numbers, such as `ns/page`; empty for a pure number.
    #[schemars(with = "Text")]
    pub unit: String,
    /// The way in which the values came about.
    pub basis: Basis,
    /// The direction that is an improvement.
    pub better: Better,
    /// The source of a value or a price. A published value must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub source: Option<String>,
    /// The interval of the value, if the maker of the samples knows more than they show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Interval")]
    pub interval: Option<Interval>,
    /// The samples, in the order they were taken; all finite.
    #[serde(default, deserialize_with = "exactly", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub values: Vec<f64>,
    /// The limits that the source gives in place of a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bound")]
    pub bound: Option<Bound>,
    /// The direction of a difference, if the source gives only that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Claim")]
    pub claim: Option<Claim>,
    /// Time by activity: the tasks, with what they did below them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub activities: Vec<Activity>,
    /// Numbers along time, or along another quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Series")]
    pub series: Option<Box<Series>>,
    /// A number for each cell of two quantities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Matrix")]
    pub matrix: Option<Box<Matrix>>,
    /// Steps that happened, one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sequence")]
    pub sequence: Option<Box<Sequence>>,
}

/// The content of a metric, for readers that have to handle every kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told<'a> {
    /// Samples, one or more.
    Values(&'a [f64]),
    /// Limits of a quoted value.
    Bound(&'a Bound),
    /// The direction of a quoted difference.
    Claim(Claim),
    /// Time by activity, one or more tasks.
    Activities(&'a [Activity]),
    /// Lines over one axis.
    Series(&'a Series),
    /// Cells of two axes.
    Matrix(&'a Matrix),
    /// Steps in their order.
    Sequence(&'a Sequence),
}

/// Bounds of a value; at least one is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct Bound {
    /// The lower limit, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub at_least: Option<f64>,
    /// The upper limit, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub at_most: Option<f64>,
}

/// The direction of a difference, by a source that gives no number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Claim {
    /// After is better.
    Better,
    /// After is worse.
    Worse,
    /// There is no difference, or none was found.
    NoDifference,
}

/// An activity that took time, with its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// The name of the activity, such as `unmap`; at the root, the name of the task.
    #[schemars(with = "Name")]
    pub name: String,
    /// Time spent here and in no part, in the metric's unit.
    #[serde(rename = "self")]
    #[schemars(range(min = 0))]
    pub own: f64,
    /// The activities nested in this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Activity>,
}

/// The ground that a scenario ran on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Ground {
    /// The engine on this CPU, over page tables in ordinary memory.
    Host,
    /// The engine on a modelled machine.
    Model,
    /// A real Linux kernel.
    Linux,
    /// Small worlds in which the engine's executions are searched.
    Check,
    /// A figure quoted from a source.
    Published,
}

/// The direction of a metric that is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Better {
    /// Less is better: time, invalidations.
    Lower,
    /// More is better: throughput.
    Higher,
    /// Neither is: a change is only a change.
    Neither,
}

/// Reads a list without room to grow: a file may have 100,000 records of one metric each.
fn exactly<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::deserialize(from)?;
    list.shrink_to_fit();
    Ok(list)
}

impl From<RecordSet> for RecordFile {
    fn from(set: RecordSet) -> Self {
        Self { sets: vec![set] }
    }
}

impl RecordFile {
    /// Returns the records of all runs.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.sets.iter().flat_map(|set| &set.records)
    }
}

impl RecordSet {
    /// Makes a set of a run's records.
    pub const fn new(run: Run, records: Vec<Record>) -> Self {
        Self { run, records }
    }

    /// Returns the part that must be equal between two runs of one seed and commit on one machine:
    /// the set without its measured metrics, and with an id that is nil. It is itself a valid set.
    #[must_use]
    pub fn repeatable(&self) -> Self {
        let mut set = self.clone();
        set.run.id = Uuid::nil();
        for record in &mut set.records {
            record.metrics.retain(|metric| metric.basis != Basis::Measured);
        }
        set
    }
}

impl Run {
    /// Makes a run that begins now; its id is random.
    pub fn new(tool: &str, commit: Option<String>, machine: Machine) -> Self {
        Self { id: Uuid::new_v4(), tool: tool.to_owned(), commit, machine }
    }
}

impl Metric {
    /// Makes a metric of samples, with no source and no interval.
    pub fn new(name: &str, unit: &str, basis: Basis, better: Better, values: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            basis,
            better,
            source: None,
            interval: None,
            values,
            bound: None,
            claim: None,
            activities: Vec::new(),
            series: None,
            matrix: None,
            sequence: None,
        }
    }

    /// Returns all kinds of content that it has; a valid metric has one.
    pub(super) fn all_told(&self) -> Vec<Told<'_>> {
        let values = self.is_sampled().then_some(Told::Values(&self.values));
        let activities =
            (!self.activities.is_empty()).then_some(Told::Activities(&self.activities));
        let told = [
            values,
            self.bound.as_ref().map(Told::Bound),
            self.claim.map(Told::Claim),
            activities,
            self.series.as_deref().map(Told::Series),
            self.matrix.as_deref().map(Told::Matrix),
            self.sequence.as_deref().map(Told::Sequence),
        ];
        told.into_iter().flatten().collect()
    }

    /// Returns the content of the metric.
    ///
    /// # Panics
    /// If the metric is not valid: [`RecordSet::validate`] has to have been passed.
    pub fn told(&self) -> Told<'_> {
        match self.all_told()[..] {
            [told] => told,
            _ => panic!("a valid metric tells one thing: {self:?}"),
        }
    }

    /// Returns true if the metric has samples. Only then it is a row of a table.
    pub const fn is_sampled(&self) -> bool {
        !self.values.is_empty()
    }
}

impl Told<'_> {
    /// Returns the content's name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Values(_) => "values",
            Self::Bound(_) => "bound",
            Self::Claim(_) => "claim",
            Self::Activities(_) => "activities",
            Self::Series(_) => "series",
            Self::Matrix(_) => "matrix",
            Self::Sequence(_) => "sequence",
        }
    }
}

impl Activity {
    /// Returns the time spent here and in all parts.
    pub fn total(&self) -> f64 {
        self.own + self.parts.iter().map(Self::total).sum::<f64>()
    }
}

impl Ground {
    /// Returns the name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Model => "model",
            Self::Linux => "linux",
            Self::Check => "check",
            Self::Published => "published",
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
