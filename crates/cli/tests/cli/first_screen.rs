//! `pageout` alone, end to end.

use crate::common::{command, refused, stderr, stdout};
use pageout_record::schema::{Ground, RecordSet};
use tempfile::tempdir;

const STEPS: [&str; 4] = ["before ", "batched young ", "+ batched unmap ", "line  "];

/// The output fits one screen, has no colour in a pipe, and has figures.
#[test]
fn it_fits_a_terminal() {
    let text = stdout("--runs 1");
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for step in STEPS {
        let row = text.lines().find(|line| line.starts_with(step));
        let row = row.unwrap_or_else(|| panic!("no `{step}` in:\n{text}"));
        let numbers = row.split_whitespace().filter(|word| word.parse::<f64>().is_ok());
        assert_eq!(numbers.count(), 4, "{row}");
    }
    let first = text.lines().next().expect("a first line");
    assert!(first.starts_with("Reclaim frees memory"), "{text}");
    let steps = text.lines().filter(|line| line.trim_start().starts_with(char::is_numeric));
    assert_eq!(steps.count(), 4, "the steps of the bug in:\n{text}");
    for said in ["x86-64, 4", "arm64-4k, pmd", "█", "724 → 485 → 119", "pageout --full", "n = 1"]
    {
        assert!(text.contains(said), "no `{said}` in:\n{text}");
    }
}

#[test]
fn colours_are_forced_or_refused() {
    let screen = |name: &str| {
        let output = command("--runs 1").env(name, "1").output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("output is UTF-8")
    };
    assert!(screen("CLICOLOR_FORCE").contains("\u{1b}[32m"));
    assert!(!screen("NO_COLOR").contains('\u{1b}'));
}

#[test]
fn records_are_of_what_was_measured() {
    let set = RecordSet::from_json(&stdout("--runs 2 --seed 3 --json")).expect("records");
    let ran: Vec<_> = set.records.iter().filter(|one| one.ground == Ground::Host).collect();
    assert_eq!(ran.len(), 4 * STEPS.len());
    for record in ran {
        assert_eq!((record.seed, record.fields["size"].as_str()), (3, "1GiB"));
        assert_eq!(record.metrics[0].values.len(), 2);
    }
    assert!(stdout("--runs 1 --csv").starts_with("run,scenario,"));
}

#[test]
fn a_file_has_the_screen_without_colours() {
    let directory = tempdir().expect("a directory");
    let file = directory.path().join("screen.txt");
    let mut alone = command("--runs 1 --output");
    let output = alone.arg(&file).env("CLICOLOR_FORCE", "1").output().expect("the binary runs");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", stderr(&output));
    let text = std::fs::read_to_string(&file).expect("a screen");
    assert!(text.contains('█') && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn its_options_are_not_those_of_commands() {
    refused("--full compare", &["--full"]);
    refused("--runs 0", &["--runs"]);
}
