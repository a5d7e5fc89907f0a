//! The command line.

use crate::completion;
use crate::lab::args::LabArgs;
use crate::options::{Common, Measuring, Output, Rows};
use crate::scenario_list;
use crate::sweep::args::SweepArgs;
use crate::trace::args::TraceArgs;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use pageout_experiment::scenarios::Scenario;
use pageout_record::compare::FailOn;
use pageout_reproduce::Thread;
use std::path::PathBuf;
use std::str::FromStr;

const COMPLETIONS: &str = "\
Shells that are told so run `pageout` to complete a word:
  bash   echo 'source <(pageout completions bash)' >> ~/.bashrc
  zsh    echo 'source <(pageout completions zsh)' >> ~/.zshrc
  fish   pageout completions fish > ~/.config/fish/completions/pageout.fish";

const MAN: &str = "\
Pages that are there are replaced. `man` looks below ~/.local/share/man where ~/.local/bin is in
PATH.

Examples:
  pageout man ~/.local/share/man/man1
  man pageout-trace-record";

const MAIN_HELP: &str = "\
Examples:
  pageout                                   what batching saves, on a screen, in 15 seconds
  pageout --full                            the main table: before against after, by stage
  pageout compare reclaim-file order=4 format=x86-64 young=0%,100%
  pageout compare age-file order=4 format=arm64-4k size=1GiB
  pageout compare trace --trace my.pgt --base young=batched --new young=line
  pageout run trace order=4 --variant young=line
  pageout reproduce                         every figure of the threads, theirs beside ours
  pageout bench reclaim                     reclaim by stage, and what batching saves of it
  pageout run reclaim-file --sizes          what it takes of memory, by the folio and the page
  pageout trace record --output my.pgt -- ls -l
  pageout sweep plan limits.toml --dir d    many runs that resume: then sweep run, sweep merge
  pageout check                             search for schedules that break the engine
  pageout lab compare --patch my.patch      your patch on a real kernel, before against after

Bad input ends with exit status 2, a failed check or condition (--fail-on) with 1.";

/// The scenarios with their fields, then what is not declared with them.
fn scenario_help() -> String {
    format!(
        "Scenarios and their fields, each with its default; every field takes a comma-separated \
         list\n(`pageout scenarios NAME` has what a field is and accepts):\n{}{SCENARIO_HELP}",
        scenario_list::list()
    )
}

/// The scenarios by name.
fn scenario_names() -> String {
    format!(
        "Scenarios: {}.\n`--help` has their fields, the axes of variants and examples.",
        Scenario::ALL.map(Scenario::name).join(", ")
    )
}

const SCENARIO_HELP: &str = "\
Axes of a variant; one left out takes its default (scenarios that only age look at young and flush):
  young      per-entry (as kernels did), batched (as merged), line (ours, default)
  unmap      how entries are taken out: per-entry, or batched (default) where that is sound
  shootdown  when other CPUs are told of entries taken out: immediate, or deferred (default) to one
             flush for a batch of folios; deferred-4cpus and deferred-8cpus: deferred on machines
             of so many CPUs or more, else immediate
  flush      what follows a young bit found: none, nosync (invalidate), sync (and wait for it);
             architecture (default) is what kernels do: none on x86-64, nosync on arm64-4k, and
             sync for PMD leaves. Counted on host, not executed
  lru        by which lists folios age: classic (default), active and inactive, or mglru,
             generations, with page-table walks and look-around; young bits are not flushed then
Figures:
  whole reclaim     time of memory.reclaim, from the request to its end, a page reclaimed
  isolate, rmap walk, young, aging, unmap, flush, cache removal, free, other
                    the same by stage: its share of what a sampler on another CPU saw in a run of
                    its own (whole reclaim while sampled), give or take the sampling error; unmap
                    walks on its own account
  folio_referenced  time to ask every folio: rmap walk and young check of its entries
  helper alone      time of the young check alone, clear_flush_young_ptes
  entries visited   page-table entries read
  atomics           locked read-modify-writes of entries
  invalidations     TLB invalidations; barriers are waits for their completion
  refaults          pages that came back after they were reclaimed
On --ground model times are computed, and besides:
  invalidating and waiting
                    time in which the reclaiming core invalidates, or waits until others have
  taken from other cores
                    what interrupts and invalidations took of them
  instructions      of the kernel, priced by counts of Linux 6.12
  interrupts        received by other cores; of which a round has some
  hidden accesses   through TLB entries whose page's young bit was clear: aging does not see them
  [low, high]       of times: the 5th and 95th percentile over --draws

