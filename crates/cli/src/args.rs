//! The command line.

use crate::completion;
use crate::lab::args::LabArgs;
use crate::numbers::whole;
use crate::options::{Common, Measuring, OUTPUT, Output, Rows, SCENARIO};
use crate::sweep::args::SweepArgs;
use crate::trace::args::TraceArgs;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use pageout_record::compare::FailOn;
use pageout_refusal::UnknownName;
use pageout_reproduce::Thread;
use std::path::PathBuf;
use std::str::FromStr;

/// Page aging and reclaim of a kernel, outside any kernel
///
/// Without a command: reclaim of a mapped file before and after batching, on one screen.
#[derive(Debug, Parser)]
#[command(name = "pageout", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub alone: AloneArgs,
}

/// Without a command.
#[derive(Debug, Parser)]
pub(crate) struct AloneArgs {
    /// Print the main table, in about a minute
    ///
    /// It has larger files, every stage, and real programs.
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare variants of a scenario, or record files
    Compare(CompareArgs),
    /// Run one variant of a scenario
    Run(RunArgs),
    /// List the scenarios, or the fields and metrics of one
    Scenarios(ScenariosArgs),
    /// Measure hot paths beside their floors and goals
    Bench(BenchArgs),
    /// Run a planned grid of runs that may be spread and killed
    Sweep(SweepArgs),
    /// Compare figures of kernel mailing-list threads with ours
    Reproduce(ReproduceArgs),
    /// Record, import and study page traces of real programs
    Trace(TraceArgs),
    /// Build, boot and compare real kernels under QEMU
    Lab(LabArgs),
    /// Measure this machine's prices: memory, TLB, interrupts, faults
    Calibrate(CalibrateArgs),
    /// Measure how many accesses the TLB hides from young bits here
    Observe(ObserveArgs),
    /// Write a page with charts from record files
    Report(ReportArgs),
    /// Search schedules of CPUs with TLBs for ones that break the engine
    Check(CheckArgs),
    /// Print shell completions, for fields and values of scenarios too
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    Man {
        /// Directory for the pages; it is created if needed
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct CompareArgs {
    /// Scenario, or record file NAME.json [default: main table]
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: Option<String>,
    /// Fields of the scenario, or more record files
    #[arg(value_name = "FIELD=VALUE", add = ArgValueCompleter::new(completion::fields))]
    pub fields: Vec<String>,
    /// Variant to compare with [default: before]
    ///
    /// A variant is a name (before, batched young, + batched unmap, line) or AXIS=CHOICE, several
    /// with commas; of record files it is a label too. The default for record files is the first
    /// variant.
    #[arg(long, value_name = "VARIANT", help_heading = SCENARIO)]
    pub base: Option<String>,
    /// Variant to compare, repeatable [default: by scenario]
    ///
    /// The default is the steps from before on: batched young, + batched unmap, line. The default
    /// for pageout-shared is shootdown=deferred.
    #[arg(long = "new", value_name = "VARIANT", help_heading = SCENARIO)]
    pub new: Vec<String>,
    /// Fail if a variant is worse by more, such as 3%
    ///
    /// N% ends with status 1 if a variant is shown to be worse than the base by more than N%, in
    /// the metric that judges the scenario; 'METRIC>N%' judges by another metric. Status 125 means
    /// that it cannot be decided, for lack of runs or of the metric. May be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<FailOn>,
    /// Gain that a variant is asked for on ground model, in per cent [default: 1%]
    ///
    /// The decision names the probability that a variant gains more than this over the base.
    #[arg(long, value_name = "PERCENT", value_parser = percent, hide_short_help = true)]
    pub min_gain: Option<f64>,
    /// End with status 128 on errors, for `git bisect run`
    ///
    /// Status 128 stops the bisection, where 2 would call the commit bad. Status 125 skips the
    /// commit.
    #[arg(long, requires = "fail_on", hide_short_help = true)]
    pub bisect: bool,
    /// Record file with a name, such as before=a.json
    ///
    /// Names are compared. May be repeated, in the order in which the files were measured. Files of
    /// one name are runs of one thing. The first name is the base. Runs that took turns (before,
    /// after, before, after) are compared pair by pair.
    #[arg(long, value_name = "NAME=FILE", hide_short_help = true)]
    pub label: Vec<Labelled>,
    /// Pool samples of one variant across commits, machines and kernels
    #[arg(long, hide_short_help = true)]
    pub pool: bool,
    #[command(flatten)]
    pub common: Common,
}

/// Parses a gain: per cent of the base, below 100.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let accepted = |percent: &f64| (0.0..100.0).contains(percent);
    let percent = number.parse().ok().filter(accepted);
    percent.ok_or_else(|| format!("`{text}`: expected PERCENT%, from 0% to below 100%, such as 2%"))
}

/// A record file with the name that its runs are compared by.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub name: String,
    pub path: PathBuf,
}

impl FromStr for Labelled {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "expected NAME=FILE, such as before=a.json, without a comma in NAME";
        let (name, path) = text.split_once('=').ok_or(expected)?;
        if name.trim().is_empty() || name.contains(',') || path.is_empty() {
            return Err(expected);
        }
        Ok(Self { name: name.to_owned(), path: path.into() })
    }
}

