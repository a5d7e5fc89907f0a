//! Generations in `run`, and commands written to `lru_gen`.

use crate::common::{command, stderr};
use std::process::Output;

const SMALL: &str = "run reclaim-file size=4MiB order=0 format=x86-64 reclaim=25% --runs 1";

fn run(words: &str, commands: &[&str]) -> Output {
    let commands = commands.iter().flat_map(|one| ["--lru-gen", one]);
    command(words).args(commands).output().expect("the binary runs")
}

/// The generations of the scenario's cgroup, as the numbers of their lines.
fn generations(commands: &[&str]) -> Vec<Vec<u64>> {
    let output = run(&format!("{SMALL} lru=mglru"), commands);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    let (above, shown) =
        text.split_once("\nmemcg 1 /reclaim-file\n node     0\n").expect("it is shown");
    assert!(above.contains("\nmemcg 0 /\n node     0\n"), "{above}");
    let lines = shown.lines().take_while(|line| !line.is_empty());
    let numbers = |line: &str| {
        assert_eq!(line.len(), 1 + 10 + 1 + 10 + 2 * (1 + 10 + 1), "{line:?}");
        line.split_whitespace().map(|n| n.parse().expect("a number")).collect()
    };
    lines.map(numbers).collect()
}

#[test]
fn run_shows_generations_and_what_commands_make_of_them() {
    let left = generations(&[]);
    let youngest = left.last().expect("generations")[0];
    let pages: u64 = left.iter().map(|line| line[3]).sum();
    assert!((500..=768).contains(&pages), "three quarters of 1024 pages or less: {left:?}");
    let age = format!("+ 1 0 {youngest}");
    let aged = generations(&[&age]);
    assert_eq!(aged.last().expect("generations")[0], youngest + 1);
    assert_eq!(aged.iter().map(|line| line[3]).sum::<u64>(), pages);
    let twice = format!("{age},+ 1 0 {}", youngest + 1);
    let evict = format!("- 1 0 {youngest}");
    let evicted = generations(&[&twice, &evict]);
    assert_eq!(evicted.last().expect("generations")[0], youngest + 2);
    assert!(evicted.iter().map(|line| line[3]).sum::<u64>() < pages, "{evicted:?}");
}

#[test]
fn a_command_refused_ends_the_run_with_the_error_of_kernels() {
    for refused in ["+ 1 0 99", "junk", "+ 7 0 0", "+ 1 1 0", "+ 1 0 0 202"] {
        let output = run(&format!("{SMALL} lru=mglru"), &["+ 1 0 0", refused]);
        assert_eq!(output.status.code(), Some(2), "{refused}");
        assert_eq!(output.stdout, b"", "{refused}");
        let said = stderr(&output);
        assert!(said.contains(&format!("lru_gen refuses `{refused}`")), "{said}");
        assert!(said.contains("EINVAL"), "{said}");
    }
}

#[test]
fn there_are_no_generations_elsewhere() {
    for words in [
        SMALL,
        "run age-file size=4MiB order=0 format=x86-64 --runs 1",
        "run trace order=4 format=arm64-4k every=500",
    ] {
        let output = run(words, &["+ 1 0 3"]);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains("with lru=mglru"), "{}", stderr(&output));
    }
    let text = crate::common::stdout(SMALL);
    assert!(!text.contains("memcg"), "{text}");
}
