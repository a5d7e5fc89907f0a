//! The gate of two record files, as the page of commands prints it.

use crate::common::{command, stderr, stdout};
use std::process::Command;
use tempfile::tempdir;

const COMMANDS: &str = include_str!("../../../../docs/commands.md");

/// Two files that the program makes, judged by the page's own line.
#[test]
fn the_gate_works_as_printed() {
    let gate = COMMANDS.lines().find(|line| line.starts_with("pageout compare a.json b.json"));
    let gate = gate.expect("the page has a gate").split('#').next().expect("a command");
    assert!(gate.contains("--fail-on"), "{gate}");
    let directory = tempdir().expect("a directory");
    for name in ["a", "b"] {
        let file = directory.path().join(name).with_extension("json");
        let words = "run reclaim-file order=4 format=x86-64 size=4MiB --runs 7 --json --output";
        stdout(&format!("{words} {}", file.display()));
    }
    let gate = gate.trim().strip_prefix("pageout ").expect("a command of the program");
    let mut run: Command = command(gate);
    let output = run.current_dir(directory.path()).output().expect("the binary runs");
    let (said, told) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    // One build twice: whether a difference is shown is this machine's mood, and 125 or 2 is not.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}{told}");
    assert!(said.starts_with("The files have the same variants: b is compared with a"), "{said}");
    assert!(told.starts_with("3%: "), "{told}");
}