#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub(crate) struct RunArgs {
    /// Scenario
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: String,
    /// Fields of the scenario
    #[arg(value_name = "FIELD=VALUE", add = ArgValueCompleter::new(completion::fields))]
    pub fields: Vec<String>,
    /// Variant: name or AXIS=CHOICE
    #[arg(long, default_value = "line", help_heading = SCENARIO)]
    pub variant: String,
    /// Commands for lru_gen after the scenario, as for debugfs; may be repeated
    ///
    /// For reclaim-file and trace limit= with lru=mglru, and for aging-rounds (docs/lru_gen.md).
    /// Their generations are printed in any case.
    #[arg(long, value_name = "COMMANDS", allow_hyphen_values = true, hide_short_help = true,
        help_heading = SCENARIO, conflicts_with_all = ["sizes", "json", "csv", "format"])]
    pub lru_gen: Vec<String>,
    /// Print the memory that the scenario needs, table by table, and run nothing
    #[arg(long, conflicts_with_all = ["json", "csv", "html", "format"], hide_short_help = true)]
    pub sizes: bool,
    #[command(flatten)]
    pub common: Common,
    /// Write the modelled time as folded stacks in nanoseconds, on ground model
    #[arg(long, value_name = "FILE", conflicts_with = "sizes", hide_short_help = true,
        help_heading = OUTPUT)]
    pub folded: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct ScenariosArgs {
    /// Scenario whose fields and metrics are listed [default: all]
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: Option<String>,
    /// Print all scenarios as the page docs/scenarios.md
    #[arg(long, conflicts_with = "scenario")]
    pub markdown: bool,
}

#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub(crate) struct ReportArgs {
    /// Record files; two of the same variants are compared by their names
    #[arg(required_unless_present = "label")]
    pub files: Vec<PathBuf>,
    /// Variant to compare with [default: the first]
    #[arg(long, value_name = "VARIANT")]
    pub base: Option<String>,
    /// Record file with a name, such as before=a.json
    ///
    /// May be repeated, as for `pageout compare`.
    #[arg(long, value_name = "NAME=FILE")]
    pub label: Vec<Labelled>,
    /// Pool samples of one variant across commits, machines and kernels
    #[arg(long, hide_short_help = true)]
    pub pool: bool,
    /// Write comparisons as JSON instead of a page
    ///
    /// Comparisons (docs/report.md) have medians, intervals, changes, tests and verdicts.
    #[arg(long)]
    pub json: bool,
    /// File for the page, which appears when complete
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub(crate) struct BenchArgs {
    /// Benchmark, one of those below
    #[arg(hide_possible_values = true)]
    pub what: Benchmark,
    /// Predict times of reclaim or mglru before measuring them
    ///
    /// The program counts its own instructions one by one, in a child process. Loops of their own
    /// say what an instruction, an atomic and the first touch of a line take. Needs x86-64 Linux.
    #[arg(long)]
    pub predict: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub rows: Rows,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Benchmark {
    /// Young checks of page tables, beside the floors of any check
    Young,
    /// Reclaim of a mapped file by stage, and the savings of batching
    Reclaim,
    /// The same on generations, by the share of young entries
    Mglru,
    /// Aging walks, by mapped and populated space, and by filters
    Aging,
    /// Accesses on a modelled core, by the place of their translation
    Machine,
    /// Translations that the flush after a young check evicts
    FlushReach,
    /// Reclaim of files up to 1 TiB, and the growth of its time
    Scale,
}

#[derive(Debug, Parser)]
pub(crate) struct ReproduceArgs {
    /// Thread: S0, S1, S2, S3, S4 or lists [default: all]
    #[arg(long, value_name = "THREAD", value_parser = thread)]
    pub thread: Option<Thread>,
    /// Draws of prices [default: 100]
    ///
    /// 20 to 1000000 are accepted.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(20..=1_000_000))]
    pub draws: Option<u32>,
    /// Use a smaller file, few rounds and few draws
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub output: Output,
}

fn thread(name: &str) -> Result<Thread, UnknownName> {
    let found = Thread::ALL.into_iter().find(|thread| thread.name() == name);
    found.ok_or_else(|| UnknownName::new("thread", name, Thread::ALL.map(Thread::name)))
}

#[derive(Debug, Parser)]
pub(crate) struct ObserveArgs {
    /// Rounds of all measurements, 1 to 1000
    #[arg(
        long, value_name = "N", default_value_t = 15,
        value_parser = whole::<u16>(1..=1000)
    )]
    pub runs: u16,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Parser)]
pub(crate) struct CalibrateArgs {
    /// Platform file to write; its name is the platform's
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Cores to measure on, 1 to 256 [default: all]
    ///
    /// One CPU of each core measures.
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=256))]
    pub cores: Option<u16>,
    /// Platform for prices not measured: name or file
    ///
    /// [default: the server class of this machine's architecture]
    #[arg(long, value_name = "PLATFORM")]
    pub like: Option<String>,
    /// Take few repetitions over little memory, in seconds
    #[arg(long)]
    pub quick: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct CheckArgs {
    /// Property or scenario [default: all, and the exhibits]
    #[arg(value_name = "PROPERTY")]
    pub what: Option<String>,
    /// Find an injected bug, and print its failure in steps
    #[arg(long, value_name = "NAME", conflicts_with = "what")]
    pub exhibit: Option<String>,
    /// Small entry format [default: all]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Run all executions with at most N choices
    ///
    /// These are choices of a CPU against the default. Without it, each search runs its first 6,000
    /// executions, in half a minute for all.
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=u64::MAX))]
    pub bound: Option<usize>,
    /// Execute one schedule, as a counterexample prints it
    #[arg(long, value_name = "CHOICES", requires = "format", conflicts_with = "bound")]
    pub replay: Option<String>,
    /// List properties, scenarios and exhibits
    #[arg(long, conflicts_with_all = ["what", "exhibit", "format", "bound", "replay", "Output"])]
    pub list: bool,
    #[command(flatten)]
    pub output: Output,
}
