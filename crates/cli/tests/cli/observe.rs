//! `observe`: what it prints, and its records.

use crate::common::{command, refused, stdout};
use pageout_record::schema::{Ground, RecordFile};
use std::fs;
use tempfile::tempdir;

/// Returns true if this kernel lets a program see its own young bits.
fn can_observe() -> bool {
    fs::OpenOptions::new().write(true).open("/proc/self/clear_refs").is_ok()
}

/// Returns the shares of hidden loads in a row, without a flush and with one.
fn shares<'a>(printed: &'a str, row: &str) -> Vec<&'a str> {
    let line = printed.lines().find(|line| line.starts_with(row));
    let line = line.unwrap_or_else(|| panic!("no row {row} in: {printed}"));
    line.split(' ').filter(|word| word.ends_with('%')).collect()
}

#[test]
fn pages_that_nobody_loads_from_look_old_and_a_flush_hides_nothing() {
    if !can_observe() {
        return;
    }
    let printed = stdout("observe --runs 2");
    assert_eq!(shares(&printed, "no load"), ["100.0%", "100.0%"], "{printed}");
    assert_eq!(shares(&printed, "nothing")[1], "0.0%", "{printed}");
    assert_eq!(shares(&printed, "loads from 64 other pages")[1], "0.0%", "{printed}");
    let cores = pageout_calibrate::cores().unwrap().len();
    assert_eq!(printed.contains("loads on another CPU for 1 ms"), cores > 1, "{printed}");
}

#[test]
fn records_are_of_this_machine_s_kernel() {
    if !can_observe() {
        return;
    }
    let directory = tempdir().unwrap();
    let page = directory.path().join("page.html");
    let printed = stdout(&format!("observe --runs 1 --json --html {}", page.display()));
    let file = RecordFile::from_json(&printed).unwrap();
    assert!(file.records().all(|record| {
        record.ground == Ground::Linux
            && record.scenario == "observe"
            && record.variant.contains_key("flush")
            && record.metrics[0].values.iter().all(|share| (0.0..=100.0).contains(share))
    }));
    assert!(fs::read_to_string(page).unwrap().contains("hidden loads"));
}

#[test]
fn what_the_kernel_refuses_is_one_clear_message() {
    if can_observe() {
        return;
    }
    let refused = command("observe").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("cannot observe young bits here: /proc/self/clear_refs"), "{message}");
}

#[test]
fn bad_input_is_refused_before_anything_is_observed() {
    refused("observe --runs 0", &["`0`", "--runs"]);
    refused("observe --output /nowhere/observe.json", &["/nowhere/observe.json"]);
}
