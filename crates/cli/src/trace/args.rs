//! Options and help of `trace`.

use crate::options::{Output, Shown};
use clap::{Parser, Subcommand, ValueEnum};
use pageout_experiment::declare::values;
use pageout_experiment::fields::FieldError;
use pageout_experiment::kinds::Kind;
use pageout_experiment::scenarios::MemoryLimit;
use pageout_host::curve::Policy;
use pageout_trace::{
    DEFAULT_EPOCH_REFERENCES, FilterShape, Format, MAX_EPOCH_REFERENCES, Recorder,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Parser)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

const RECORD_HELP: &str = "\
valgrind follows a program that replaces itself, as scripts do that end with exec. qemu is faster:
it compiles a plugin with gcc for QEMU's user mode, takes programs of x86-64 on x86-64 that are no
scripts, and ends where the program replaces itself.

With --children, which needs valgrind, a child is traced from the moment it executes a program, and
so are its children. Of run.pgt, their traces are run.1.pgt, run.2.pgt and so on, in the order in
which they did. --epoch and --filter are for each of them. Files of these names are replaced, as
that of --output is. The recording ends with the last process, also if it is in the background.
Children that execute no program are counted.

Examples:
  pageout trace record --output ls.pgt -- ls -l /usr/bin
  pageout trace record --children --output run.pgt -- sh -c 'sort README.md | uniq -c'
  pageout trace record --recorder qemu --output sort.pgt -- sort /usr/share/dict/words";

const IMPORT_HELP: &str = "\
Files compressed by gzip, xz or zstd and tar archives of one file are unpacked as they are read.

perf-script takes what `perf script -F pid,event,addr` prints of memory samples, with any other
fields. damon takes DAMON's records: damon_aggregated events as `perf script` or `trace-cmd report`
print them, `damo report access --raw_form`, or the file of `damo record`. Both are samples: the
trace says so, and what needs all accesses refuses it. champsim takes records of 64 bytes,
cloudsuite those of 96. drmemtrace takes the text of its tool view. Of oracle-general each record is
a reference, a load, and each object a page, whatever its size. Of samples and of oracle-general
nothing is left out, so they take no --filter. A snapshot of DAMON's is an epoch, so that it takes
no --epoch. Kernel addresses and prefetches are passed over in all of them (docs/traces.md).

Examples:
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null |
    pageout trace import --output ls.pgt -
  pageout trace import cache.oracleGeneral.zst --output cache.pgt
  pageout trace import 600.champsimtrace.xz --output 600.pgt
  perf script -F pid,event,addr,data_src | pageout trace import --pid 4242 --output a.pgt -
  pageout trace import damon.data --output a.pgt
  drrun -t drmemtrace -indir DIR -tool view 2>&1 | pageout trace import --output a.pgt -";

const EXPORT_HELP: &str = "\
A record for each access that the trace has: pages by their numbers, from 1, in the order of their
first use, and the number of epochs before it as the time. Next uses are record numbers from 1, as
libCacheSim's traceConv writes them (docs/traces.md).

Example:
  pageout trace export sqlite-orders --output orders.oracleGeneral.zst";

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Trace a program's pages as it runs under Valgrind or QEMU
    Record(RecordArgs),
    /// Make a trace of what another tool recorded: perf, DAMON, ChampSim, drmemtrace and others
    #[command(after_help = IMPORT_HELP)]
    Import {
        /// The file, or - for standard input
        input: PathBuf,
        /// Its format [default: recognized by its content]
        #[arg(long, value_name = "FORMAT", value_enum)]
        from: Option<ImportFrom>,
        /// The process to import, of several; of DAMON the target, of drmemtrace the number after W
        #[arg(long, value_name = "PID")]
        pid: Option<u64>,
        /// The trace to write
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        density: Density,
    },
    /// Write the order of pages that a trace uses as oracleGeneral, for other cache simulators
    #[command(after_help = EXPORT_HELP)]
    Export {
        /// A sample's name or a file
        trace: PathBuf,
        /// The file to write; a name that ends in .zst is compressed
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Miss ratios of a trace by memory limit and replacement policy
    Curve(CurveArgs),
    /// What a trace holds; without one, the samples that come with the program
    Info {
        /// A sample's name or a file
        trace: Option<PathBuf>,
        /// Print it as JSON
        #[arg(long, requires = "trace")]
        json: bool,
    },
}

