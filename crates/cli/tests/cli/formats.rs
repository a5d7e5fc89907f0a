//! `--format`: the forms in which figures are printed.

use crate::common::{command, refused, stderr, stdout};

/// The stored records of real kernels.
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/files/records/linux-7.3.json");
/// Quick, and the same on every machine.
const MODELLED: &str = "reclaim-file size=1MiB order=0,4 format=x86-64 --ground model";

/// Runs a command, and checks that any mailing list takes its list.
fn listed(words: &str) -> String {
    let text = stdout(words);
    for line in text.lines() {
        assert!(line.is_ascii() && line.len() <= 72, "{} columns: {line}", line.len());
    }
    text
}

#[test]
fn a_scenario_is_compared_in_a_list() {
    let text = listed(&format!("compare {MODELLED} --format list --draws 20"));
    for part in [
        "reclaim-file on model, ",
        "before: young=per-entry unmap=per-entry (Linux 7.3 without its batches)",
        "better than before in all 2 cells",
        "order=0",
        "ns/4K page\n  whole reclaim",
        "modelled: computed from counts",
        "interval over draws of all prices",
        "\npageout compare reclaim-file size=1MiB order=0,4",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let table = stdout(&format!("compare {MODELLED}"));
    assert_eq!(table, stdout(&format!("compare {MODELLED} --format table")), "the default");
}

#[test]
fn record_files_and_runs_are_listed() {
    let text = listed(&format!("compare {KERNELS} --base kernel=stock --format list"));
    for part in ["on linux, ", "base kernel=stock", "no-batch", "instructions/4K page"] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let text = listed(&format!("run {MODELLED} --variant young=line --format list"));
    assert!(text.contains("ns/4K page\n  whole reclaim"), "{text}");
    assert!(!text.contains("against"), "nothing is compared: {text}");
}

/// Runs a command for a picture, and checks that it keeps to a width.
fn pictured(words: &str, columns: usize) -> String {
    let mut command = command(&format!("{words} --format picture"));
    let output = command.env("COLUMNS", columns.to_string()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "{columns}: {line}");
        assert!(!line.contains('\u{1b}'), "no colours: {line}");
    }
    text
}

#[test]
fn a_comparison_is_drawn_in_the_width_there_is() {
    for columns in [50, 80, 110] {
        let curves = ["whole reclaim, ns/4K page, by order", " o before"];
        let bars = ["whole reclaim", "├", "█"];
        for (orders, parts) in [("2,4,6", &curves[..]), ("2", &bars)] {
            let scenario = format!("reclaim-file size=1MiB order={orders} format=x86-64");
            let words = format!("compare {scenario} --ground model --draws 20");
            let text = format!(" {}", pictured(&words, columns).replace('\n', " "));
            for part in parts {
                assert!(text.contains(part), "no `{part}` in\n{text}");
            }
        }
    }
    let wide = pictured(&format!("run {MODELLED}"), 300);
    assert!(wide.lines().all(|line| line.chars().count() <= 120), "{wide}");
}

#[test]
fn a_map_of_records_is_drawn() {
    let text = pictured("run trace limit=50% format=arm64-4k --trace cc1plus-list --runs 1", 72);
    for part in ["place", "epoch", "blank: nothing, or 0", "░ to "] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn forms_are_refused_where_they_make_no_sense() {
    let list = "--format list";
    refused(&format!("compare {MODELLED} --json {list}"), &["--json", "--format"]);
    refused(&format!("compare {MODELLED} --csv {list}"), &["--csv", "--format"]);
    refused(&format!("run reclaim-file --sizes {list}"), &["--sizes", "--format"]);
    refused(&format!("compare {MODELLED} --format mail"), &["mail", "list"]);
    for command in ["bench young", "reproduce", "trace info", "report a.json --output b.html"] {
        refused(&format!("{command} {list}"), &["unknown option `--format`"]);
    }
}
