//! Help as it is printed.

use crate::common::{command, run, stderr, stdout};
use std::process::Output;

/// Returns the text that a command prints on a terminal of 80 columns.
fn at_80(words: &str) -> Output {
    command(words).env("COLUMNS", "80").output().expect("the binary runs")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

/// Commands below one, by its help.
fn below(help: &str) -> Vec<String> {
    let list = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn short_help(words: &str) {
    let help = text(at_80(&format!("{words} -h")).stdout);
    let name = format!("pageout {words}").trim().replace(' ', "_");
    for one in below(&help) {
        short_help(format!("{words} {one}").trim());
    }
    insta::assert_snapshot!(name, help);
}

/// INSTA_UPDATE=always takes a change over.
#[test]
fn short_help_of_every_command() {
    short_help("");
}

#[test]
fn long_help_has_all_that_a_scenario_takes() {
    for words in ["compare --help", "run --help"] {
        let help = text(at_80(words).stdout);
        for part in ["secondary=none", "deferred-8cpus", "refaults", "hidden accesses"] {
            assert!(help.contains(part), "no {part} in:\n{help}");
        }
    }
}

#[test]
fn a_command_without_what_it_needs_lists_what_there_is() {
    for (words, parts) in [
        ("run", &["reclaim-file ", "pageout-shared ", "Examples:"][..]),
        ("bench", &["young ", "flush-reach ", "scale ", "Examples:"]),
        ("lab", &["compare ", "series ", "stock", "reclaim-file", "Examples:"]),
        ("trace", &["record ", "import ", "curve ", "Examples:"]),
        ("sweep", &["plan ", "merge ", "flush ", "Examples:"]),
    ] {
        let done = at_80(words);
        let said = stderr(&done);
        assert_eq!((done.status.code(), text(done.stdout)), (Some(2), String::new()), "{said}");
        assert_eq!(said, text(at_80(&format!("{words} -h")).stdout), "{words}");
        for part in parts {
            assert!(said.contains(part), "{words}: no {part} in:\n{said}");
        }
    }
}

#[test]
fn the_plan_in_help_is_one_that_sweep_plan_takes() {
    let directory = tempfile::tempdir().expect("a directory");
    let done = command("sweep plan --help").env("COLUMNS", "60").output().expect("it runs");
    let help = text(done.stdout);
    let (_, rest) = help.split_once("All that a file may have:\n").expect("the heading");
    let (plan, _) = rest.split_once("\nExamples:").expect("examples");
    let (all, ways) = plan.split_once("  [grid]").expect("the first way");
    let (grid, ways) = ways.split_once("  [[list]]").expect("the second way");
    let (list, random) = ways.split_once("  [random] ").expect("the third way");
    for (name, way) in [("[grid]", grid), ("[[list]]", list), ("[random]", random)] {
        let path = directory.path().join("plan.toml");
        std::fs::write(&path, format!("{all}{name}{way}")).expect("the plan is written");
        let cells = stdout(&format!("sweep plan {}", path.display()));
        assert!(cells.contains("limit="), "{name}: {cells}");
    }
}

#[test]
fn help_has_no_blank_that_cannot_be_typed() {
    for words in ["-h", "--help", "compare -h", "run --help", "lab", "run"] {
        let done = run(words);
        let all = text(done.stdout) + &text(done.stderr);
        assert!(!all.contains('\u{a0}') && all.contains("Examples:\n  pageout"), "{all}");
    }
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(stdout("--version"), concat!("pageout ", env!("CARGO_PKG_VERSION"), "\n"));
}
