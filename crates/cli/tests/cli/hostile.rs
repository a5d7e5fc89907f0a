//! Input and arguments that are meant to do harm, or have come to: reads without end, terminal
//! escapes, outputs over inputs.

use crate::common::{assert_refused, command, entries, refused, run, stderr};
use pageout_trace::{Ending, FilterShape, Header, TraceWriter};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};
use tempfile::tempdir;

const CLEARS_SCREEN: &str = "\u{1b}[2J\u{9b}1A\r\u{202e}";
const LOG: &str = " L 1000,8\n";

fn written(directory: &Path, name: &str, content: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, content).expect("a file");
    path.display().to_string()
}

fn has_no_escapes(output: &Output) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).expect("it is UTF-8");
        let obeyed = text.chars().find(|c| (c.is_control() || *c == '\u{202e}') && *c != '\n');
        assert_eq!(obeyed, None, "{text:?}");
    }
}

#[test]
fn a_trace_cannot_tell_the_terminal_what_to_do() {
    let directory = tempdir().expect("a directory");
    let header = Header {
        page_shift: 12,
        epoch_references: 100,
        filter: FilterShape::DEFAULT,
        mappings: false,
        sampled: false,
        command: vec![CLEARS_SCREEN.to_owned(), "x".to_owned()],
        architecture: CLEARS_SCREEN.to_owned(),
        tool: CLEARS_SCREEN.to_owned(),
    };
    let path = directory.path().join("a.pgt");
    let writer = TraceWriter::create(&path, &header).expect("begins");
    writer.commit(Ending::Unknown).expect("ends");
    let shown = run(&format!("trace info {}", path.display()));
    assert_eq!(shown.status.code(), Some(0));
    has_no_escapes(&shown);
    assert!(String::from_utf8_lossy(&shown.stdout).contains(r"\u{1b}[2J\u{9b}1A\r\u{202e} x"));
}

#[test]
fn arguments_cannot_either() {
    let arguments: [&[&str]; 4] = [&["run"], &["compare", "age-file"], &["trace", "info"], &[]];
    for before in arguments {
        let told = command("").args(before).arg(CLEARS_SCREEN).output().expect("it runs");
        assert_refused(&told, &[r"\u{9b}1A\r"]);
        has_no_escapes(&told);
    }
}

#[test]
fn what_has_no_end_is_read_up_to_a_limit() {
    let directory = tempdir().expect("a directory");
    let link = directory.path().join("records.json");
    symlink("/dev/zero", &link).expect("a link");
    refused(&format!("compare {}", link.display()), &["records.json", "256 MiB"]);
    refused("run reclaim-file --ground model --platform /dev/zero", &["/dev/zero", "1 MiB"]);
    let trace = directory.path().join("a.pgt");
    let import = format!("trace import --output {} /dev/zero", trace.display());
    refused(&import, &["/dev/zero", "16 MiB"]);
    let building = format!("--cache {} --tree /", directory.path().join("cache").display());
    refused(&format!("lab build {building} --patch /dev/zero"), &["/dev/zero", "64 MiB"]);
    refused(&format!("lab lru-gen {building} /dev/zero"), &["/dev/zero"]);
    assert_eq!(entries(directory.path()), ["records.json"]);
}

#[test]
fn an_output_is_no_input_and_no_other_output() {
    let directory = tempdir().expect("a directory");
    let log = written(directory.path(), "a.log", LOG);
    let linked = directory.path().join("link");
    symlink(&log, &linked).expect("a link");
    for output in [&log, &linked.display().to_string()] {
        refused(&format!("trace import --output {output} {log}"), &[output, "is an input"]);
    }
    assert_eq!(fs::read_to_string(&log).expect("it is there"), LOG);
    let one = directory.path().join("one").display().to_string();
    let same = format!("{}/./one", directory.path().display());
    let model = "run reclaim-file size=4MiB order=0 format=x86-64 --ground model";
    refused(&format!("{model} --folded {one} --output {same}"), &["another output"]);
    let platform = written(directory.path(), "p.toml", "");
    refused(&format!("calibrate --like {platform} --output {platform}"), &["p.toml"]);
    let trace = directory.path().join("a.pgt").display().to_string();
    assert!(run(&format!("trace import --output {trace} {log}")).status.success());
    refused(&format!("run trace --trace {trace} --output {trace}"), &[&trace, "is an input"]);
    let records = written(directory.path(), "r.json", "{}");
    refused(&format!("compare {records} --output {records}"), &[&records, "is an input"]);
    assert_eq!(entries(directory.path()), ["a.log", "a.pgt", "link", "p.toml", "r.json"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let directory = tempdir().expect("a directory");
    let log = written(directory.path(), "a.log", LOG);
    for mode in [0o600, 0o640, 0o444] {
        let trace = written(directory.path(), &format!("{mode:o}.pgt"), "old");
        fs::set_permissions(&trace, Permissions::from_mode(mode)).expect("it is ours");
        assert!(run(&format!("trace import --output {trace} {log}")).status.success());
        let metadata = fs::metadata(&trace).expect("it is there");
        assert_eq!(metadata.permissions().mode() & 0o777, mode);
        assert!(metadata.len() > 3);
    }
}

#[test]
fn links_to_nothing_and_directories_are_refused_before_the_work() {
    let directory = tempdir().expect("a directory");
    let link = directory.path().join("link");
    symlink(directory.path().join("nothing"), &link).expect("a link");
    let link = link.display().to_string();
    let new = directory.path().join("new").display().to_string();
    let ways = [(link, "symbolic link"), (format!("{new}/"), "file"), (format!("{new}/."), "file")];
    for (output, problem) in ways {
        for words in ["run nonsense --output", "trace record --output"] {
            let words = words.replace("nonsense", "age-file");
            let tail = if words.starts_with("trace") { "-- true" } else { "" };
            refused(&format!("{words} {output} {tail}"), &[&output, problem]);
        }
    }
    assert_eq!(entries(directory.path()), ["link"]);
}

#[test]
fn a_full_device_gives_a_status_and_no_panic() {
    let full = || File::options().write(true).open("/dev/full").expect("Linux has it");
    for words in ["run nonsense", "run", "trace info none"] {
        let status = command(words).stderr(full()).status().expect("it runs");
        assert_eq!(status.code(), Some(2), "{words}");
    }
    for words in ["--help", "--version", "lab --help", "trace info", "completions bash"] {
        let output = command(words).stdout(full()).stderr(Stdio::piped()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).starts_with("error: cannot write to standard output"), "{words}");
    }
}
