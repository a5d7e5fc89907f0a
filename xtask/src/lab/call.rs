//! Calls of `pageout lab` whose records are kept: an interrupted run continues where it was.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use pageout_record::schema::{RecordFile, RecordSet};

use crate::cmd;

/// A call of `pageout`, and the name that its records are kept under.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) words: &'static str,
}

impl Call {
    pub(super) fn records(&self) -> Result<RecordSet> {
        records(self.name, self.words)
    }
}

/// Returns the folder of the kept records.
pub(super) fn results() -> PathBuf {
    cmd::root().join("target/lab")
}

/// Returns the path of the program.
fn binary() -> PathBuf {
    cmd::root().join("target/release/pageout")
}

/// Returns a command that runs the program with these arguments.
pub(super) fn pageout(words: &str) -> Command {
    let mut command = cmd::program(binary());
    command.args(words.split_whitespace());
    command
}

/// Returns the records of the program with these arguments, which are kept under `name`. It runs
/// the program only if no records of the same program and arguments are kept.
pub(super) fn records(name: &str, words: &str) -> Result<RecordSet> {
    let file = results().join(name).with_extension("json");
    let key_file = results().join(name).with_extension("key");
    let key = format!("{}\n{words}\n", program_key()?);
    if file.is_file() && fs::read_to_string(&key_file).is_ok_and(|kept| kept == key) {
        println!("kept from an earlier run: pageout {words}");
        return one(&file);
    }
    cmd::run(pageout(words).arg("--json").arg("--output").arg(&file))?;
    fs::write(&key_file, key).context("the key of the records")?;
    one(&file)
}

fn one(path: &Path) -> Result<RecordSet> {
    let mut sets = read(path)?.sets;
    sets.pop().filter(|_| sets.is_empty()).with_context(|| format!("{}: one run", path.display()))
}

pub(super) fn read(path: &Path) -> Result<RecordFile> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    RecordFile::from_json(&text).with_context(|| path.display().to_string())
}

/// Returns a name for the program that its content determines.
fn program_key() -> Result<&'static str> {
    static KEY: OnceLock<String> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(key);
    }
    let path = binary();
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(&path).with_context(|| path.display().to_string())?);
    Ok(KEY.get_or_init(|| format!("{:016x}", hasher.finish())))
}