Examples:
  pageout run trace limit=50% --trace sqlite-orders
  pageout compare trace limit=50% --base lru=classic --new lru=mglru
  pageout compare reclaim-file lru=mglru order=4 anon=25%
  pageout run reclaim-file lru=mglru size=1GiB --lru-gen '+ 1 0 3' --lru-gen '- 1 0 2'
  pageout run trace limit=50% lru=mglru --lru-gen '+ 1 0 0 max'
  pageout compare aging-rounds access=all,1/16,10% format=arm64-4k
  pageout compare reclaim-file order=mixed list=shuffled format=arm64-4k
  pageout compare reclaim-file order=4 --base shootdown=immediate --new shootdown=deferred
  pageout compare age-file order=4,pmd young=0%,50%,100%
  pageout compare reclaim-file order=4 --ground model --platform kunpeng-920-class --draws 200
  pageout compare thpscale --ground model threads=1,12,32 --draws 20
  pageout compare pageout-shared --ground model --platform snapdragon-888-class
  pageout compare fork-heavy --ground model --platform kunpeng-920-class --cores 16
  pageout compare access-patterns --ground model --runs 31
  pageout compare age-file processes=8 size=1GiB --json --output records.json
  pageout compare before.json after.json --base kernel=6.12.0
  pageout compare age-file order=4 format=arm64-4k --format list
  pageout compare age-file order=0,2,4 format=arm64-4k --format picture
  pageout compare before.json after.json --fail-on 3% --fail-on 'refaults>0%'
  pageout compare --label before=b1.json --label after=a1.json --label before=b2.json …
  pageout run age-file order=4 format=arm64-4k --variant young=per-entry,flush=sync";

/// The page-aging and reclaim system of a kernel, outside any kernel. Without a command: reclaim of
/// a mapped file before and after batching, on one screen.
#[derive(Debug, Parser)]
#[command(name = "pageout", version, after_help = MAIN_HELP)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub alone: AloneArgs,
}

/// Without a command.
#[derive(Debug, Parser)]
pub(crate) struct AloneArgs {
    /// The main table: larger files, every stage and real programs, in about a minute
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare variants of a scenario; without one, the main table
    Compare(CompareArgs),
    /// Run one variant of a scenario
    Run(RunArgs),
    /// Every scenario, with its fields
    Scenarios(ScenariosArgs),
    /// The hot paths beside their floors and goals, as ratios in one run
    Bench(BenchArgs),
    /// Many runs, planned in a file, that may be spread and killed; flushes on many machines
    Sweep(SweepArgs),
    /// Every figure of the threads, theirs beside ours
    Reproduce(ReproduceArgs),
    /// Page traces of real programs
    Trace(TraceArgs),
    /// Real kernels under QEMU: build them, boot them, compare them
    Lab(LabArgs),
    /// Measure this machine's prices: caches, translation, interrupts, faults
    Calibrate(CalibrateArgs),
    /// Show on this machine that a stale TLB hides accessed bits, without privilege
    Observe(ObserveArgs),
    /// A page to look at, of record files
    Report(ReportArgs),
    /// Record files: bring old ones to this version
    Records(RecordsArgs),
    /// Search small worlds for schedules that break the engine, and find bugs put in
    Check(CheckArgs),
    /// Print shell completions, which know scenarios, fields and values too
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command, and print where they are
    #[command(after_help = MAN)]
    Man {
        /// The directory to write them to, which is made if it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Debug, Parser)]
#[command(after_help = scenario_names(), after_long_help = scenario_help())]
pub(crate) struct CompareArgs {
    /// A scenario; the main table if left out. Or record files (NAME.json): what was measured
    /// before, here or elsewhere
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: Option<String>,
    /// The scenario's fields, or more record files
    #[arg(value_name = "FIELD=VALUE", add = ArgValueCompleter::new(completion::fields))]
    pub fields: Vec<String>,
    /// The variant compared with: a name (before, batched young, + batched unmap, line) or axes, of
    /// record files a label too [default: before, of record files the first one]
    #[arg(long, value_name = "VARIANT")]
    pub base: Option<String>,
    /// A variant to compare, by its name or by axes; may be repeated [default: the steps from
    /// before on: batched young, + batched unmap, line; for thpscale flush=none]
    #[arg(long = "new", value_name = "VARIANT")]
    pub new: Vec<String>,
    /// N%, such as 3%: end with status 1 if a variant is shown to be worse than the base by more,
    /// in what the scenario is judged by; 'METRIC>N%': in that metric. May be repeated. Ends with
    /// 125 if that cannot be decided, for want of runs or of the metric, and with 0 if it is not so
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<FailOn>,
    /// For `git bisect run`, with --fail-on: an error ends with status 128, which stops the
    /// bisection, where 2 would call the commit bad; 125 skips it
    #[arg(long, requires = "fail_on")]
    pub bisect: bool,
    /// Compare record files by name: NAME=FILE, such as before=a.json; may be repeated, in the
    /// order in which they ran. Files of one name are runs of one thing. The first name is the
    /// base. Runs that took turns (before, after, before, after) are compared pair by pair
    #[arg(long, value_name = "NAME=FILE")]
    pub label: Vec<Labelled>,
    /// Take samples of one variant as one, whatever the file and though their runs differ in
    /// commit, machine or kernel
    #[arg(long)]
    pub pool: bool,
    #[command(flatten)]
    pub common: Common,
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
#[command(after_help = scenario_names(), after_long_help = scenario_help())]
pub(crate) struct RunArgs {
    /// A scenario
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: String,
    /// The scenario's fields
    #[arg(value_name = "FIELD=VALUE", add = ArgValueCompleter::new(completion::fields))]
    pub fields: Vec<String>,
    /// The variant, by its name or by axes
    #[arg(long, default_value = "line")]
    pub variant: String,
    /// Write commands to lru_gen once the scenario has run, as to debugfs (docs/lru_gen.md); may be
    /// repeated. For reclaim-file and trace limit= with lru=mglru, and aging-rounds, whose
    /// generations are printed either way
    #[arg(long, value_name = "COMMANDS", allow_hyphen_values = true,
        conflicts_with_all = ["sizes", "json", "csv", "format"])]
    pub lru_gen: Vec<String>,
    /// Print what the scenario takes of memory, table by table, and run nothing
    #[arg(long, conflicts_with_all = ["json", "csv", "html", "format"])]
    pub sizes: bool,
    /// On ground model, write where the modelled time goes, as folded stacks in nanoseconds
    #[arg(long, value_name = "FILE", conflicts_with = "sizes")]
    pub folded: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Parser)]
