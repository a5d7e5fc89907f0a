//! Options that several commands have.

use crate::numbers::whole;
use crate::terminal;
use clap::{Parser, ValueEnum};
use pageout_experiment::rounds::Rounds;
use pageout_record::schema::Ground;
use pageout_refusal::UnknownName;
use std::path::{Path, PathBuf};

/// Headings of options in help.
pub(crate) const SCENARIO: &str = "Scenario";
pub(crate) const MACHINE: &str = "Machine";
pub(crate) const MEASURING: &str = "Measuring";
pub(crate) const OUTPUT: &str = "Output";

#[derive(Debug, Parser)]
pub(crate) struct Common {
    /// Ground: host (this CPU) or model
    ///
    /// Model is a machine with prices (docs/model.md). For Linux see `pageout lab`.
    #[arg(long, default_value = "host", value_parser = ground, help_heading = SCENARIO)]
    pub ground: Ground,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Trace for scenario trace: sample or file [default: python-table]
    ///
    /// `pageout trace info` lists the samples.
    #[arg(long, value_name = "TRACE", help_heading = SCENARIO, hide_short_help = true)]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

impl Common {
    /// Returns the files that are read.
    pub(crate) fn inputs(&self) -> [Option<&Path>; 2] {
        [self.trace.as_deref(), self.machine.platform.as_deref().map(Path::new)]
    }
}

/// The machine of ground model.
#[derive(Debug, Parser)]
#[command(next_help_heading = MACHINE)]
pub(crate) struct MachineArgs {
    /// Platform of ground model: name or file [default: the format's server class]
    ///
    /// A platform file has a machine's prices (docs/platforms.md).
    #[arg(long, value_name = "NAME|FILE", hide_short_help = true)]
    pub platform: Option<String>,
    /// Cores of ground model, 1 to 256 [default: the platform's]
    #[arg(long, value_name = "N", hide_short_help = true,
        value_parser = whole::<u16>(1..=256))]
    pub cores: Option<u16>,
    /// Draws of prices on ground model, 0 to 10000 [default: 20 or 10 to compare]
    ///
    /// Each draw takes every price from its range. A comparison says in how many of them a variant
    /// gains, and from which price on. The default is 20 for one or two machines and settings; for
    /// more it is 10, and no break-even prices; for `run` and scenario trace it is 0.
    #[arg(long, value_name = "N", hide_short_help = true,
        value_parser = whole::<u32>(0..=10_000))]
    pub draws: Option<u32>,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = MEASURING)]
pub(crate) struct Measuring {
    /// Samples per variant, 1 to 1000 [default: 9–15, to fit 30 s]
    ///
    /// The first screen, the main table and `bench scale` take fewer by default. Ground model takes
    /// one, and further ones with seeds of their own.
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=1000))]
    pub runs: Option<u16>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true,
        value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,
}

impl Measuring {
    /// Returns the rounds asked for, or `default`.
    pub(crate) fn rounds_or(&self, default: Rounds) -> Rounds {
        self.runs.map_or(default, |runs| Rounds::Exactly(runs.into()))
    }
}

/// The rows of a table.
#[derive(Clone, Copy, Debug, Parser)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct Rows {
    /// Print all rows, also those that are equal or zero
    #[arg(long, hide_short_help = true)]
    pub full: bool,
}

/// The form in which a comparison is printed.
#[derive(Clone, Copy, Debug, Parser)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct Shown {
    #[command(flatten)]
    pub rows: Rows,
    /// Form of the figures
    ///
    /// The entry format of page tables is a field of scenarios: format=.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Table,
        hide_short_help = true, conflicts_with_all = ["json", "csv"])]
    pub format: Form,
}

/// A form in which a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A table
    Table,
    /// A list for mails, ASCII text of at most 72 columns
    List,
    /// Bars and curves as wide as the terminal
    Picture,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct Output {
    /// Print the records as JSON (docs/records.md)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print the records as CSV, one line for each value
    #[arg(long, hide_short_help = true)]
    pub csv: bool,
    /// Write to a file, which appears when complete
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub output: Option<PathBuf>,
    /// Also write a page with charts (docs/report.md)
    ///
    /// It is one HTML file, and needs no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Output {
    /// Columns of characters that lines of text may take.
    pub(crate) fn columns(&self) -> usize {
        if self.output.is_some() { terminal::COLUMNS } else { terminal::columns() }
    }

    /// Returns true if text for people is asked for, not records.
    pub(crate) const fn is_text(&self) -> bool {
        !self.json && !self.csv
    }

    /// Returns the files that are written.
    pub(crate) fn paths(&self) -> [Option<&Path>; 2] {
        [self.output.as_deref(), self.html.as_deref()]
    }
}

fn ground(name: &str) -> Result<Ground, String> {
    match name {
        "host" => Ok(Ground::Host),
        "model" => Ok(Ground::Model),
        "linux" => Err("real kernels have commands of their own, see `pageout lab --help`; \
            accepted: host or model"
            .to_owned()),
        _ => Err(UnknownName::new("ground", name, ["host", "model"]).to_string()),
    }
}
