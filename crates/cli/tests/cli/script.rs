//! The script for real machines: linted, and run as far as a machine without root can.

use crate::common::stdout;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

/// Writes the printed script into its own directory.
fn script() -> TempDir {
    let directory = tempdir().expect("a directory");
    fs::write(directory.path().join("measure.sh"), stdout("lab script")).expect("a file");
    directory
}

fn run(directory: &Path, words: &str) -> Output {
    let mut command = Command::new("sh");
    command.arg("measure.sh").args(words.split_whitespace());
    command.current_dir(directory).output().expect("a shell runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_shell_linter_finds_nothing() {
    let directory = script();
    let mut command = Command::new("shellcheck");
    let found = command.arg(directory.path().join("measure.sh")).output();
    let found = found.expect("shellcheck runs; `cargo xtask test setup` installs it");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
}

#[test]
fn a_dry_run_compiles_the_benchmark_and_leaves_nothing() {
    let directory = script();
    let done = run(directory.path(), "--dry-run --kernel mine");
    let told = said(&done);
    assert_eq!(done.status.code(), Some(0), "{told}");
    for part in ["the benchmark compiles", "would measure reclaim-file", "kernel=mine"] {
        assert!(told.contains(part), "no `{part}` in: {told}");
    }
    assert!(done.stdout.is_empty(), "records alone go there");
    let left = directory.path().read_dir().expect("a directory").count();
    assert_eq!(left, 1, "the script alone");
}

#[test]
fn bad_arguments_are_refused_before_anything_is_done() {
    let directory = script();
    for (words, part) in [
        ("--frobnicate", "unknown option --frobnicate"),
        ("--runs 0", "a number from 1"),
        ("--runs", "--runs needs a value"),
        ("--kernel a\"b", "letters, digits"),
        ("--dir /no/such/place", "no such directory"),
    ] {
        let done = run(directory.path(), words);
        assert_eq!(done.status.code(), Some(2), "{words}");
        assert!(said(&done).contains(part), "{words}: {}", said(&done));
    }
    let help = run(directory.path(), "--help");
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("--dry-run"));
}
