//! Project tasks: `cargo xtask test`, `tidy`, `asm` and `lab`.

#![forbid(unsafe_code)]

mod api;
mod asm;
mod book;
mod cmd;
mod counts;
mod dist;
mod gallery;
mod header;
mod kernel;
mod lab;
mod licences;
mod package;
mod pages;
mod pictures;
mod python;
mod setup;
mod suite;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing, then run every test of the project, in order.
    Test {
        /// Run only these steps, in the order of the whole run.
        steps: Vec<suite::Step>,
    },
    /// Hold the house style: sizes, unsafe code, dependency walls, words.
    Tidy,
    /// Build the library that draws the charts of pages, from the packages locked in xtask/pages.
    Charts,
    /// Make the documentation one folder of HTML with search, that needs no network.
    Book,
    /// Make the pages of real runs that the book shows, in a folder of their own.
    Gallery,
    /// Draw the pictures of the documentation from what the program prints, into docs/pictures.
    Pictures,
    /// List the public items of the embedded crates, and compare the lists with the stored ones.
    Api {
        /// Store the lists, for later runs to compare with.
        #[arg(long)]
        update: bool,
    },
    /// Generate the header for C.
    Header,
    /// Read the machine code of the young-bit helpers: atomics in a loop, and calls.
    Asm,
    /// Count the engine's instructions on bare arm64, and compare them with the stored figures.
    Counts {
        /// Store the figures, for later runs to compare with.
        #[arg(long)]
        update: bool,
    },
    /// Build the program and the Python wheel as they are distributed, and test both.
    Dist,
    /// Test the claims about real kernels on real kernels: builds and boots, for most of an hour.
    Lab {
        /// Run only these stages, in the order of the whole run.
        stages: Vec<lab::Stage>,
        /// Store the figures, for later runs to compare with.
        #[arg(long)]
        update: bool,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().task {
        Task::Test { steps } => suite::run(&steps),
        Task::Tidy => tidy::run(),
        Task::Charts => pages::charts(),
        Task::Book => book::run().map(drop),
        Task::Gallery => gallery::run(),
        Task::Pictures => pictures::run(),
        Task::Lab { stages, update } => lab::run(&stages, update),
        Task::Api { update } => setup::miri().and_then(|()| api::run(update)),
        Task::Header => header::update(),
        Task::Counts { update } => counts::run(update),
        Task::Dist => dist::run(),
        Task::Asm => setup::targets().and_then(|()| asm::run()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
