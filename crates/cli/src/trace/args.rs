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
perf-script takes what `perf script -F pid,event,addr` or `-F pid,event,addr,data_src` prints of
memory samples. damon takes DAMON's records, as `perf script` prints damon:damon_aggregated, or
`damo report raw`. Both are samples: the trace says so, and what needs all accesses refuses it.
champsim takes decompressed records of 64 bytes. drmemtrace takes the text of its tool view. Of
oracleGeneral each record is a reference, a load, and each object a page, whatever its size. Of
samples and of oracleGeneral nothing is left out, so they take no --filter. A snapshot of DAMON's is
an epoch, so that it takes no --epoch.

Examples:
  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null |
    pageout trace import --output ls.pgt -
  pageout trace import --from oracle-general cache.oracleGeneral --output cache.pgt
  zstd -dc cache.oracleGeneral.zst |
    pageout trace import --from oracle-general --output cache.pgt -
  perf script -F pid,event,addr,data_src | pageout trace import --from perf-script --output a.pgt -
  xz -dc 600.champsimtrace.xz | pageout trace import --from champsim --output 600.pgt -";

const EXPORT_HELP: &str = "\
A record for each access that the trace has: pages by their numbers in the order of their first use,
the number of epochs before it as the time (docs/traces.md).

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
        /// What it is
        #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ImportFrom::Lackey)]
        from: ImportFrom,
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
    Drmemtrace,
    OracleGeneral,
}

impl ImportFrom {
    /// What it is of one program's accesses; a cache's trace is another thing.
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Self::Lackey => Some(Format::Lackey),
            Self::PerfScript => Some(Format::PerfScript),
            Self::Damon => Some(Format::Damon),
            Self::Champsim => Some(Format::Champsim),
            Self::Drmemtrace => Some(Format::Drmemtrace),
            Self::OracleGeneral => None,
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct Density {
    /// References an epoch (instructions, loads and stores); young bits are exact at its end
    /// [default: 100000]
    #[arg(long = "epoch", value_name = "REFERENCES",
        value_parser = clap::value_parser!(u64).range(1..=MAX_EPOCH_REFERENCES))]
    references: Option<u64>,
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

    /// The first option that was given of those that have no meaning for what is imported.
    pub(crate) fn meaningless(&self, from: ImportFrom) -> Option<&'static str> {
        let nothing_left_out = from.format().is_none_or(Format::is_sampled);
        let has_epochs = from.format().is_some_and(Format::has_epochs);
        if nothing_left_out && self.filter.is_some() {
            return Some("--filter");
        }
        (has_epochs && self.references.is_some()).then_some("--epoch")
    }
}
