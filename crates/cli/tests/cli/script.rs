//! The script for real machines: linted, and run as far as a machine without root can.

use crate::common::{command, stdout};
use crate::workload::WORKLOAD;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

/// Writes the script that `pageout lab WORDS` prints into its own directory.
fn script(words: &str) -> TempDir {
    let directory = tempdir().expect("a directory");
    let text = stdout(&format!("lab {words}"));
    fs::write(directory.path().join("measure.sh"), text).expect("a file");
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
    for words in ["script", "script swap-anon"] {
        let directory = script(words);
        let mut command = Command::new("shellcheck");
        let found = command.arg(directory.path().join("measure.sh")).output();
        let found = found.expect("shellcheck runs; `cargo xtask test setup` installs it");
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
    }
}

#[test]
fn a_dry_run_compiles_the_benchmark_and_leaves_nothing() {
    let directory = script("script");
    let done = run(directory.path(), "--dry-run --kernel mine");
    let told = said(&done);
    assert_eq!(done.status.code(), Some(0), "{told}");
    for part in ["the program compiles", "would measure reclaim-file", "kernel=mine"] {
        assert!(told.contains(part), "no `{part}` in: {told}");
    }
    assert!(done.stdout.is_empty(), "records alone go there");
    let left = directory.path().read_dir().expect("a directory").count();
    assert_eq!(left, 1, "the script alone");
}

#[test]
fn the_help_fits_80_columns() {
    for words in ["script", "script swap-anon", "script access-patterns"] {
        let directory = script(words);
        let done = run(directory.path(), "--help");
        let help = String::from_utf8(done.stdout).expect("help is UTF-8");
        assert!(help.contains("--dry-run"), "{words}: {help}");
        let widest = help.lines().max_by_key(|line| line.chars().count()).expect("a line");
        assert!(widest.chars().count() <= 80, "{words}: {widest}");
    }
}

#[test]
fn bad_arguments_are_refused_before_anything_is_done() {
    let directory = script("script");
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

#[test]
fn a_workload_is_inside_where_one_is_named() {
    let directory = script("script fork-copy");
    let done = run(directory.path(), "--dry-run --kernel mine order=0");
    let told = said(&done);
    assert_eq!(done.status.code(), Some(0), "{told}");
    for part in ["the program compiles", "would measure fork-copy order=0 as kernel=mine"] {
        assert!(told.contains(part), "no `{part}` in: {told}");
    }
    let help = run(directory.path(), "--help");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for part in ["[FIELD=VALUE]...", "workload fork-copy. A process forks", "  order=4\n"] {
        assert!(help.contains(part), "no `{part}` in: {help}");
    }
}

#[test]
fn a_workload_of_the_users_is_inside_and_takes_its_fields() {
    let directory = tempdir().expect("a directory");
    let file = directory.path().join("touch.c");
    let body = "void workload(void)\n{\n\twhile (lab_sample()) {\n\t\tlab_begin(\"reclaim\");\n\
        \t\tlab_end(\"reclaim\", lab_size(\"order\") / 4096);\n\
        \t\tlab_count(\"faults\", 1);\n\t}\n}\n";
    fs::write(&file, format!("{WORKLOAD}{body}")).expect("a file");
    let script = script(&format!("script --workload {}", file.display()));
    // What needs root is left out: the program inside is unpacked, compiled and run.
    let text = fs::read_to_string(script.path().join("measure.sh")).expect("the script");
    let from = text.find("unpack() {").expect("a function");
    let to = text.find("\n# One scenario").expect("the next function");
    let run = "unpack && find . -name '*.c' -exec cc -std=gnu11 -I pageout-lab -o program {} + && \
        ./program first-touch order=8MiB kernel=mine clock=time runs=2";
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(format!("{}\n{run}", &text[from..to])).current_dir(script.path());
    let output = shell.output().expect("a shell runs");
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let record = printed.lines().find_map(|line| line.strip_prefix("record ")).expect("a record");
    for part in ["\"order\":\"8MiB\"", "ns/4K page", "\"measured\"", "\"mine\""] {
        assert!(record.contains(part), "no `{part}` in: {record}");
    }
}

#[test]
fn a_name_of_no_workload_is_refused_with_the_nearest() {
    for (words, parts) in [
        ("lab script swap-anom", &["`swap-anom`", "swap-anon"][..]),
        ("lab script swap-anon --workload x.c", &["--workload", "swap-anon"]),
        ("lab script --workload /no/such/file.c", &["/no/such/file.c"]),
    ] {
        let output = command(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words}");
        let told = said(&output);
        for part in parts {
            assert!(told.contains(part), "no `{part}` in: {told}");
        }
    }
}

#[test]
fn a_workload_that_is_a_script_is_inside_with_its_files() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/page-cache");
    let directory = script(&format!("script --workload {workload}"));
    let done = run(directory.path(), "--dry-run --kernel mine size=8MiB");
    let told = said(&done);
    assert_eq!(done.status.code(), Some(0), "{told}");
    for part in ["the program compiles", "would measure page-cache size=8MiB as kernel=mine"] {
        assert!(told.contains(part), "no `{part}` in: {told}");
    }
}
