//! `report`, and `--html` of the commands that print a table.

use crate::common::{read, refused, stdout};
use serde_json::Value;
use std::fs;
use tempfile::tempdir;

/// The stored records of real kernels.
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/files/records/linux-7.3.json");

#[test]
fn a_page_is_made_of_record_files() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("report.html");
    let words = format!("report {KERNELS} --base kernel=stock --output {}", path.display());
    assert_eq!(stdout(&words), "");
    let page = fs::read_to_string(&path).expect("the page is there");
    assert!(page.starts_with("<!DOCTYPE html>"));
    for part in ["id=\"verdict\"", "--base kernel=stock", "age-file on linux", "AMD EPYC"] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert_eq!(stdout(&words), "");
    assert!(fs::read_to_string(&path).expect("the page is there") == page, "the same bytes");
}

#[test]
fn comparisons_are_written_as_json() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("comparison.json");
    let written = |words: &str| -> Value {
        assert_eq!(stdout(&format!("report {KERNELS} {words} --output {}", path.display())), "");
        let text = fs::read_to_string(&path).expect("the file is there");
        serde_json::from_str(&text).expect("JSON")
    };
    let compared = written("--json --base kernel=no-batch");
    let [table] = &compared.as_array().expect("a list")[..] else { panic!("one base, one table") };
    let comparison = &table["comparison"];
    assert_eq!(comparison["base"], "no-batch");
    let others = comparison["others"].as_array().expect("a list");
    let place = others.iter().position(|other| other == "stock").expect("Linux 7.3 as it is");
    let rows = comparison["rows"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["others"][place]["verdict"] == "better").expect("a row");
    let median = |summary: &Value| summary["median"].as_f64().expect("a number");
    let (base, new) = (median(&row["base"]), median(&row["others"][place]["summary"]));
    let percent = row["others"][place]["percent"].as_f64().expect("a number");
    let fewer = if row["better"] == "lower" { base - new } else { new - base };
    assert!((percent - fewer / base * 100.0).abs() < 1e-6, "{row}");
    assert!(written("--json").as_array().expect("a list").len() > 1, "one for each scenario");
}

#[test]
fn a_command_writes_its_page_besides() {
    let directory = tempdir().expect("a directory");
    let page = directory.path().join("page.html");
    let scenario = "reclaim-file size=1MiB order=4 format=x86-64 --ground model";
    let words = format!("compare {scenario} --html {}", page.display());
    let set = read(&stdout(&format!("{words} --json")));
    let html = fs::read_to_string(&page).expect("the page is there");
    let median = set.records[0].metrics[0].values[0];
    assert!(html.contains(&format!(r#"<data value="{median}">"#)), "the JSON's first figure");
    assert!(html.contains(r#"<section id="activities">"#), "time by activity is drawn");
    let table = stdout(&words);
    assert!(table.contains("whole reclaim"), "the table is printed all the same");
    assert!(html.contains("As it was printed"));
}

#[test]
fn a_page_replaces_no_input_and_no_other_output() {
    let directory = tempdir().expect("a directory");
    let copy = directory.path().join("records.json");
    fs::copy(KERNELS, &copy).expect("a copy");
    let copy = copy.display();
    refused(&format!("report {copy} --output {copy}"), &["records.json"]);
    let page = directory.path().join("page.html");
    let both = format!("--output {0} --html {0}", page.display());
    refused(&format!("bench flush-reach {both}"), &["page.html"]);
    refused("report absent.json --output page.html", &["cannot read absent.json"]);
    refused(&format!("report {copy} --base kernel --output {}", page.display()), &["AXIS=CHOICE"]);
}
