//! Files that are none, damaged or not to be written: exit status 2 and one message that says what,
//! where, and what is accepted. Mistakes on the command line are in `mistakes`.

use crate::common::{SAMPLE, assert_refused, command, entries, refused, run_with_input};
use std::path::Path;
use tempfile::tempdir;

/// Checks that every command that reads a trace refuses the file at `path`, with its name and the
/// reason.
fn refused_trace(path: &Path, parts: &[&str]) {
    for words in ["trace info", "run trace --trace", "compare trace --trace", "compare --trace"] {
        let output = command(words).arg(path).output().expect("it runs");
        assert_refused(&output, parts);
        assert_refused(&output, &[&path.display().to_string()]);
    }
}

#[test]
fn traces_that_are_none() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("bad.pgt");
    refused_trace(&path, &["No such file", "sqlite-orders"]);
    refused_trace(directory.path(), &["not a regular file"]);
    for content in ["", "I  1000,4\n", "{\"schema\": \"pageout-record\"}"] {
        std::fs::write(&path, content).expect("a file");
        refused_trace(&path, &["not a page trace"]);
    }
    refused_trace(Path::new("/dev/zero"), &["not a regular file"]);
}

#[test]
fn traces_cut_short_or_damaged_at_any_place() {
    let directory = tempdir().expect("a directory");
    let sample = std::fs::read(SAMPLE).expect("the sample");
    let path = directory.path().join("bad.pgt");
    let end = sample.len();
    for cut in [1, 8, 9, 10, 11, 40, 1000, end / 2, end - 5, end - 4, end - 1] {
        std::fs::write(&path, &sample[..cut]).expect("a file");
        let output = command("run trace --trace").arg(&path).output().expect("it runs");
        assert_refused(&output, &["bad.pgt"]);
    }
    for damaged in [9, 12, 100, end / 3, end - 1] {
        let mut bytes = sample.clone();
        bytes[damaged] ^= 0x10;
        std::fs::write(&path, &bytes).expect("a file");
        let output = command("run trace --trace").arg(&path).output().expect("it runs");
        assert_refused(&output, &["bad.pgt"]);
    }
    let longer = [&sample[..], b"more"].concat();
    std::fs::write(&path, longer).expect("a file");
    refused_trace(&path, &["end"]);
}

#[test]
fn logs_that_are_none() {
    let directory = tempdir().expect("a directory");
    let output = directory.path().join("x.pgt");
    let import = format!("trace import --from lackey - --output {}", output.display());
    let imported = |log: &str| run_with_input(&import, log);
    assert_refused(&imported(""), &["standard input", "no reference", "--tool=lackey"]);
    assert_refused(&imported("==1== Lackey\n"), &["standard input", "no reference"]);
    let good = "I  1000,4\n".repeat(6);
    let bad = format!("{good} X 2000,4\n{good}");
    assert_refused(&imported(&bad), &["standard input", "line 7", "` X 2000,4`", "` L ADDRESS"]);
    assert_refused(&imported("\u{1b}[31m garbage"), &["line 1", "garbage"]);
    for (input, part) in [("missing", "No such file"), (".", "directory")] {
        let input = directory.path().join(input).display().to_string();
        let words = format!("trace import {input} --output {}", output.display());
        refused(&words, &[&input, part]);
    }
    assert_eq!(entries(directory.path()), Vec::<String>::new());
}

#[test]
fn outputs_that_cannot_be_written() {
    let directory = tempdir().expect("a directory");
    let here = directory.path().display().to_string();
    let file = directory.path().join("file");
    std::fs::write(&file, "kept").expect("a file");
    for (path, part) in [
        (here.clone(), "not a regular file"),
        (format!("{here}/missing/x"), "there is no directory"),
        (format!("{here}/file/x"), "Not a directory"),
        ("/dev/null".to_owned(), "not a regular file"),
    ] {
        for words in [
            "run age-file size=4MiB --runs 1 --json",
            "compare --runs 1",
            "bench young --runs 1",
            "trace record -- ls --epoch 1",
        ] {
            let (words, rest) = words.split_once(" -- ").unwrap_or((words, ""));
            let mut command = command(words);
            command.arg("--output").arg(&path);
            if !rest.is_empty() {
                command.arg("--").args(rest.split(' '));
            }
            let output = command.output().expect("it runs");
            assert_refused(&output, &[&path, part]);
        }
        let words = format!("trace import - --output {path}");
        assert_refused(&run_with_input(&words, "I  1000,4\n"), &[&path, part]);
    }
    assert_eq!(entries(directory.path()), ["file"]);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "kept");
}
