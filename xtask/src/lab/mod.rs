//! `cargo xtask lab`: the project's claims about real kernels, tested on real kernels.
//!
//! Tests that end in minutes belong to `cargo xtask test`; this task takes more than an hour the
//! first time. Measurements of an earlier run of the same program are kept and not repeated.

mod call;
mod checks;
mod engine;
mod figures;
mod report;
mod workloads;

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{cmd, setup};
use call::{pageout, results};

/// A part of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// Call the young helpers of every kernel at random.
    Helpers,
    /// See that a wrong helper is caught.
    Mistake,
    /// Reclaim mixed mappings on every kernel.
    Mixed,
    /// Run the kernel selftest.
    Selftest,
    /// Count what the kernel does beside what the engine does.
    Engine,
    /// Count the instructions of every situation.
    Figures,
    /// Run every workload on both releases and both architectures.
    Workloads,
}

/// Builds and boots for the given stages, or for all; with `update`, the figures are stored.
pub(crate) fn run(chosen: &[Stage], update: bool) -> Result<()> {
    let since = Instant::now();
    setup::lab()?;
    cmd::run(&mut cmd::cargo(&["build", "--release"]))?;
    // Debian 12 has no package of this source.
    if !setup::has_linux_7_3() {
        cmd::run(&mut pageout("lab source --kernel 7.3"))?;
    }
    fs::create_dir_all(results()).context("a place for the records")?;
    let stages = Stage::value_variants().iter();
    for stage in stages.filter(|stage| chosen.is_empty() || chosen.contains(stage)) {
        match stage {
            Stage::Helpers => checks::helpers()?,
            Stage::Mistake => checks::mistake()?,
            Stage::Mixed => checks::mixed_mappings()?,
            Stage::Selftest => checks::selftest()?,
            Stage::Engine => engine::beside()?,
            Stage::Figures => figures::run(update)?,
            Stage::Workloads => workloads::run(update)?,
        }
    }
    println!(
        "\nrecords are in {}; all took {} min",
        results().display(),
        since.elapsed().as_secs() / 60
    );
    Ok(())
}
