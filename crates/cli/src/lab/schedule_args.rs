//! The arguments of `pageout lab schedule`.

use super::args::Patched;
use crate::error::CliError;
use crate::numbers::whole;
use crate::options::{Form, MEASURING, OUTPUT, Output, SCENARIO};
use crate::paths;
use clap::Parser;
use pageout_lab::{MAX_TURNS_IN, Points, Program, Search, Strategy};
use pageout_run::message;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// The default number of runs of a failure, which shows that they are equal.
pub(super) const RUNS: u16 = 2;
/// Seconds after which a run is cut off, if no others are asked for.
pub(super) const LIMIT: u16 = 120;

#[derive(Debug, Parser)]
pub(crate) struct ScheduleArgs {
    /// Kernels [default: stock, or those of --patch]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Workload: name or C file, and its arguments
    ///
    /// lost-write, register-check, stale-read-file (-guard, -lazyfree, -private), a C program that
    /// calls what pageout_schedule.h declares (docs/schedule.md), or a workload in C with a
    /// manifest: one of the lab's, or yours, with one value for each field.
    #[arg(long, value_name = "WORKLOAD", value_parser = workload, help_heading = SCENARIO)]
    pub workload: Program,
    /// Seeds, the end excluded [default: 0..100]
    #[arg(long, value_name = "A..B", value_parser = seeds, help_heading = SCENARIO)]
    pub seeds: Option<RangeInclusive<u64>>,
    /// Run a stored schedule, or all of a directory; no seeds then; may be repeated
    #[arg(long, value_name = "PATH", help_heading = SCENARIO)]
    pub replay: Vec<PathBuf>,
    /// After stored schedules that all pass, try the seeds too
    #[arg(long, help_heading = SCENARIO, hide_short_help = true, requires = "replay")]
    pub until_passes: bool,
    #[command(flatten)]
    pub searching: Searching,
    #[command(flatten)]
    pub patched: Patched,
    /// Runs of a failure in all, 2 to 1000, to see that they are equal
    #[arg(long, value_name = "N", default_value_t = RUNS, help_heading = MEASURING,
        hide_short_help = true, value_parser = whole::<u16>(2..=1000))]
    pub runs: u16,
    /// Time after which a run is cut off
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT, help_heading = MEASURING,
        hide_short_help = true, value_parser = whole::<u16>(1..=3600))]
    pub time_limit: u16,
    /// Form of the result: table, or list, a text for mails
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Table,
        help_heading = OUTPUT, hide_short_help = true, conflicts_with_all = ["json", "csv"])]
    pub format: Form,
    #[command(flatten)]
    pub output: Output,
}

/// The way in which interleavings are searched.
#[derive(Debug, Parser)]
pub(crate) struct Searching {
    /// Turns that a seed gives up: few=N, rate=N or pct=N [default: few=16]
    ///
    /// few=N is N turns, drawn from all points that a run without turns passes. rate=N is one point
    /// in N. pct=N gives CPUs priorities, which change N - 1 times.
    #[arg(long, value_name = "STRATEGY", help_heading = SCENARIO)]
    pub strategy: Option<Strategy>,
    /// Directories and files of the kernel with points
    #[arg(long, value_name = "PATH", value_delimiter = ',', default_value = "mm",
        help_heading = SCENARIO)]
    pub points: Vec<PathBuf>,
    /// Functions that alone give up turns, up to 16
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', help_heading = SCENARIO,
        hide_short_help = true)]
    pub turns_in: Vec<String>,
    /// CPUs of the machine, 2 to 8
    #[arg(long = "cpus", value_name = "N", default_value_t = 3, help_heading = SCENARIO,
        hide_short_help = true, value_parser = whole::<u8>(2..=8))]
    pub machine_cpus: u8,
    /// Run all seeds, also behind the first that fails
    #[arg(long, help_heading = MEASURING)]
    pub all_seeds: bool,
    /// Lists of turns that are tried to make a failure small
    #[arg(long, value_name = "N", default_value_t = 300, help_heading = MEASURING,
        hide_short_help = true, value_parser = whole::<u16>(0..=65535))]
    pub tries: u16,
    /// Time after which no further list is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 600, help_heading = MEASURING,
        hide_short_help = true, value_parser = whole::<u16>(0..=65535))]
    pub shrink_limit: u16,
    /// The machine's seconds after which a run hangs
    #[arg(long, value_name = "SECONDS", default_value_t = 20, help_heading = MEASURING,
        hide_short_help = true, value_parser = whole::<u16>(1..=3600))]
    pub hang: u16,
    /// Write each failure's schedule into a directory
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub save: Option<PathBuf>,
}

impl Searching {
    /// Returns the places of the points, after a check of the functions and of the directory for
    /// schedules.
    pub(super) fn points(&self) -> Result<Points, CliError> {
        paths::made_directory("--save", self.save.as_deref())?;
        match self.turns_in.len() {
            found if found > MAX_TURNS_IN => Err(CliError::ScheduleTurnsIn(found)),
            _ => Ok(Points::new(&self.points)?),
        }
    }

    /// Returns the search of a workload by these seeds.
    pub(super) fn search(
        &self,
        workload: Program,
        seeds: RangeInclusive<u64>,
        runs: usize,
        limit: Duration,
    ) -> Search {
        Search {
            workload,
            cpus: self.machine_cpus,
            seeds,
            strategy: self.strategy.unwrap_or(Strategy::Few(16)),
            turns_in: self.turns_in.clone(),
            hang: Duration::from_secs(self.hang.into()),
            limit,
            tries: self.tries.into(),
            shrinking: Duration::from_secs(self.shrink_limit.into()),
            replays: runs,
            all_seeds: self.all_seeds,
        }
    }
}

impl ScheduleArgs {
    /// Returns true if stored schedules are run, and no seeds.
    pub(super) fn only_replays(&self) -> bool {
        !self.replay.is_empty() && !self.until_passes
    }
}

/// Parses a workload: name or C file, and its arguments.
pub(super) fn workload(text: &str) -> Result<Program, String> {
    Program::parse(text).map_err(|error| message(&error, str::to_owned))
}

/// `A..B`, the end excluded.
fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let ends = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match ends {
        Some((a, b)) if a < b => Ok(a..=b - 1),
        _ => Err("expected A..B, such as 0..100: seeds from A to before B".to_owned()),
    }
}
