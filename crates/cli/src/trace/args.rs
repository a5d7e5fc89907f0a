//! Options and help of `trace`.

use crate::numbers::whole;
use crate::options::{Output, Shown};
use clap::{Parser, Subcommand, ValueEnum};
use pageout_experiment::declare::values;
use pageout_experiment::fields::FieldError;
use pageout_experiment::kinds::{Choice, Kind};
use pageout_experiment::scenarios::MemoryLimit;
use pageout_host::curve::Policy;
use pageout_trace::{
    DEFAULT_EPOCH_REFERENCES, FilterShape, Format, MAX_EPOCH_REFERENCES, Recorder,
};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Parser)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record the page trace of a program, under Valgrind or QEMU
    Record(RecordArgs),
    /// Import a trace of another tool: perf, DAMON, ChampSim, drmemtrace, ...
    #[command(arg_required_else_help = true)]
    Import {
        /// File, or - for standard input
        input: PathBuf,
        /// Format of the file [default: recognized by its content]
        #[arg(long, value_name = "FORMAT", value_enum)]
        from: Option<ImportFrom>,
        /// Process to import, of several
        ///
        /// Of DAMON it is the target, of drmemtrace the number after W.
        #[arg(long, value_name = "PID", value_parser = whole::<u64>(0..=u64::MAX))]
        pid: Option<u64>,
        /// Trace to write
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        density: Density,
    },
    /// Export a trace's page accesses as oracleGeneral, for cache simulators
    #[command(arg_required_else_help = true)]
    Export {
        /// Trace: sample or file
        trace: PathBuf,
        /// File to write, compressed if its name ends in .zst
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Compute miss ratios of a trace by memory limit and replacement policy
    Curve(CurveArgs),
    /// Describe a trace, or list the samples that come with the program
    Info {
        /// Trace: sample or file [default: list of the samples]
        trace: Option<PathBuf>,
        /// Print the description as JSON
        #[arg(long, requires = "trace")]
        json: bool,
    },
}

#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub(crate) struct RecordArgs {
    /// Trace to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Trace child processes too, each in its own file
    #[arg(long)]
    pub children: bool,
    /// Recorder that runs the program
    #[arg(long, value_name = "RECORDER", value_enum, default_value_t = RecordWith::Valgrind)]
    pub recorder: RecordWith,
    #[command(flatten)]
    pub density: Density,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Parser)]
pub(crate) struct CurveArgs {
    /// Trace: sample or file [default: python-table]
    pub trace: Option<PathBuf>,
    /// Memory limits: sizes, or percentages of its pages
    #[arg(long, value_name = "LIMITS", default_value = "5%..100%")]
    pub limit: Limits,
    /// Replacement policies
    #[arg(long, value_name = "POLICIES", default_value_t = Policies::all())]
    pub policy: Policies,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

/// Limits of one kind, so that they have places on an axis.
#[derive(Clone, Debug)]
pub(crate) struct Limits(pub Vec<MemoryLimit>);

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = listed::<MemoryLimit>(text)?;
        let sizes = all.iter().filter(|limit| matches!(limit, MemoryLimit::Bytes(_))).count();
        match sizes {
            0 => Ok(Self(all)),
            some if some == all.len() => Ok(Self(all)),
            _ => Err("it mixes sizes and percentages; accepted: one kind of them".to_owned()),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Policies(pub Vec<Policy>);

impl Policies {
    fn all() -> Self {
        Self(Policy::NAMES.iter().map(|(_, policy)| *policy).collect())
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(Policy::text).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Policies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        listed::<Policy>(text).map(Self)
    }
}

/// Parses a list of values, in the form that scenarios' fields take.
fn listed<K: Kind>(text: &str) -> Result<Vec<K::Value>, String> {
    values::<K>("", text).map_err(|error| match error {
        FieldError::Value { bad, .. } => bad.to_string(),
        FieldError::Name { unknown, .. } => unknown.to_string(),
        other => other.to_string(),
    })
}

/// Recorders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RecordWith {
    Valgrind,
    Qemu,
}

impl RecordWith {
    pub(crate) fn recorder(self) -> Recorder {
        match self {
            Self::Valgrind => Recorder::Valgrind,
            Self::Qemu => Recorder::Qemu,
        }
    }
}

/// Formats that are imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ImportFrom {
    Lackey,
    PerfScript,
    Damon,
    Champsim,
    Cloudsuite,
    Drmemtrace,
    OracleGeneral,
}

impl ImportFrom {
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Lackey => Format::Lackey,
            Self::PerfScript => Format::PerfScript,
            Self::Damon => Format::Damon,
            Self::Champsim => Format::Champsim,
            Self::Cloudsuite => Format::Cloudsuite,
            Self::Drmemtrace => Format::Drmemtrace,
            Self::OracleGeneral => Format::OracleGeneral,
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct Density {
    /// References per epoch [default: 100000]
    ///
    /// References are instructions, loads and stores. Young bits are exact at the end of each
    /// epoch.
    #[arg(long = "epoch", value_name = "N",
        value_parser = whole::<u64>(1..=MAX_EPOCH_REFERENCES))]
    pub references: Option<u64>,
    /// TLB whose hits are left out [default: 16x4,32]
    ///
    /// SETSxWAYS,ENTRIES: 16x4,32 has 16 sets of 4 ways, and 32 entries in one set.
    #[arg(long, value_name = "SHAPE", value_parser = FilterShape::parse)]
    pub filter: Option<FilterShape>,
}

impl Density {
    /// References an epoch.
    pub(crate) fn references(&self) -> u64 {
        self.references.unwrap_or(DEFAULT_EPOCH_REFERENCES)
    }
}
