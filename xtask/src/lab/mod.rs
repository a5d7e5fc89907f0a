//! `cargo xtask lab`: what the project claims of real kernels, run on real kernels.
//!
//! Tests that end in minutes belong to `cargo xtask test`; this takes the better part of an hour.

mod checks;
mod engine;
mod figures;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use pageout_record::schema::RecordSet;

use crate::{cmd, setup};

/// One call of `pageout lab`, and the name its records are kept under.
struct Call {
    name: &'static str,
    words: &'static str,
}

/// One part of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// Call the young helpers of every kernel at random.
    Helpers,
    /// See that a wrong helper is caught.
    Mistake,
    /// Reclaim mixed mappings on every kernel.
    Mixed,
    /// Count what the kernel does beside what the engine does.
    Engine,
    /// Count the instructions of every situation.
    Figures,
}

/// Builds and boots for the given stages, or for all; with `update`, the figures are stored.
pub(crate) fn run(chosen: &[Stage], update: bool) -> Result<()> {
    let since = Instant::now();
    setup::lab()?;
    cmd::run(&mut cmd::cargo(&["build", "--release"]))?;
    fs::create_dir_all(results()).context("a place for the records")?;
    let stages = Stage::value_variants().iter();
    for stage in stages.filter(|stage| chosen.is_empty() || chosen.contains(stage)) {
        match stage {
            Stage::Helpers => checks::helpers()?,
            Stage::Mistake => checks::mistake()?,
            Stage::Mixed => checks::mixed_mappings()?,
            Stage::Engine => engine::beside()?,
            Stage::Figures => figures::run(update)?,
        }
    }
    println!(
        "\nrecords are in {}; all took {} min",
        results().display(),
        since.elapsed().as_secs() / 60
    );
    Ok(())
}

/// Where the records of the calls are kept.
fn results() -> PathBuf {
    cmd::root().join("target/lab")
}

/// The program, with words of arguments.
fn pageout(words: &str) -> Command {
    let mut command = cmd::program(cmd::root().join("target/release/pageout"));
    command.args(words.split_whitespace());
    command
}

impl Call {
    fn records(&self) -> Result<RecordSet> {
        records(self.name, self.words)
    }
}

/// Runs the program with words of arguments and reads its records, which are kept under `name`.
fn records(name: &str, words: &str) -> Result<RecordSet> {
    let file = results().join(name).with_extension("json");
    cmd::run(pageout(words).arg("--json").arg("--output").arg(&file))?;
    read(&file)
}

fn read(path: &Path) -> Result<RecordSet> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    RecordSet::from_json(&text).with_context(|| path.display().to_string())
}

/// Prints a stage's title.
fn begin(title: &str) {
    println!("\n== {title}");
}

/// Fails with all that was found, if anything was.
fn none(found: &[String], what: &str) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    bail!("{what}:\n  {}", found.join("\n  "))
}
