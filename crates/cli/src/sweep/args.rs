//! Options and help of `sweep`.

use crate::numbers::whole;
use crate::options::{Output, Shown};
use clap::{Parser, Subcommand};
use pageout_experiment::fields::parse_size;
use pageout_experiment::kinds::{Kind, Size};
use pageout_sweep::Shard;
use std::num::NonZeroU16;
use std::path::PathBuf;

#[derive(Debug, Parser)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub command: SweepCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Plan the cells that a file describes, or list them without --dir
    Plan(PlanArgs),
    /// Run the cells that are left, or those of one shard
    Run(ShardArgs),
    /// Count the cells that are done, failed and left
    Status(StatusArgs),
    /// Merge the results of all cells into one file of records
    Merge(MergeArgs),
    /// Compare immediate with deferred flushes, by cores and processes
    Flush(QuestionArgs),
    /// Compare the same for memory that is paged out to compressed swap
    Pageout(QuestionArgs),
}

#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub(crate) struct PlanArgs {
    /// Plan, a TOML file
    pub spec: PathBuf,
    /// Directory to make; one that has the same plan is kept
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct ShardArgs {
    /// Directory that `pageout sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Shard: every Nth cell, from the Kth on [default: all cells]
    #[arg(long, value_name = "K/N", default_value_t = Shard::WHOLE, hide_default_value = true)]
    pub shard: Shard,
    /// Cells at once, if they are not timed [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroU16>,
}

#[derive(Debug, Parser)]
pub(crate) struct StatusArgs {
    /// Directory that `pageout sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Print the counts as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct MergeArgs {
    /// Directory that `pageout sweep plan` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Write to a file, which appears when complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write CSV instead of JSON, one line for each value
    #[arg(long)]
    pub csv: bool,
    /// Merge only the cells that are done
    #[arg(long)]
    pub partial: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct QuestionArgs {
    /// Platform: name or file, repeatable [default: all]
    #[arg(long, value_name = "NAME|FILE")]
    pub platform: Vec<String>,
    /// Cores, 1 to 256 [default: powers of two to 256]
    #[arg(long, value_name = "N,N", value_delimiter = ',',
        value_parser = whole::<u16>(1..=256))]
    pub cores: Vec<u16>,
    /// Processes, 1 to 256 [default: 1,8]
    #[arg(long, value_name = "N,N", value_delimiter = ',',
        value_parser = whole::<u32>(1..=256))]
    pub processes: Vec<u32>,
    /// Size of the memory [default: 16MiB; pageout: 1MiB]
    #[arg(long, value_parser = size)]
    pub size: Option<u64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|why| format!("`{text}` {why}; accepted: {}", Size::accepted()))
}

fn jobs(text: &str) -> Result<NonZeroU16, String> {
    whole::<u16>(1..=u16::MAX.into())(text).map(|jobs| NonZeroU16::new(jobs).expect("at least 1"))
}
