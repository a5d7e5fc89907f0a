//! `compare FILE.json…`: records that were written before.

use crate::common::{SAMPLE, assert_refused, command, read, refused, run, stderr, stdout};
use pageout_record::schema::{
    Basis, Better, Ground, Labels, Machine, Metric, Record, RecordFile, RecordSet, Run,
};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

/// Records of a kernel that reclaimed in `values` nanoseconds a page.
fn file(directory: &Path, name: &str, kernel: &str, cpu: &str, values: &str) -> PathBuf {
    let machine = Machine {
        cpu: cpu.to_owned(),
        arch: "aarch64".to_owned(),
        cores: 32,
        memory_mib: 65536,
        os: format!("Linux {kernel}"),
    };
    let values = values.split(", ").map(|value| value.parse().expect("a number")).collect();
    let (basis, better) = (Basis::Measured, Better::Lower);
    let labels = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect::<Labels>()
    };
    let record = Record {
        scenario: "reclaim-file".to_owned(),
        ground: Ground::Linux,
        seed: 0,
        fields: labels(&[("order", "4"), ("lru", "classic")]),
        variant: labels(&[("kernel", kernel)]),
        metrics: vec![Metric::new("reclaim", "ns/4K page", basis, better, values)],
    };
    let set = RecordSet::new(Run::new("measure.sh", None, machine), vec![record]);
    let path = directory.join(name);
    fs::write(&path, set.to_json().expect("a valid set")).expect("a file");
    path
}

/// Six files a kernel, with two samples each, as they were taken in turn.
fn twelve() -> (TempDir, String) {
    let directory = tempdir().expect("a directory");
    let file = |(name, kernel, time): (&str, &str, u32), round: u32| {
        let name = format!("{name}{round}.json");
        let values = format!("{}, {}", time + round, time + 2 * round);
        file(directory.path(), &name, kernel, "Example", &values).display().to_string()
    };
    let kernels = [("a", "6.12.0", 720), ("b", "6.12.0-mine", 480)];
    let paths = (0..6).flat_map(|round| kernels.map(|kernel| file(kernel, round)));
    let paths = paths.collect::<Vec<_>>().join(" ");
    (directory, paths)
}

