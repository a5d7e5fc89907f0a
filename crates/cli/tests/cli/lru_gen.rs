//! Generations in `run`, and commands written to `lru_gen`.

use crate::common::{command, stderr};
use std::process::Output;

const SMALL: &str = "run reclaim-file size=4MiB order=0 format=x86-64 reclaim=25% --runs 1";

/// Commands that leave generations, each with the cgroup of these.
const SCENARIOS: [(&str, &str); 3] = [
    (
        "run reclaim-file size=4MiB order=0 format=x86-64 reclaim=25% lru=mglru --runs 1",
        "/reclaim-file",
    ),
    ("run trace limit=50% format=x86-64 lru=mglru", "/trace"),
    ("run aging-rounds size=16MiB format=x86-64 rounds=2", "/aging-rounds"),
];

fn run(words: &str, commands: &[&str]) -> Output {
    let commands = commands.iter().flat_map(|one| ["--lru-gen", one]);
    command(words).args(commands).output().expect("the binary runs")
}

/// Returns the generations of the scenario's cgroup: the numbers of each line.
fn generations(words: &str, path: &str, commands: &[&str]) -> Vec<Vec<u64>> {
    let output = run(words, commands);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    let heading = format!("\nmemcg 1 {path}\n node     0\n");
    let (above, shown) = text.split_once(&heading).expect("it is shown");
    assert!(above.contains("\nmemcg 0 /\n node     0\n"), "{above}");
    let lines = shown.lines().take_while(|line| !line.is_empty());
    let numbers = |line: &str| {
        assert_eq!(line.len(), 1 + 10 + 1 + 10 + 2 * (1 + 10 + 1), "{line:?}");
        line.split_whitespace().map(|n| n.parse().expect("a number")).collect()
    };
    lines.map(numbers).collect()
}

/// Pages of all of them.
fn pages(generations: &[Vec<u64>]) -> u64 {
    generations.iter().map(|line| line[2] + line[3]).sum()
}

#[test]
fn run_shows_generations_and_what_commands_make_of_them() {
    for (words, path) in SCENARIOS {
        let left = generations(words, path, &[]);
        let youngest = left.last().expect("generations")[0];
        assert!(pages(&left) > 0, "{left:?}");
        let age = format!("+ 1 0 {youngest}");
        let aged = generations(words, path, &[&age]);
        assert_eq!(aged.last().expect("generations")[0], youngest + 1);
        assert_eq!(pages(&aged), pages(&left));
        let twice = format!("{age},+ 1 0 {}", youngest + 1);
        let evict = format!("- 1 0 {youngest}");
        let evicted = generations(words, path, &[&twice, &evict]);
        assert_eq!(evicted.last().expect("generations")[0], youngest + 2);
        assert!(pages(&evicted) < pages(&left), "{left:?} -> {evicted:?}");
    }
}

#[test]
fn generations_hold_what_the_scenario_leaves() {
    let (words, path) = SCENARIOS[0];
    let left = pages(&generations(words, path, &[]));
    assert!((500..=768).contains(&left), "three quarters of 1024 pages or less: {left}");
    let (words, path) = SCENARIOS[2];
    let left = pages(&generations(words, path, &[]));
    assert!((2048..=3072).contains(&left), "at most the limit of 12 MiB: {left}");
}

#[test]
fn a_command_refused_ends_the_run_with_the_error_of_kernels() {
    for (words, _) in SCENARIOS {
        for refused in ["+ 1 0 99", "junk", "+ 7 0 0", "+ 1 1 0", "+ 1 0 0 202"] {
            let output = run(words, &["+ 1 0 0", refused]);
            assert_eq!(output.status.code(), Some(2), "{refused}");
            assert_eq!(output.stdout, b"", "{refused}");
            let said = stderr(&output);
            assert!(said.contains(&format!("lru_gen refuses `{refused}`")), "{said}");
            assert!(said.contains("EINVAL"), "{said}");
        }
    }
}

#[test]
fn there_are_no_generations_elsewhere() {
    for words in [
        SMALL,
        "run age-file size=4MiB order=0 format=x86-64 --runs 1",
        "run age-file size=4MiB order=0 format=x86-64 --runs 1 --variant lru=mglru",
        "run trace order=4 format=arm64-4k every=500",
        "run trace order=4 format=arm64-4k every=500 --variant lru=mglru",
        "run trace limit=50% format=x86-64",
    ] {
        let output = run(words, &["+ 1 0 3"]);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains("that leaves generations"), "{}", stderr(&output));
    }
    for words in [SMALL, "run trace limit=50% format=x86-64"] {
        let text = crate::common::stdout(words);
        assert!(!text.contains("memcg"), "{text}");
    }
}
