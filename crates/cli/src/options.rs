//! Options that several commands have.

use clap::{Parser, ValueEnum};
use pageout_experiment::rounds::Rounds;
use pageout_record::schema::Ground;
use std::path::{Path, PathBuf};

#[derive(Debug, Parser)]
pub(crate) struct Common {
    /// Where it runs: host, or model, a machine with prices (docs/model.md). Linux is `pageout
    /// lab`; guest is not implemented yet
    #[arg(long, default_value = "host", value_parser = ground)]
    pub ground: Ground,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// The trace of scenario trace: a sample's name (see `pageout trace info`) or a file
    /// [default: python-table]
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub output: Output,
}

impl Common {
    /// The files that are read.
    pub(crate) fn inputs(&self) -> [Option<&Path>; 2] {
        [self.trace.as_deref(), self.machine.platform.as_deref().map(Path::new)]
    }
}

/// The machine of ground model.
#[derive(Debug, Parser)]
pub(crate) struct MachineArgs {
    /// On ground model, the machine: a platform's name or a file (docs/platforms.md) [default: the
    /// server class of the format's architecture]
    #[arg(long, value_name = "NAME|FILE")]
    pub platform: Option<String>,
    /// On ground model, the machine's cores [default: as the platform has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Option<u16>,
    /// On ground model, draw every price from its range so many times, and tell where nine of ten
    /// results lie
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub draws: Option<u32>,
}

#[derive(Debug, Parser)]
pub(crate) struct Measuring {
    /// Rounds, each with one sample a variant [default: 9 to 15 as fit in 30 seconds, fewer without
    /// a command, for the main table and bench scale; on ground model 1, each with a seed of its
    /// own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: Option<u16>,
    /// Seed of everything chosen at random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Measuring {
    /// As many as asked for, or `default`.
    pub(crate) fn rounds_or(&self, default: Rounds) -> Rounds {
        self.runs.map_or(default, |runs| Rounds::Exactly(runs.into()))
    }
}

/// Which rows a table has.
#[derive(Clone, Copy, Debug, Parser)]
pub(crate) struct Rows {
    /// Print every row, those too that are the same under every variant, or zero under the only one
    #[arg(long)]
    pub full: bool,
}

/// How what is compared is printed.
#[derive(Clone, Copy, Debug, Parser)]
pub(crate) struct Shown {
    #[command(flatten)]
    pub rows: Rows,
    /// How figures are printed: as a table; as a list for mails, ASCII text of at most 72 columns;
    /// or as a picture in the width of the terminal or of COLUMNS (the entry format of page tables
    /// is a scenario's field: format=)
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Table,
        conflicts_with_all = ["json", "csv"])]
    pub format: Form,
}

/// A form of what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    List,
    Picture,
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
    /// Besides, write a page to look at: one HTML file that needs no network (docs/report.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Output {
    /// The files that are written.
    pub(crate) fn paths(&self) -> [Option<&Path>; 2] {
        [self.output.as_deref(), self.html.as_deref()]
    }
}

fn ground(name: &str) -> Result<Ground, String> {
    match name {
        "host" => Ok(Ground::Host),
        "model" => Ok(Ground::Model),
        "linux" => Err("it has scenarios and kernels of its own, see `pageout lab --help`; \
            expected host or model"
            .to_owned()),
        "guest" => Err("it is not implemented yet; expected host or model".to_owned()),
        _ => Err("expected host or model".to_owned()),
    }
}