#[test]
fn two_kernels_are_compared_in_the_pairs_in_which_they_ran() {
    let (directory, files) = twelve();
    let table = stdout(&format!("compare {files}"));
    let better = "6.12.0-mine: better than 6.12.0 by 33.2%";
    for part in [better, "484 [480, 488] against 724 [720, 728]", "6 pairs", "-33.2%*"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let json = stdout(&format!("compare {files} --json"));
    let merged = RecordFile::from_json(&json).expect("records");
    let values = merged.records().map(|record| &record.metrics[0].values[..]);
    let expected = [[720.0, 720.0], [480.0, 480.0], [721.0, 722.0]];
    assert_eq!(values.take(3).collect::<Vec<_>>(), expected, "each run is kept");
    assert_eq!(merged.sets.len(), 12);
    let merged = directory.path().join("merged.json");
    fs::write(&merged, json).expect("a file");
    assert_eq!(stdout(&format!("compare {}", merged.display())), table);
}

#[test]
fn the_base_can_be_chosen() {
    let (_directory, files) = twelve();
    let table = stdout(&format!("compare {files} --base kernel=6.12.0-mine"));
    assert!(table.contains("worse than 6.12.0-mine by 49."), "slower than the base:\n{table}");
    refused(&format!("compare {files} --base kernel=6.13"), &["kernel=6.13", "6.12.0-mine"]);
    refused(&format!("compare {files} --base kernel"), &["`kernel`", "AXIS=CHOICE"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let directory = tempdir().expect("a directory");
    let here = file(directory.path(), "here.json", "6.12.0", "Example", "1");
    let there = file(directory.path(), "there.json", "6.13.0", "Other", "1");
    let (here, there) = (here.display(), there.display());
    refused(
        &format!("compare {here} {there}"),
        &["here.json", "there.json", "Other", "--label NAME=FILE", "--pool"],
    );
    refused("compare absent.json", &["cannot read absent.json"]);
    refused(&format!("compare {here} --runs 3"), &["--runs", "measured already"]);
    let broken = directory.path().join("broken.json");
    fs::write(&broken, "{}").expect("a file");
    refused(&format!("compare {}", broken.display()), &["broken.json", "not a record file"]);
    let one = run(&format!("compare {here}"));
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
}

/// Writes the records of two kernels with these samples, a file each.
fn two(before: &str, after: &str) -> (TempDir, String) {
    let directory = tempdir().expect("a directory");
    let before = file(directory.path(), "a.json", "6.12.0", "Example", before);
    let after = file(directory.path(), "b.json", "6.12.0-mine", "Example", after);
    let files = format!("{} {}", before.display(), after.display());
    (directory, files)
}

const SIX: &str = "480, 485, 490, 481, 484, 488";
const SLOWER: &str = "724, 720, 731, 722, 728, 726";

/// Runs a comparison with these further words, and returns its status and standard error.
fn judged(files: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = command(&format!("compare {files}"));
    let output = command.args(words).output().expect("the binary runs");
    (output.status.code(), stderr(&output))
}

#[test]
fn the_status_says_what_came_of_conditions() {
    let (_directory, files) = two(SIX, SLOWER);
    let passed = judged(&files, &["--fail-on", "reclaim>60%"]);
    assert_eq!(passed, (Some(0), "reclaim>60%: not shown, in 1 of 1\n".to_owned()));
    let (status, told) = judged(&files, &["--fail-on", "reclaim>3%"]);
    assert_eq!(status, Some(1), "{told}");
    for part in ["reclaim>3%: failed", "6.12.0-mine (reclaim-file)", "worse by 49."] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    let (status, told) = judged(&files, &["--fail-on", "reclaim>90%", "--fail-on", "reclaim>3%"]);
    assert_eq!((status, told.lines().count()), (Some(1), 2), "a failure decides: {told}");
    let faster = judged(&files, &["--base", "kernel=6.12.0-mine", "--fail-on", "reclaim>0%"]);
    assert_eq!(faster.0, Some(0), "better is no failure: {}", faster.1);
}

/// A change may be large and not shown: nothing is claimed of it.
#[test]
fn a_large_change_that_is_not_shown_is_told_as_such() {
    let (_directory, files) = two("480, 900, 490, 481, 960, 488", "724, 480, 731, 722, 490, 726");
    let passed = judged(&files, &["--fail-on", "reclaim>3%"]);
    assert_eq!(passed, (Some(0), "reclaim>3%: not shown, in 1 of 1\n".to_owned()));
}

#[test]
fn too_few_runs_decide_nothing() {
    let (_directory, files) = two("480, 485, 490", "724, 720, 731");
    let (status, told) = judged(&files, &["--fail-on", "reclaim>3%"]);
    assert_eq!(status, Some(125), "{told}");
    assert!(told.contains("undecided") && told.contains("not enough runs"), "{told}");
    assert_eq!(judged(&files, &["--fail-on", "reclaim>3%", "--bisect"]).0, Some(125));
    assert_eq!(judged(&files, &[]).0, Some(0), "without a condition there is nothing to decide");
}

#[test]
fn a_bisection_is_stopped_by_errors_alone() {
    let (_directory, files) = two(SIX, SLOWER);
    assert_eq!(judged(&files, &["--fail-on", "reclaim>3%", "--bisect"]).0, Some(1));
    assert_eq!(judged(&files, &["--fail-on", "reclaim>60%", "--bisect"]).0, Some(0));
    let with_file = format!("{files} absent.json");
    for (files, words, part) in [
        (&files, &["--fail-on", "reclaim"][..], "METRIC>PERCENT%"),
        (&files, &["--fail-on", "reclaims>3%"], "did you mean `reclaim`?"),
        (&files, &["--fail-on", "reclaim>3%", "--frobnicate"], "--frobnicate"),
        (&files, &["--fail-on", "reclaim>3%", "--base", "kernel=9"], "kernel=9"),
        (&with_file, &["--fail-on", "reclaim>3%"], "absent.json"),
    ] {
        let (status, told) = judged(files, words);
        assert!(status == Some(2) && told.contains(part), "{status:?}: {told}");
        let (status, told) = judged(files, &[words, &["--bisect"]].concat());
        assert!(status == Some(128) && told.contains(part), "{status:?}: {told}");
    }
    let (status, told) = judged(&files, &["--bisect"]);
    assert!(status == Some(128) && told.contains("--fail-on"), "{status:?}: {told}");
    let main = command("compare --fail-on reclaim>3%").output().expect("the binary runs");
    assert_refused(&main, &["--fail-on", "main table"]);
}

#[test]
fn a_scenario_s_own_records_are_judged_too() {
    let words = "compare reclaim-file order=4 format=arm64-4k size=4MiB --ground model --cores 4 \
        --base young=batched --new young=per-entry --json --fail-on";
    for (condition, status) in [("whole reclaim>100000%", 0), ("young>1%", 1)] {
        let output = command(words).arg(condition).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(status), "{condition}: {}", stderr(&output));
        let set = read(&String::from_utf8(output.stdout).expect("JSON alone"));
        let tree = set.records[0].metrics.iter().find(|metric| !metric.activities.is_empty());
        let roots = &tree.expect("time by activity").activities;
        let reclaim = roots.iter().find(|task| task.name == "reclaim").expect("the task");
        let request = &reclaim.parts[0];
        assert_eq!(request.name, "memory.reclaim");
        assert!(request.parts.iter().any(|part| part.name == "unmap" && part.total() > 0.0));
    }
    let neither = command(words).arg("pages reclaimed>1%").output().expect("the binary runs");
    assert_eq!(neither.status.code(), Some(2), "{}", stderr(&neither));
    assert!(stderr(&neither).contains("neither direction"), "{}", stderr(&neither));
    let missing = command(words).arg("in notifiers>1%").output().expect("the binary runs");
    assert_eq!(missing.status.code(), Some(125), "no guests, no notifiers: {}", stderr(&missing));
    let unknown = command(words).arg("hole reclaim>1%").output().expect("the binary runs");
    assert_refused(
        &unknown,
        &["`hole reclaim`", "did you mean `whole reclaim`?", "pageout scenarios"],
    );
}

#[test]
fn broken_record_files_are_told_apart() {
    let directory = tempdir().expect("a directory");
    let path = file(directory.path(), "it.json", "6.12.0", "Example", "1, 2.5");
    let good = fs::read_to_string(&path).expect("the file");
    let told = |text: &str, parts: &[&str]| {
        fs::write(&path, text).expect("a file");
        for words in ["compare", "compare --json"] {
            refused(&format!("{words} {}", path.display()), &[&["it.json"], parts].concat());
        }
    };
    let cut = good.len() - 20;
    told(&good[..cut], &["ends at line", "a whole file is accepted"]);
    told(&good[..40], &["ends at line 3", "a whole file is accepted"]);
    let old = good.replace("\"version\": 2", "\"version\": 1");
    told(&old, &["version is 1", "2 is accepted"]);
    told(&good.replace("\"version\": 2", "\"version\": 3"), &["version is 3", "2 is accepted"]);
    let unknown = good.replace("\"better\":", "\"colour\": \"red\", \"better\":");
    let place = "sets[0].records[0].metrics[0].colour (metric \"reclaim\")";
    told(&unknown, &[place, "unknown field `colour`", "expected one of `name`"]);
}

#[test]
fn a_run_is_accepted_once() {
    let (directory, files) = two(SIX, SLOWER);
    let (before, _) = files.split_once(' ').expect("two files");
    let once = ["each run is accepted once"];
    refused(
        &format!("compare {before} {before}"),
        &[&["a.json is named twice"], &once[..]].concat(),
    );
    let copy = directory.path().join("copy.json");
    fs::copy(before, &copy).expect("a copy");
    let copies = format!("compare {before} {}", copy.display());
    refused(&copies, &[&["a.json and", "copy.json hold the same run"], &once[..]].concat());
    let merged = directory.path().join("merged.json");
    stdout(&format!("compare {files} --json --output {}", merged.display()));
    let again = format!("compare {} {}", merged.display(), copy.display());
    refused(&again, &[&["merged.json and", "hold the same run"], &once[..]].concat());
}

/// A file of another kind is named, with the command that reads it.
#[test]
fn files_that_are_no_records_are_named_for_what_they_are() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("a.json");
    for (content, parts) in [
        (fs::read(SAMPLE).expect("a sample"), ["a page trace", "trace info"]),
        (b"\x1f\x8b\x08\0\0\0\0\0".to_vec(), ["gzip-compressed data", "gzip -dc"]),
        (b" L 1000,8\n".to_vec(), ["a lackey log", "trace import --from lackey"]),
        ("\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect(), ["UTF-16", "iconv"]),
    ] {
        fs::write(&path, content).expect("a file");
        refused(&format!("compare {}", path.display()), &["a.json: found", parts[0], parts[1]]);
    }
}