pub(crate) struct ScenariosArgs {
    /// One scenario, with what its fields are and accept
    #[arg(add = ArgValueCompleter::new(completion::scenarios))]
    pub scenario: Option<String>,
    /// Print all of them as the page docs/scenarios.md
    #[arg(long, conflicts_with = "scenario")]
    pub markdown: bool,
}

const REPORT_HELP: &str = "\
One HTML file: the verdict first, then tables, charts and what made them. It needs no network. Every
command that prints a table writes such a page with --html (docs/report.md).

Examples:
  pageout report records.json --output report.html
  pageout report before.json after.json --base kernel=6.12.0 --output report.html
  pageout report --label before=b.json --label after=a.json --output report.html
  pageout report before.json after.json --json --output comparison.json";

#[derive(Debug, Parser)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportArgs {
    /// Record files; two of the same variants are compared by their names
    #[arg(required_unless_present = "label")]
    pub files: Vec<PathBuf>,
    /// The variant compared with [default: of each scenario the first one]
    #[arg(long, value_name = "VARIANT")]
    pub base: Option<String>,
    /// A record file with the name that its runs are compared by; may be repeated, as of compare
    #[arg(long, value_name = "NAME=FILE")]
    pub label: Vec<Labelled>,
    /// Take samples of one variant as one though their runs differ in commit, machine or kernel
    #[arg(long)]
    pub pool: bool,
    /// Write the comparisons as JSON in place of a page: medians, intervals, changes, tests and
    /// verdicts (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Where the page goes; it appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, Parser)]
