//! The types of a record set, as they stand in JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The schema name every record set carries.
pub const SCHEMA: &str = "pageout-record";

/// The schema version this crate reads and writes.
pub const VERSION: u32 = 1;

/// Names with their values, in name order: scenario fields, or the axes of a variant.
pub type Labels = BTreeMap<String, String>;

/// The records of one run of the tool.
///
/// It holds no time of day: two runs of one commit on one machine differ in measured values only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSet {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Always [`VERSION`].
    pub version: u32,
    /// What ran, and where.
    pub run: Run,
    /// In the order they were made; tables keep it.
    pub records: Vec<Record>,
}

/// What made the records, and on which machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name and version, such as `pageout 0.1.0`.
    pub tool: String,
    /// The commit the tool was built from; `None` outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The machine the tool ran on, whatever machine it modelled.
    pub machine: Machine,
}

/// The machine a run took place on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Model name of the CPU.
    pub cpu: String,
    /// Instruction set, such as `x86_64` or `aarch64`.
    pub arch: String,
    /// Logical CPUs.
    pub cores: u32,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// Operating system.
    pub os: String,
}

/// One scenario under one variant on one ground.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the scenario.
    pub scenario: String,
    /// Where it ran.
    pub ground: Ground,
    /// Seed of every random choice of the scenario.
    pub seed: u64,
    /// What else tells the scenario from its siblings: format, order, size.
    #[serde(default)]
    pub fields: Labels,
    /// Every axis of the variant with its choice, defaults included: `young=line`.
    #[serde(default)]
    pub variant: Labels,
    /// What came out.
    pub metrics: Vec<Metric>,
}

/// One quantity with its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// What is told, such as `age`.
    pub name: String,
    /// The unit of the values, such as `ns/page`; empty for a pure number.
    pub unit: String,
    /// How the values came to be.
    pub basis: Basis,
    /// Which direction is an improvement.
    pub better: Better,
    /// Where a value or a price comes from; a published value must say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The samples, in the order they were taken; at least one, all finite.
    pub values: Vec<f64>,
}

/// Where a scenario ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// The engine on this CPU, over page tables in ordinary memory.
    Host,
    /// The engine on a modelled machine.
    Model,
    /// The engine in a bare-metal kernel under QEMU.
    Guest,
    /// A real Linux kernel.
    Linux,
    /// A figure quoted from a source.
    Published,
}

/// How a value came to be. See `docs/records.md` for what each one lets a reader conclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Read from a clock or a hardware counter: another run gives another value.
    Measured,
    /// Events counted in the run.
    Counted,
    /// Computed from counts and prices, each price with a source.
    Modelled,
    /// Computed with constants chosen to meet known results: never a prediction.
    Fitted,
    /// Computed with a constant nobody has measured.
    Guessed,
    /// Quoted from a source.
    Published,
}

/// Which direction of a metric is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better: time, invalidations.
    Lower,
    /// More is better: throughput.
    Higher,
    /// Neither is: a change is only a change.
    Neither,
}

impl RecordSet {
    /// A set of the current schema and version.
    pub fn new(run: Run, records: Vec<Record>) -> Self {
        Self { schema: SCHEMA.to_owned(), version: VERSION, run, records }
    }

    /// The set without its measured metrics: what must be equal between two runs of one seed and
    /// commit on one machine. It is itself a valid set.
    #[must_use]
    pub fn without_measured(&self) -> Self {
        let mut set = self.clone();
        for record in &mut set.records {
            record.metrics.retain(|metric| metric.basis != Basis::Measured);
        }
        set
    }
}

impl Ground {
    /// The name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Model => "model",
            Self::Guest => "guest",
            Self::Linux => "linux",
            Self::Published => "published",
        }
    }
}

impl Basis {
    /// The name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Counted => "counted",
            Self::Modelled => "modelled",
            Self::Fitted => "fitted",
            Self::Guessed => "guessed",
            Self::Published => "published",
        }
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
