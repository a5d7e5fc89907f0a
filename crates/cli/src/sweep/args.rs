//! Options and help of `sweep`.

use crate::options::{Output, Shown};
use clap::{Parser, Subcommand};
use pageout_experiment::kinds::{Kind, Size};
use pageout_sweep::Shard;
use std::num::NonZeroU16;
use std::path::PathBuf;

const SWEEP_HELP: &str = "\
A file plans the cells of a sweep, shards of them run wherever their directory is, and what they
come to is merged into one file of records. A run that is killed loses the cells it was at, and
goes on with the rest when it is started again (docs/sweeps.md). `flush` and `pageout` are sweeps
over modelled machines that come with the program.

Examples:
  pageout sweep plan limits.toml --dir limits    which cells there are
  pageout sweep run --dir limits                 all that are left, on all CPUs
  pageout sweep run --dir limits --shard 3/64    on the third of 64 machines
  pageout sweep status --dir limits              done, failed and left
  pageout sweep merge --dir limits --output limits.json
  pageout sweep flush --platform kunpeng-920-class";

#[derive(Debug, Parser)]
#[command(after_help = SWEEP_HELP)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub command: SweepCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Make a directory of the cells that a file describes; without --dir, list them
    Plan(PlanArgs),
    /// Run what is left of the cells, or of a shard of them
    Run(ShardArgs),
    /// How many cells are done, failed and left
    Status(StatusArgs),
    /// The results of all cells as one file of records, in the order of the plan
    Merge(MergeArgs),
    /// What flushes take, by cores and processes: at once, against deferred
    Flush(QuestionArgs),
    /// The same where memory is read in from compressed swap and paged out by turns
    Pageout(QuestionArgs),
}

const PLAN_HELP: &str = "\
The file is TOML. What all cells have stands first, then one of [grid], [[list]] and [random]:

  scenario = \"trace\"                 # as of `pageout compare`
  ground = \"host\"                    # or model
  variants = [\"lru=classic\", \"lru=mglru\"]
  trace = \"sqlite-orders\"            # also cores, platform, seed, runs, draws
  times = false                      # leave out what is measured: cells run anywhere

  [fields]                           # of every cell
  format = \"x86-64\"

  [grid]                             # every combination; or
  limit = [\"5%..100%\"]
  order = [0, 4]

  [[list]]                           # a table a cell; or
  limit = \"25%\"
  order = 2

  [random]                           # so many different combinations
  cells = 200
  seed = 1
  [random.from]
  limit = \"1%..100%\"
  seed = [1, 2, 3]

Examples:
  pageout sweep plan limits.toml
  pageout sweep plan limits.toml --dir limits";

#[derive(Debug, Parser)]
#[command(after_help = PLAN_HELP)]
pub(crate) struct PlanArgs {
    /// The file
    pub spec: PathBuf,
    /// The directory to make; one that has the same plan is left as it is
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

const RUN_HELP: &str = "\
Results appear when they are complete, a file a cell. What failed is told in the end, and tried
again by the next run. Cells that are timed run one by one, on a machine that nobody else uses;
others run on all CPUs at once. Exit status 1 if a cell failed.

Examples:
  pageout sweep run --dir limits
  pageout sweep run --dir limits --shard $SLURM_ARRAY_TASK_ID/64";

#[derive(Debug, Parser)]
#[command(after_help = RUN_HELP)]
pub(crate) struct ShardArgs {
    /// The directory that `sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Every Nth cell, from the Kth on [default: all]
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE, hide_default_value = true)]
    pub shard: Shard,
    /// Cells at once, of those that are not timed [default: as many as CPUs]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroU16>,
}

#[derive(Debug, Parser)]
#[command(after_help = "Example:\n  pageout sweep status --dir limits")]
pub(crate) struct StatusArgs {
    /// The directory that `sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

const MERGE_HELP: &str = "\
Exit status 1 if cells are left or have failed, unless --partial takes what there is.

Examples:
  pageout sweep merge --dir limits --output limits.json
  pageout sweep merge --dir limits --partial --csv";

#[derive(Debug, Parser)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// The directory that `sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Write to a file, which appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// CSV, a line a value, in place of JSON (docs/records.md)
    #[arg(long)]
    pub csv: bool,
    /// Merge those that are done, though others are left or have failed
    #[arg(long)]
    pub partial: bool,
}

const QUESTION_HELP: &str = "\
For `flush` processes use a file on all cores but one, where single pages of it are reclaimed. Told
is the time in which that core invalidates, or waits until the others have, a page; what it takes
of them; and the whole of reclaim: each page flushed at once, against a flush for a batch
(docs/model.md).

Examples:
  pageout sweep flush                          all platforms, 1 to 256 cores: a few minutes
  pageout sweep pageout --platform kunpeng-920-class --processes 1,8
  pageout sweep flush --platform x86-server-class --platform ./mine.toml --cores 8,16 --csv";

#[derive(Debug, Parser)]
#[command(after_help = QUESTION_HELP)]
pub(crate) struct QuestionArgs {
    /// A platform's name or a file; may be repeated [default: all that come with the program]
    #[arg(long, value_name = "NAME|FILE")]
    pub platform: Vec<String>,
    /// Numbers of cores, separated by commas [default: powers of two from 1 to 256]
    #[arg(long, value_name = "N,N", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Vec<u16>,
    /// Numbers of processes that map the file, separated by commas [default: 1,8]
    #[arg(long, value_name = "N,N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=256))]
    pub processes: Vec<u32>,
    /// Size of the file, or of the memory [default: 16MiB for flush, 1MiB for pageout]
    #[arg(long, value_parser = size)]
    pub size: Option<u64>,
    /// Seed of everything chosen at random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

fn size(text: &str) -> Result<u64, String> {
    Size::read(text).ok_or_else(|| format!("expected {}", Size::accepted()))
}