pub(crate) struct RecordsArgs {
    #[command(subcommand)]
    pub command: RecordsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordsCommand {
    /// Make a file of version 2 out of one of version 1 (docs/records.md)
    Convert {
        /// The file of version 1; it is kept
        old: PathBuf,
        /// Where the file of version 2 goes
        new: PathBuf,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct BenchArgs {
    /// What to measure
    pub what: Benchmark,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub rows: Rows,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Benchmark {
    /// Young checks of page tables, beside what no check can go below
    Young,
    /// The threads' reclaim benchmark by stage, and what batching saves of it
    Reclaim,
    /// The same on generations, by the share of entries that are young
    Mglru,
    /// Aging walks of page tables, by what is mapped and populated, and what lets them skip tables
    Aging,
    /// Accesses on one core of the modelled machine, by where its TLB finds their translation, and
    /// real programs in half of their memory (with --runs, the program runs so often)
    Machine,
    /// What the flush after a young check evicts, if programs access the pages before the TLBI
    FlushReach,
    /// Reclaim of files up to 1 TiB, and how its time grows with their size
    Scale,
}

const REPRODUCE_HELP: &str = "\
A row for every figure that the threads give: what they have, what comes out here and where (engine
on this machine, prices on a platform, real kernel in the lab's stored records), and what ours is
worth. A row that nothing here can say is shown with why. Below: what was missed and why, constants
fitted and what is left of them without each thread, and the score. docs/reproduce.md.

Examples:
  pageout reproduce                  all of it, in a few minutes
  pageout reproduce --thread S3      one thread's
  pageout reproduce --quick          a small file and few draws: whether it works
  pageout reproduce --json";

#[derive(Debug, Parser)]
#[command(after_help = REPRODUCE_HELP)]
pub(crate) struct ReproduceArgs {
    /// One thread's figures, without the fits: S0, S1, S2, S3, S4 or lists [default: all]
    #[arg(long, value_name = "THREAD", value_parser = thread)]
    pub thread: Option<Thread>,
    /// Draws of prices for S0 and S1 [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    pub draws: Option<u32>,
    /// A smaller file, few rounds and draws
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub output: Output,
}

fn thread(name: &str) -> Result<Thread, String> {
    let found = Thread::ALL.into_iter().find(|thread| thread.name() == name);
    found.ok_or_else(|| format!("expected {}", Thread::ALL.map(Thread::name).join(", ")))
}

const OBSERVE_HELP: &str = "\
A program loads from pages, their young (accessed) bits are cleared, and it loads from them again.
The kernel does not see loads that go through a translation made before the clear, until a flush or
something else takes it out of the TLB (docs/observe.md). It takes Linux, and no privilege.

Examples:
  pageout observe
  pageout observe --runs 101 --html observe.html";

#[derive(Debug, Parser)]
#[command(after_help = OBSERVE_HELP)]
pub(crate) struct ObserveArgs {
    /// Rounds, each with one repetition of everything
    #[arg(
        long, value_name = "N", default_value_t = 15,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub runs: u16,
    #[command(flatten)]
    pub output: Output,
}

const CALIBRATE_HELP: &str = "\
What a program can measure without privilege is printed as a table: the prices of a platform file
(docs/platforms.md), then what else was seen. The rest of the file, such as storage, is another
platform's. A machine that does other work, and any virtual machine, shows wide ranges. `pageout
observe` shows what stale translations hide.

Examples:
  pageout calibrate --output mine.toml
  pageout calibrate --quick --cores 2";

#[derive(Debug, Parser)]
#[command(after_help = CALIBRATE_HELP)]
pub(crate) struct CalibrateArgs {
    /// Write the platform file, which appears when it is complete and is named after it
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Measure on so many cores, one CPU of each [default: all that this process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Option<u16>,
    /// Whose figures to take where nothing was measured: a platform's name or file [default: the
    /// server of this machine's architecture]
    #[arg(long, value_name = "PLATFORM")]
    pub like: Option<String>,
    /// Few repetitions over little memory: a look, in seconds
    #[arg(long)]
    pub quick: bool,
}

const CHECK_HELP: &str = "\
The engine runs on modelled CPUs with TLBs, suspended before each thing that others can see: a
change of an entry, an invalidation, a frame freed, a page written out. Each execution has other
choices of who goes on; the bound on choices against the default rises, so what fails first is short.

Examples:
  pageout check                              all properties, then the exhibits
  pageout check lost-write                   the scenarios made for one property
  pageout check reclaim-dirty --bound 3      one scenario, every execution up to a bound
  pageout check --exhibit free-before-flush  how a known bug fails, step by step

Exit status 1 if a property fails or an exhibit is not found.";

#[derive(Debug, Parser)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// A property or a scenario [default: all, and the exhibits]
    #[arg(value_name = "PROPERTY")]
    pub what: Option<String>,
    /// Find one of the bugs put in and show how it fails
    #[arg(long, value_name = "NAME", conflicts_with = "what")]
    pub exhibit: Option<String>,
    /// One small format [default: all]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// See every execution with at most so many choices against the default [default: the first
    /// 6,000 executions of each search, which take a minute or two in all]
    #[arg(long, value_name = "N")]
    pub bound: Option<usize>,
    /// Execute one schedule, as a counterexample names it
    #[arg(long, value_name = "CHOICES", requires = "format", conflicts_with = "bound")]
    pub replay: Option<String>,
    /// List properties, scenarios and exhibits
    #[arg(long, conflicts_with_all = ["what", "exhibit", "format", "bound", "replay", "Output"])]
    pub list: bool,
    #[command(flatten)]
    pub output: Output,
}
