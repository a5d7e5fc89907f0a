//! Input and arguments that are meant to do harm, or have come to: reads without end, terminal
//! escapes, outputs over inputs.

use crate::common::{assert_refused, command, entries, refused, run, sample_path, stderr};
use pageout_machine::platform::Platform;
use pageout_trace::{Ending, Event, FilterShape, Header, Page, TraceWriter};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::tempdir;

const CLEARS_SCREEN: &str = "\u{1b}[2J\u{9b}1A\r\u{202e}";
const FORGES_A_LINE: &str = "a\nforged: b\n";
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
    let path = directory.path().join("a.pgt");
    let writer = TraceWriter::create(&path, &header(CLEARS_SCREEN)).expect("begins");
    writer.commit(Ending::Unknown).expect("ends");
    let shown = run(&format!("trace info {}", path.display()));
    assert_eq!(shown.status.code(), Some(0));
    has_no_escapes(&shown);
    assert!(String::from_utf8_lossy(&shown.stdout).contains(r"\u{1b}[2J\u{9b}1A\r\u{202e} x"));
}

/// Makes a header whose texts are all this one.
fn header(text: &str) -> Header {
    Header {
        page_shift: 12,
        epoch_references: 1,
        filter: FilterShape::EVERY_PAGE,
        mappings: false,
        sampled: false,
        command: vec![text.to_owned(), "x".to_owned()],
        architecture: text.to_owned(),
        tool: text.to_owned(),
    }
}

#[test]
fn texts_and_names_end_no_line() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    let writer = TraceWriter::create(&path, &header(FORGES_A_LINE)).expect("begins");
    writer.commit(Ending::Unknown).expect("ends");
    let shown = run(&format!("trace info {}", path.display()));
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains(r"command         a\nforged: b\n x"), "{text}");
    assert!(text.contains(r"by a\nforged: b\n, on a\nforged: b\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("forged")).count(), 0, "{text}");

    let place = directory.path();
    let forged = place.join(FORGES_A_LINE);
    let commands: [&[&str]; 8] = [
        &["trace", "info"],
        &["trace", "curve"],
        &["run", "trace", "--trace"],
        &["compare"],
        &["report", "--output", "/dev/null"],
        &["run", "reclaim-file", "--ground", "model", "--platform"],
        &["sweep", "status", "--dir"],
        &["trace", "import", "--output", "/nonexistent/a.pgt"],
    ];
    for there in [false, true] {
        for before in commands {
            let told = command("").args(before).arg(&forged).output().expect("it runs");
            assert_refused(&told, &[]);
            assert_eq!(stderr(&told).matches("\nforged").count(), 0, "{}", stderr(&told));
        }
        if !there {
            fs::write(&forged, "").expect("a file");
        }
    }
}

#[test]
fn names_that_records_refuse_are_refused_before_the_work() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("a\u{1b}.pgt");
    fs::copy(sample_path("cc1plus-list"), &path).expect("a copy");
    for before in [&["trace", "curve"][..], &["run", "trace", "limit=50%", "--trace"]] {
        let told = command("").args(before).arg(&path).output().expect("it runs");
        assert_refused(&told, &[r"a\u{1b}.pgt", "the file's name has characters that act on"]);
        has_no_escapes(&told);
    }
    let file = directory.path().join("mine.toml");
    let shipped = Platform::file("x86-server-class").expect("it comes with the program");
    let named = shipped.replacen("name = \"", "name = \"\\u001b", 1);
    assert_ne!(named, shipped);
    fs::write(&file, named).expect("a file");
    let words = format!("run reclaim-file --ground model --platform {}", file.display());
    refused(&words, &["mine.toml: `name`: found characters that act on"]);
}

/// Runs the binary in `mib` MiB of address space.
fn within(mib: u64, words: &str) -> Output {
    let mut shell = Command::new("sh");
    let limit = format!("ulimit -v {}; exec \"$0\" \"$@\"", mib << 10);
    shell.args(["-c", &limit, env!("CARGO_BIN_EXE_pageout")]).args(words.split_whitespace());
    shell.env("COLUMNS", "500").output().expect("it runs")
}

#[test]
fn memory_that_is_not_there_is_one_message() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    let mut writer = TraceWriter::create(&path, &header("")).expect("begins");
    for number in 0..1_000_000 {
        let page = Page::new(number).expect("a page");
        writer.write(&Event::Access { page, store: true, after: 0 }).expect("an access");
        writer.write(&Event::EpochEnd { references: 1 }).expect("an end");
    }
    writer.commit(Ending::Unknown).expect("ends");
    let trace = path.display();
    let (reading, replaying) = ("needs more memory than the ", "a replay needs ");
    let all = [
        (format!("trace curve {trace} --policy lru,min --limit 50%"), reading),
        (format!("trace export {trace} --output {trace}.oracleGeneral"), reading),
        (format!("run trace --trace {trace}"), reading),
        (format!("trace curve {trace} --limit 50%"), replaying),
        (format!("run trace limit=100% --ground model --trace {trace}"), replaying),
        ("run reclaim-file order=4 size=16GiB".to_owned(), "MiB are available"),
    ];
    // How much the program itself takes depends on how it was built.
    let limits = || (64..400).step_by(8);
    for (words, part) in all {
        let refused = limits()
            .map(|mib| within(mib, &words))
            .find(|told| told.status.code() == Some(0) || stderr(told).contains(part));
        let told = refused.unwrap_or_else(|| panic!("{words}: no limit gives `{part}`"));
        assert_refused(&told, &[part, "(`ulimit -v` counts)"]);
        assert_eq!(stderr(&told).lines().count(), 1, "{words}: {}", stderr(&told));
    }
    let done = within(400, &format!("trace curve {trace} --policy lru,min --limit 50%"));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
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
    refused(&import, &["/dev/zero", "--from (lackey, perf-script"]);
    refused(&format!("{import} --from lackey"), &["/dev/zero", "16 MiB"]);
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
