//! Runs the binary and judges how it ended.

use pageout_record::schema::{Record, RecordFile, RecordSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// The default sample trace that comes with the program, as a file.
pub(crate) const SAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/python-table.pgt");

/// The names of the samples that come with the program.
pub(crate) const SAMPLES: [&str; 3] = ["python-table", "sqlite-orders", "cc1plus-list"];

/// Returns the file of a sample.
pub(crate) fn sample_path(name: &str) -> String {
    format!("{}/../../samples/{name}.pgt", env!("CARGO_MANIFEST_DIR"))
}

/// A trace scenario that is quick: few agings of large folios.
pub(crate) const QUICK_TRACE: &str = "trace order=4 format=arm64-4k every=500";

/// Returns the binary's command with these arguments, and without a terminal.
pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pageout"));
    // Wide enough for every line of tables and messages; help is written for less.
    let columns = if words.contains("--help") { "100" } else { "500" };
    command.args(words.split_whitespace()).stdin(Stdio::null()).env("COLUMNS", columns);
    command
}

/// Runs the binary to its end.
pub(crate) fn run(words: &str) -> Output {
    command(words).output().expect("the binary runs")
}

/// Runs the binary with a text on standard input.
pub(crate) fn run_with_input(words: &str, input: &str) -> Output {
    let mut command = command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // A child that refuses its input early closes the pipe, which is its right.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the binary ends")
}

/// Returns the output. The command must succeed, and write nothing but progress to its standard
/// error.
pub(crate) fn stdout(words: &str) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    assert_eq!(besides_progress(&stderr(&output)), "", "{words}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Returns a standard error without the lines that only slow machines print: progress, every ten
/// seconds, and the duration of a sweep.
fn besides_progress(said: &str) -> String {
    let tells_how_far = |line: &str| {
        let works = [
            "measuring: ",
            "modelling: ",
            "moving prices: ",
            "replaying: ",
            "searching: ",
            "sweeping: ",
        ];
        works.iter().any(|work| line.starts_with(work)) && line.ends_with(" s")
    };
    let tells_time = |line: &str| line.starts_with("time: ");
    let others = said.lines().filter(|line| !tells_how_far(line) && !tells_time(line));
    others.map(|line| format!("{line}\n")).collect()
}

/// Returns the standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

/// Checks the outcome of bad input: exit status 2, no standard output, and one message with all
/// `parts`.
pub(crate) fn assert_refused(output: &Output, parts: &[&str]) {
    let message = besides_progress(&stderr(output));
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{message}");
    assert!(message.starts_with("error: "), "{message}");
    assert_eq!(message.matches("error: ").count(), 1, "{message}");
    assert!(!message.contains("panicked"), "{message}");
    // A line may end within what is looked for.
    let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(flat.contains(part), "no `{part}` in: {message}");
    }
}

/// Runs a command line, and checks it by [`assert_refused`].
pub(crate) fn refused(words: &str, parts: &[&str]) {
    assert_refused(&run(words), parts);
}

/// Returns the records that a command prints as JSON.
pub(crate) fn records(words: &str) -> RecordSet {
    read(&stdout(&format!("{words} --json")))
}

/// Reads the records of one run from a JSON text that a command wrote.
pub(crate) fn read(json: &str) -> RecordSet {
    let mut file = read_file(json);
    assert_eq!(file.sets.len(), 1, "one run");
    file.sets.remove(0)
}

/// Reads the records of several runs from a JSON text, which must conform to the public schema.
pub(crate) fn read_file(json: &str) -> RecordFile {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        let text = include_str!("../../../../docs/record.schema.json");
        let schema = serde_json::from_str(text).expect("the schema is JSON");
        jsonschema::validator_for(&schema).expect("the schema is one")
    });
    let value = serde_json::from_str(json).expect("what is written is JSON");
    if let Err(error) = SCHEMA.validate(&value) {
        panic!("at {}: {error}", error.instance_path());
    }
    RecordFile::from_json(json).expect("what is written can be read")
}

/// Returns a counted figure of a record.
pub(crate) fn counted(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    let metric = metric.unwrap_or_else(|| panic!("no metric {name} in {record:?}"));
    assert_eq!(metric.values.len(), 1, "{name} is counted once");
    metric.values[0]
}

/// Returns the names of a directory's entries, sorted.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().expect("a directory").map(|entry| {
        let name = entry.expect("an entry").file_name();
        name.to_string_lossy().into_owned()
    });
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}
