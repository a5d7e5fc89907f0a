//! The decision on modelled machines: what a comparison says before any time.

use crate::common::{command, read, run, stdout};
use pageout_record::schema::{Record, RecordSet};
use pageout_record::stats::Kind;
use serde_json::Value;
use std::fs;
use std::process::Command;
use tempfile::tempdir;

/// Two halves of a change: which is worth more depends on what a TLBI costs.
const HALVES: &str = "compare reclaim-file order=4 size=4MiB --ground model \
    --base young=batched,unmap=per-entry --new young=per-entry,unmap=batched";

fn drawn(record: &Record) -> usize {
    let drawn = record.metric("whole reclaim, drawn");
    drawn.map_or(0, |metric| metric.values.len())
}

#[test]
fn the_decision_comes_before_times_and_fits_the_terminal() {
    let output = command(HALVES).env("COLUMNS", "80").output().expect("the binary runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let question = "Probability of a gain over batched young of more than 1%, by draws of prices:";
    let said = [
        question,
        "per-entry,batched: 98% (39 of 40)",
        "  platform=x86-server-class: over 95% (20 of 20); gain ",
        "    pays at any price of IPI shootdown, instruction or atomic",
        "    pays where TLBI and DSB takes ",
        "    pays where instruction takes at most ",
        "    driven by 1.00 fewer invalidations broadcast per 4K page (",
        "  whole reclaim",
    ];
    let places = said.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
    assert!(places.is_sorted(), "{places:?}: {text}");
}

#[test]
fn records_hold_what_the_decision_is_made_of() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("halves.json");
    stdout(&format!("{HALVES} --json --output {}", path.display()));
    let set = read(&fs::read_to_string(&path).expect("records"));
    assert!(set.records.iter().all(|record| drawn(record) == 20));
    for record in &set.records {
        let along = record.metrics.iter().filter_map(|metric| metric.series.as_deref());
        let along = along.filter(|series| record.metrics.iter().any(|of| of.name == series.x.name));
        let names: Vec<&str> = along.map(|series| series.x.name.as_str()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        for name in names {
            let price = record.metric(name).unwrap();
            let range = price.interval.expect("a price has a range");
            assert!(range.kind == Kind::Draws && range.low < range.high, "{price:?}");
        }
    }
    let told = directory.path().join("told.json");
    stdout(&format!("report {} --json --output {}", path.display(), told.display()));
    let told = fs::read_to_string(told).expect("comparisons");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let rows = told[0]["comparison"]["rows"].as_array().expect("rows");
    let arm64 = rows.iter().find(|row| {
        row["decisions"].is_array() && row["fields"]["platform"] == "arm64-server-32-class"
    });
    let decision = &arm64.expect("a whole that is decided")["decisions"][0];
    assert_eq!(decision["gains"].as_array().map(Vec::len), Some(20));
    let flush = &decision["prices"][0];
    assert_eq!(flush["price"], "TLBI and DSB");
    let (at, nominal) = (flush["pays"]["from"].as_f64(), flush["nominal"].as_f64());
    assert!(at > Some(0.0) && at < nominal, "{flush}");
}

#[test]
fn pages_and_record_files_have_the_decision_too() {
    let directory = tempdir().expect("a directory");
    let [page, records] = ["page.html", "halves.json"].map(|name| directory.path().join(name));
    let json = stdout(&format!("{HALVES} --json --html {}", page.display()));
    fs::write(&records, json).expect("records");
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains("Pays where TLBI and DSB takes"), "{}", page.display());
    let again = stdout(&format!("compare {} --min-gain 90%", records.display()));
    assert!(again.contains("of more than 90%, by draws of prices:"), "{again}");
    assert!(again.contains("below 3% (0 of 40)"), "{again}");
}

#[test]
fn draws_decide_and_none_decide_nothing() {
    let without = stdout(&format!("{HALVES} --draws 0"));
    assert!(!without.contains("Probability"), "{without}");
    let many = stdout("compare reclaim-file size=4MiB order=0,4 --ground model");
    assert!(many.contains("over 90% (10 of 10)") && !many.contains("pays"), "ten of each: {many}");
}

/// Records do not depend on the number of the host's threads.
#[test]
fn records_are_the_same_on_one_thread_and_on_all() {
    let words = "compare reclaim-file order=0 size=1MiB process=running --cores 3 \
        --ground model --json";
    let mut one = Command::new("taskset");
    one.args(["-c", "0", env!("CARGO_BIN_EXE_pageout")]).args(words.split_whitespace());
    let output = one.output().expect("taskset of util-linux runs");
    let set = |json: &[u8]| -> RecordSet { read(std::str::from_utf8(json).expect("JSON")) };
    let all = run(words).stdout;
    assert_eq!(set(&output.stdout).records, set(&all).records);
}
