//! `compare --label`: before and after of one variant, in runs that took turns, and bisection.

use crate::common::{assert_refused, command, refused, stderr, stdout};
use pageout_record::schema::{
    Basis, Better, Ground, Labels, Machine, Metric, Record, RecordSet, Run,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

const METRIC: &str = "whole reclaim";

/// Records of a run of a build, of one variant, that took these nanoseconds a page.
fn run_of(commit: &str, young: &str, values: &[f64]) -> RecordSet {
    let machine = Machine {
        cpu: "Example".to_owned(),
        arch: "x86_64".to_owned(),
        cores: 2,
        memory_mib: 4096,
        os: "linux 7.3".to_owned(),
    };
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let (basis, better) = (Basis::Measured, Better::Lower);
    let record = Record {
        scenario: "reclaim-file".to_owned(),
        ground: Ground::Host,
        seed: 1,
        fields: Labels::from([label("order", "4")]),
        variant: Labels::from([label("young", young)]),
        metrics: vec![Metric::new(METRIC, "ns/page", basis, better, values.to_vec())],
    };
    RecordSet::new(Run::new("pageout 0.1.0", Some(commit.to_owned()), machine), vec![record])
}

fn write(path: &Path, set: &RecordSet) {
    fs::write(path, set.to_json().expect("a valid set")).expect("a file");
}

/// Files by name, in the order in which they ran.
struct Files {
    directory: TempDir,
    labels: Vec<String>,
}

impl Files {
    fn new() -> Self {
        Self { directory: tempdir().expect("a directory"), labels: Vec::new() }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("{number}.json"))
    }

    fn add(&mut self, label: &str, set: &RecordSet) {
        let path = self.path(self.labels.len());
        write(&path, set);
        self.labels.push(format!("{label}={}", path.display()));
    }

    /// Rounds of both in turn, of which the second takes a tenth longer, on a machine that gets
    /// slower all the time: by more than that.
    fn in_turn(rounds: u32) -> Self {
        let mut files = Self::new();
        for round in 0..rounds {
            let at = |factor: f64| {
                let time = 100.0 * (1.0 + 0.05 * f64::from(round)) * factor;
                [time, time * 1.001, time * 0.999]
            };
            files.add("before", &run_of("1a2b", "line", &at(1.0)));
            files.add("after", &run_of("3c4d", "line", &at(1.1)));
        }
        files
    }

    fn compare(&self, words: &[&str]) -> Output {
        let mut command = command("compare");
        let labels = self.labels.iter().flat_map(|label| ["--label", label]);
        command.args(labels).args(words).output().expect("the binary runs")
    }

    fn table(&self, words: &[&str]) -> String {
        let output = self.compare(words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    }
}

const SLOWER: [&str; 2] = ["--fail-on", "whole reclaim>3%"];

#[test]
fn runs_in_turn_are_compared_pair_by_pair() {
    let files = Files::in_turn(6);
    let short = files.table(&[]);
    for part in ["worse than before by 10.0%", "6 pairs", "+10.0%*", "drift: whole reclaim"] {
        assert!(short.contains(part), "no `{part}` in\n{short}");
    }
    let table = files.table(&["--full"]);
    for part in [
        "compared  label",
        "+10.0%*",
        "Wilcoxon signed-rank of pairs, Holm over 1 test",
        "pairs of runs taken in turn: 6",
        "commit 1a2b",
        "commit 3c4d",
        "drift: whole reclaim of before rises by 19.5%",
        "variants took turns",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let failed = files.compare(&SLOWER);
    let told = stderr(&failed);
    assert_eq!(failed.status.code(), Some(1), "{told}");
    let expected = "failed: after (reclaim-file): worse by 10.00% [10.00%, 10.00%], 6 pairs";
    assert!(told.contains(expected), "{told}");
    let passed = files.compare(&["--fail-on", "whole reclaim>11%", "--bisect"]);
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    let other = files.compare(&["--base", "label=after", SLOWER[0], SLOWER[1]]);
    assert_eq!(other.status.code(), Some(0), "faster than the base: {}", stderr(&other));
}

#[test]
fn too_few_pairs_decide_nothing() {
    let output = Files::in_turn(5).compare(&SLOWER);
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(stderr(&output).contains("not enough pairs"), "{}", stderr(&output));
}

/// A merged file keeps its labels, and takes more files.
#[test]
fn a_merged_file_is_compared_as_its_files_were() {
    let files = Files::in_turn(6);
    let merged = files.directory.path().join("merged.json");
    let json = ["--json", "--output", merged.to_str().expect("a plain path")];
    assert_eq!(files.table(&json), "");
    let merged = merged.display().to_string();
    assert_eq!(stdout(&format!("compare {merged}")), files.table(&[]));
    let again = format!("compare {merged} --label {}", files.labels[0]);
    refused(&again, &["merged.json and", "0.json hold the same run"]);
    refused(&format!("compare --label x={merged}"), &["labels of its own"]);
    let bare = files.path(0);
    let mixed = format!("compare {} --label {}", bare.display(), files.labels[1]);
    refused(&mixed, &["0.json has no label", "--label NAME="]);
}

#[test]
fn other_orders_are_told() {
    let mut apart = Files::new();
    for (label, time) in [("before", 100.0), ("after", 130.0)] {
        for round in 0..3 {
            let at = |sample: f64| time + f64::from(round) + sample;
            apart.add(label, &run_of(label, "line", &[0.1, 0.2, 0.3].map(at)));
        }
    }
    let table = apart.table(&[]);
    assert!(table.contains("Runs not taken in turn"), "{table}");
    let full = apart.table(&["--full"]);
    assert!(full.contains("two-sided Mann-Whitney, Holm over 1 test"), "{full}");
    let mut once = Files::new();
    once.add("before", &run_of("1a2b", "line", &[1.0; 7]));
    once.add("after", &run_of("1a2b", "line", &[2.0; 7]));
    let table = once.table(&[]);
    assert!(table.contains("One run of each"), "{table}");
    assert!(!table.contains("drift"), "{table}");
}

#[test]
fn variants_of_labelled_files_are_rows() {
    let mut files = Files::new();
    for (label, factor) in [("before", 1.0), ("after", 2.0)] {
        let mut both = run_of("1a2b", "per-entry", &[9.0 * factor; 6]);
        both.records.extend(run_of("1a2b", "line", &[4.0 * factor; 6]).records);
        files.add(label, &both);
    }
    let table = files.table(&[]);
    for part in ["young=per-entry", "young=line", "+100.0%", "worse than before in all 2 cells"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let across = files.table(&["--base", "label=before,young=line", "--full"]);
    assert!(across.contains("compared  young,label"), "{across}");
}

#[test]
fn runs_that_are_not_alike_are_taken_as_one_if_asked_for() {
    let mut files = Files::new();
    for commit in ["1a2b", "3c4d"] {
        files.add("before", &run_of(commit, "line", &[1.0, 2.0, 3.0]));
    }
    files.add("after", &run_of("3c4d", "line", &[4.0, 5.0, 6.0]));
    let ways = ["commit (1a2b; 3c4d)", "`--label NAME=FILE`", "`--pool`"];
    assert_refused(&files.compare(&[]), &[&["0.json and", "1.json hold"], &ways[..]].concat());
    assert!(files.table(&["--pool", "--full"]).contains("n = 3-6"));
}

/// Two files of one variant, without a label: names say what is compared.
#[test]
fn two_files_of_the_same_variant_are_compared_by_their_names() {
    let mut files = Files::new();
    for (commit, time) in [("1a2b", 100.0), ("3c4d", 110.0)] {
        let at = |k: f64| time + k / 10.0;
        files.add(commit, &run_of(commit, "line", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(at)));
    }
    let [one, other] = [0, 1].map(|nr| files.path(nr).display().to_string());
    let table = stdout(&format!("compare {one} {other}"));
    let said = "The files have the same variants: 1 is compared with 0";
    for part in [said, "1: worse than 0 by 10.0%"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let judged = |words: &str| {
        let output = command(&format!("compare {one} {other} {words}")).output();
        output.expect("the binary runs").status.code()
    };
    assert_eq!(judged("--fail-on 3%"), Some(1));
    assert_eq!(judged("--fail-on 20%"), Some(0));
    assert_eq!(judged("--base 1 --fail-on 3%"), Some(0), "a label is a base");
    let pooled = stdout(&format!("compare {one} {other} --pool"));
    assert!(!pooled.contains("compared with"), "{pooled}");
    files.add("third", &run_of("1a2b", "line", &[1.0; 6]));
    let three = format!("compare {one} {other} {}", files.path(2).display());
    refused(&three, &["all 3 files have the same variants", "--label NAME=FILE", "--pool"]);
    refused(&format!("compare {one} --base after"), &["`after`", "AXIS=CHOICE"]);
    let page = files.directory.path().join("page.html");
    assert_eq!(stdout(&format!("report {one} {other} --output {}", page.display())), "");
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("worse than 0 by 10.0%"), "the page compares them too");
}

/// The work of one variant has moved between stages, and the whole is as it was.
#[test]
fn work_that_moves_between_stages_is_no_difference() {
    let mut files = Files::new();
    for (label, young) in [("before", 10.0), ("after", 40.0)] {
        let at = |of: f64| (0..7).map(|k| of + f64::from(k * 5 % 7)).collect::<Vec<_>>();
        let mut set = run_of("1a2b", "line", &at(100.0));
        let (basis, better) = (Basis::Measured, Better::Lower);
        let stage = |name, of| Metric::new(name, "ns/page", basis, better, at(of));
        let stages = [stage("young", young), stage("rmap walk", 90.0 - young)];
        set.records[0].metrics.extend(stages);
        files.add(label, &set);
    }
    let table = files.table(&[]);
    assert!(table.contains("after: no difference from before is shown"), "{table}");
    let row = table.lines().find(|line| line.trim_start().starts_with("young ")).expect("a row");
    assert!(!row.contains('%') && !table.contains("worse"), "{table}");
    assert_eq!(files.compare(&["--fail-on", "0%"]).status.code(), Some(0));
    let of_stage = files.compare(&["--fail-on", "young>3%"]);
    assert_eq!(of_stage.status.code(), Some(1), "unless it is asked for: {}", stderr(&of_stage));
}

#[test]
fn labels_that_are_none_are_refused() {
    for label in ["a.json", "=a.json", "a=", "a,b=a.json"] {
        let output = command("compare --label").arg(label).output().expect("the binary runs");
        assert_refused(&output, &["expected NAME=FILE"]);
    }
    refused("compare --label a=absent.json", &["cannot read absent.json"]);
    refused("compare age-file --label a=b.json", &["--label is for record files"]);
    refused("compare age-file --pool", &["--pool is for record files"]);
}

/// Git in a directory, with nothing of the user's.
fn git(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]).args(words);
    command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_DIR").output().expect("git runs")
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", stderr(output));
    said
}

/// Sixteen commits, each with the records of a run of it: the twelfth is slower by a tenth, and the
/// eighth, where a bisection looks first, has one sample, which cannot tell.
#[test]
fn git_bisect_run_finds_the_slow_commit() {
    let directory = tempdir().expect("a directory");
    let repository = directory.path().join("repository");
    fs::create_dir(&repository).expect("a directory");
    done(&git(&repository, &["init", "-q"]));
    let samples = |time: f64, n: u32| {
        (0..n).map(|k| time + f64::from(k * 7 % n) / f64::from(n)).collect::<Vec<_>>()
    };
    for commit in 1..=16 {
        let time = if commit < 12 { 100.0 } else { 110.0 };
        let n = if commit == 8 { 1 } else { 9 };
        let set = run_of(&commit.to_string(), "line", &samples(time, n));
        write(&repository.join("records.json"), &set);
        done(&git(&repository, &["add", "records.json"]));
        done(&git(&repository, &["commit", "-q", "-m", &format!("Change {commit}")]));
    }
    let good = directory.path().join("good.json");
    write(&good, &run_of("1", "line", &samples(100.0, 9)));
    done(&git(&repository, &["bisect", "start", "HEAD", "HEAD~15"]));
    let good = format!("good={}", good.display());
    let labels = ["--label", &good, "--label", "here=records.json"];
    let program = ["bisect", "run", env!("CARGO_BIN_EXE_pageout"), "compare"];
    let found = git(&repository, &[&program[..], &labels, &SLOWER, &["--bisect"]].concat());
    let said = done(&found);
    assert!(said.contains("is the first bad commit"), "{said}");
    let subject = git(&repository, &["log", "-1", "--format=%s", "refs/bisect/bad"]);
    assert_eq!(done(&subject).trim(), "Change 12");
    let skipped = git(&repository, &["bisect", "log"]);
    assert!(done(&skipped).contains("git bisect skip"), "the eighth cannot be told");
}