#[derive(Debug, Parser)]
#[command(after_help = RECORD_HELP)]
pub(crate) struct RecordArgs {
    /// The trace to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Trace child processes too, each in a file of its own
    #[arg(long)]
    pub children: bool,
    /// Under what the program runs
    #[arg(long, value_name = "RECORDER", value_enum, default_value_t = RecordWith::Valgrind)]
    pub recorder: RecordWith,
    #[command(flatten)]
    pub density: Density,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

const CURVE_HELP: &str = "\
A miss is an access whose page is not in memory: the first use of a page, or a refault. The miss
ratio is misses over all accesses that the trace has, which are the same for every policy. A trace
leaves out accesses that every TLB hits on, so ratios are larger than those of all references
(docs/traces.md). classic and mglru are the engine, as `pageout run trace limit=` runs it with order
0. lru, arc, s3fifo and sieve are the algorithms of their papers, page by page. min is Belady's MIN,
which knows the future: no policy that brings in single pages on demand has fewer misses.

A list has commas. A range A..B is in steps of A, and A..B:STEP in others.

Exit status 1 if some points cannot be had, such as those of the engine under a limit that leaves
it no room; the others are printed.

Examples:
  pageout trace curve sqlite-orders
  pageout trace curve sqlite-orders --format picture
  pageout trace curve my.pgt --limit 64M,128M,256M --policy mglru,arc,min
  pageout trace curve my.pgt --limit 1%..10%,20%..100%:10% --csv --output curve.csv
  pageout trace curve cc1plus-list --html curve.html";

#[derive(Debug, Parser)]
#[command(after_help = CURVE_HELP)]
pub(crate) struct CurveArgs {
    /// A sample's name or a file [default: python-table]
    pub trace: Option<PathBuf>,
    /// Memory limits: sizes, or per cent of the trace's different pages; lists and ranges
    #[arg(long, value_name = "LIMITS", default_value = "5%..100%")]
    pub limit: Limits,
    /// Who decides which pages go: a list
    #[arg(long, value_name = "POLICIES", default_value = "classic,mglru,lru,arc,s3fifo,sieve,min")]
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
            _ => Err("expected sizes alone, or per cent alone".to_owned()),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Policies(pub Vec<Policy>);

impl FromStr for Policies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        listed::<Policy>(text).map(Self)
    }
}

/// The values of a list, as fields of scenarios take it.
fn listed<K: Kind>(text: &str) -> Result<Vec<K::Value>, String> {
    values::<K>("", text).map_err(|error| match error {
        FieldError::BadValue { found, accepted, .. } => {
            format!("found `{found}`, expected {accepted}")
        }
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
    /// References an epoch (instructions, loads and stores); young bits are exact at its end
    /// [default: 100000]
    #[arg(long = "epoch", value_name = "REFERENCES",
        value_parser = clap::value_parser!(u64).range(1..=MAX_EPOCH_REFERENCES))]
    pub references: Option<u64>,
    /// Leave out what a TLB of so many sets x ways, or of so many entries in one set, hits on
    /// [default: 16x4,32]
    #[arg(long, value_name = "SETSxWAYS,ENTRIES", value_parser = FilterShape::parse)]
    pub filter: Option<FilterShape>,
}

impl Density {
    /// References an epoch.
    pub(crate) fn references(&self) -> u64 {
        self.references.unwrap_or(DEFAULT_EPOCH_REFERENCES)
    }
}
