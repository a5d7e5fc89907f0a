//! The command line.

use crate::lab::args::LabArgs;
use clap::{Parser, Subcommand, ValueEnum};
use pageout_sim::rounds::Rounds;
use pageout_sim::trace::{DEFAULT_EPOCH_REFERENCES, MAX_EPOCH_REFERENCES};
use std::path::PathBuf;

const MAIN_HELP: &str = "\
Examples:
  pageout                                   the main table: before against after
  pageout compare age-file order=4 format=arm64-4k size=1GiB
  pageout compare trace --trace my.pgt --base young=batched --new young=line
  pageout run trace order=4 --variant young=line
  pageout bench young                       the hot path beside its floors and goals
  pageout trace record --output my.pgt -- ls -l
  pageout lab compare --patch my.patch      your patch on a real kernel, before against after

Bad input ends with exit status 2, a failed check with 1.";

const SCENARIO_HELP: &str = "\
Scenarios and their fields (format, order and young take comma-separated lists):
  age-file   a clean file mapped by processes; one aging pass over all of its folios
               format=x86-64,arm64-4k  order=0,4,pmd  size=10GiB  processes=1
               young=100%  map=ptes (or pmd-leaf, with order=pmd)
  trace      a real program's accesses set young bits; at epoch ends, all folios are aged
               format=x86-64,arm64-4k  order=0,4,pmd  every=1 (epoch)
Axes of a variant:
  young      per-entry (as kernels did), batched (as merged), line (ours)
  flush      what follows a young bit found: none, nosync (invalidate), sync (and wait for it);
             architecture (default) is what kernels do: none on x86-64, nosync on arm64-4k, and
             sync for PMD leaves. Counted on host, not executed
Figures:
  folio_referenced  time to ask every folio: rmap walk and young check of its entries
  helper alone      time of the young check alone, clear_flush_young_ptes
  entries visited   page-table entries read
  atomics           locked read-modify-writes of entries
  invalidations     TLB invalidations; barriers are waits for their completion

Examples:
  pageout compare age-file order=4,pmd young=0%,50%,100%
  pageout compare age-file processes=8 size=1GiB --json --output records.json
  pageout compare before.json after.json --base kernel=6.12.0
  pageout run age-file order=4 format=arm64-4k --variant young=per-entry,flush=sync";

/// The page-aging and reclaim system of a kernel, outside any kernel. Without a command: the main
/// table, a young-bit check before and after batching.
#[derive(Debug, Parser)]
#[command(name = "pageout", version, after_help = MAIN_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare variants of a scenario; without one, the main table
    Compare(CompareArgs),
    /// Run one variant of a scenario
    Run(RunArgs),
    /// The hot paths beside their floors and goals, as ratios in one run
    Bench(BenchArgs),
    /// Page traces of real programs
    Trace(TraceArgs),
    /// Real kernels under QEMU: build them, boot them, compare them
    Lab(LabArgs),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Parser)]
#[command(after_help = SCENARIO_HELP)]
pub(crate) struct CompareArgs {
    /// age-file or trace; both, as the main table, if left out. Or record files (NAME.json):
    /// what was measured before, here or elsewhere
    pub scenario: Option<String>,
    /// The scenario's fields, or more record files
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
    /// The variant compared with, of record files the first one [default: young=per-entry]
    #[arg(long, value_name = "VARIANT")]
    pub base: Option<String>,
    /// A variant to compare; may be repeated [default: young=batched and young=line]
    #[arg(long = "new", value_name = "VARIANT")]
    pub new: Vec<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Parser)]
#[command(after_help = SCENARIO_HELP)]
pub(crate) struct RunArgs {
    /// age-file or trace
    pub scenario: String,
    /// The scenario's fields
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
    /// The variant
    #[arg(long, default_value = "young=line")]
    pub variant: String,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Parser)]
pub(crate) struct BenchArgs {
    /// What to measure: young checks of page tables
    pub what: Benchmark,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Benchmark {
    Young,
}

#[derive(Debug, Parser)]
pub(crate) struct Common {
    /// Where it runs: host (linux is `pageout lab`; model and guest are not implemented yet)
    #[arg(long, default_value = "host")]
    pub ground: String,
    /// The trace of scenario trace: a sample's name (see `pageout trace info`) or a file
    /// [default: python-table]
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct Measuring {
    /// Rounds, each with one sample a variant [default: 9 to 15, as fit in 30 seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: Option<u16>,
    /// Seed of everything chosen at random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Parser)]
pub(crate) struct Output {
    /// Print the records as JSON (docs/records.md)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print the records as CSV, a line a value
    #[arg(long)]
    pub csv: bool,
    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Trace a program's pages with Valgrind's lackey (its first process only)
    #[command(after_help = "Example:\n  pageout trace record --output ls.pgt -- ls -l /usr/bin")]
    Record {
        /// The trace to write
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        epoch: Epoch,
        /// The command and its arguments
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<std::ffi::OsString>,
    },
    /// Make a trace of lackey's text (valgrind --tool=lackey --trace-mem=yes)
    #[command(after_help = "Example:\n  valgrind --tool=lackey --trace-mem=yes --log-fd=9 \
        ls 9>&1 >/dev/null |\n    pageout trace import --output ls.pgt -")]
    Import {
        /// Lackey's text, or - for standard input
        input: PathBuf,
        /// The trace to write
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        #[command(flatten)]
        epoch: Epoch,
    },
    /// What a trace holds; without one, the samples that come with the program
    Info {
        /// A sample's name or a file
        trace: Option<PathBuf>,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct Epoch {
    /// References an epoch (instructions, loads and stores); young bits are exact at its end
    #[arg(long = "epoch", value_name = "REFERENCES",
        default_value_t = DEFAULT_EPOCH_REFERENCES,
        value_parser = clap::value_parser!(u64).range(1..=MAX_EPOCH_REFERENCES))]
    pub references: u64,
}

impl Measuring {
    pub(crate) fn rounds(&self) -> Rounds {
        self.runs.map_or(Rounds::DEFAULT, |runs| Rounds::Exactly(runs.into()))
    }
}
