//! Project tasks: `cargo xtask test`, `tidy`, `asm` and `lab`.

#![forbid(unsafe_code)]

mod api;
mod asm;
mod cmd;
mod dist;
mod header;
mod lab;
mod licences;
mod package;
mod pages;
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
        /// Run these steps alone, in the order of the whole run.
        steps: Vec<suite::Step>,
    },
    /// Hold the house style: sizes, unsafe code, dependency walls, words.
    Tidy,
    /// Make the library that draws the charts of pages anew, of the packages locked in xtask/pages.
    Charts,
    /// List what embedders see of the crates, and compare it with the lists that are kept.
    Api {
        /// Store the lists as those that later runs are held against.
        #[arg(long)]
        update: bool,
    },
    /// Make the header for C anew.
    Header,
    /// Read the compiled young-bit helpers: atomics a loop holds, calls it makes.
    Asm,
    /// Build the program and the Python wheel as others get them, and try both.
    Dist,
    /// Run what is claimed of real kernels on real kernels: builds and boots, for most of an hour.
    Lab {
        /// Run these stages alone, in the order of the whole run.
        stages: Vec<lab::Stage>,
        /// Store the figures as those that later runs are held against.
        #[arg(long)]
        update: bool,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().task {
        Task::Test { steps } => suite::run(&steps),
        Task::Tidy => tidy::run(),
        Task::Charts => pages::charts(),
        Task::Lab { stages, update } => lab::run(&stages, update),
        Task::Api { update } => setup::miri().and_then(|()| api::run(update)),
        Task::Header => header::update(),
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
