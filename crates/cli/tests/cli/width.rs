//! No command prints lines that are longer than the columns there are.

use crate::common::{SAMPLE, command, run, stderr, stdout};
use crate::lab::World;
use crate::schedule::{SYMBOLS, pretend};
use crate::series;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;
use unicode_width::UnicodeWidthStr;

/// Commands that print tables, lists or pictures of what is measured on this machine.
const HOST: &[&str] = &[
    "compare reclaim-file size=4MiB order=4 --runs 7",
    "compare reclaim-file size=4MiB order=4 --runs 2 --full",
    "compare reclaim-file size=4MiB order=0,4 --runs 2 --format list",
    "compare age-file size=4MiB order=0,2,4 format=arm64-4k --runs 2 --format picture",
    "run reclaim-file size=4MiB order=4 --runs 7",
    "run reclaim-file size=4MiB order=4 --runs 7 --full",
    "run reclaim-file size=4MiB order=4 --runs 2 --format list",
    "run reclaim-file size=4MiB order=4 --runs 2 --format picture",
    "run reclaim-file size=4MiB order=4 format=x86-64 lru=mglru --runs 1 --variant young=batched",
    "run reclaim-file size=1TiB order=pmd format=x86-64 --sizes",
    "calibrate --quick --cores 1",
];

/// Commands that take longer, and run only in 80 columns.
const BENCHES: &[&str] =
    &["bench young --runs 1", "bench aging --runs 1", "bench machine --runs 1", "observe --runs 1"];

/// Commands whose figures are counted or computed.
const COMPUTED: &[&str] = &[
    "scenarios",
    "scenarios reclaim-file",
    "scenarios access-patterns",
    "bench flush-reach",
    "check --list",
    "check --exhibit write-out-before-flush",
    "check batch --bound 1",
    "check protection --bound 1 --format arm64-small-4",
    "compare reclaim-file order=4 size=1MiB --ground model --draws 20",
    "run reclaim-file order=4 size=1MiB --ground model --draws 20 --full",
    "run fork-heavy size=64KiB loops=2 --cores 3 --ground model",
    "compare access-patterns memory=4MiB --ground model --runs 3",
    "compare thpscale memory=40MiB threads=1,2 --cores 4 --ground model --draws 2",
    "run thpscale memory=40MiB threads=2 --cores 4 --ground model",
    "sweep flush --platform kunpeng-920-class --cores 1,2 --processes 1 --size 64KiB",
    "sweep flush --platform kunpeng-920-class --cores 1,2 --processes 1 --size 64KiB --full",
    "sweep pageout --platform kunpeng-920-class --cores 1,2 --processes 1 --size 64KiB",
    "reproduce --quick",
    "reproduce --quick --thread S1",
    "reproduce --quick --thread S3",
    "reproduce --quick --thread lists",
    "check --exhibit batch-past-end",
    "check --exhibit uffd-wp-batched",
    "scenarios trace",
    "run aging-rounds size=16MiB --runs 1",
    "run pageout-shared size=64KiB times=2 --ground model --draws 20",
];

/// The same of traces.
const TRACES: &[&str] = &[
    "trace info",
    "trace info cc1plus-list",
    "trace info sqlite-orders",
    "trace curve cc1plus-list --limit 25%..100% --policy lru,sieve,min",
    "trace curve cc1plus-list --limit 25%..75% --policy lru,sieve,min --full",
    "trace curve cc1plus-list --limit 25%..75% --policy lru,sieve,min --format list",
    "trace curve cc1plus-list --limit 25%..75% --policy lru,sieve,min --format picture",
    "trace curve cc1plus-list --limit 25%..75% --policy lru,min --format picture --full",
    "run trace limit=50% --trace cc1plus-list",
    "run trace limit=50% --trace cc1plus-list --full",
    "run trace limit=50% format=x86-64 --trace cc1plus-list --format picture",
    "compare trace limit=50% --base lru=classic --new lru=mglru --trace cc1plus-list",
    "compare trace --trace cc1plus-list every=50 order=4 --runs 1",
];

/// Commands that end with a message.
const REFUSED: &[&str] = &[
    "compare nothing",
    "run reclaim-file size=100TiB",
    "run reclaim-file sise=1MiB",
    "run reclaim-file format=arm64",
    "run reclaim-file --ground model --platform abacus",
    "run reclaim-file --variant young=slow",
    "run trace --trace no-such-trace",
    "compare reclaim-file --fail-on nothing>3%",
    "check no-such-property",
    "check --exhibit no-such-bug",
    "check --format no-such-format",
    "lab run no-such-kernel",
    "lab compare stock",
    "lab series",
    "trace curve --policy clock",
    "trace import /dev/null --from perf --output /nowhere/out.pgt",
    "sweep plan /no/such/plan.toml",
    "reproduce --thread S9",
    "bench everything",
    "observe --runs many",
    "compare --no-such-option",
];

/// Generations of a cgroup whose path is longer than a line.
const GENERATIONS: &str = "\
memcg    40 /user.slice/user-1000.slice/user@1000.service/app.slice/app-of-a-long-name.scope/x
 node     0
          0   21338300          0           0
          1       1024         11          12
";

/// Columns of the widest line of a text, and the line.
fn widest(text: &str) -> (usize, &str) {
    text.lines().map(|line| (line.width(), line)).max().unwrap_or_default()
}

/// Returns true for a line that may be too long: words longer than a line, and commands between
/// backticks, are not broken, so that they can be copied.
fn is_whole(line: &str, columns: usize) -> bool {
    let quoted = line.trim().trim_matches(|c: char| c != '`');
    line.split_whitespace().any(|word| word.width() + 4 > columns)
        || (quoted.matches('`').count() == 2 && quoted.width() + 4 > columns)
}

/// Runs a command in `columns`, and returns the width of the widest line that it printed.
fn assert_fits(words: &str, columns: Option<usize>) -> usize {
    assert_runs_within(command(words), words, columns)
}

fn assert_runs_within(mut command: Command, words: &str, columns: Option<usize>) -> usize {
    match columns {
        Some(columns) => command.env("COLUMNS", columns.to_string()),
        None => command.env_remove("COLUMNS"),
    };
    let columns = columns.unwrap_or(80);
    let output = command.output().expect("the binary runs");
    let printed = String::from_utf8(output.stdout.clone()).expect("output is UTF-8");
    let said = stderr(&output);
    for text in [&printed, &said] {
        let lines = text.lines().filter(|line| !is_whole(line, columns));
        let text = lines.collect::<Vec<_>>().join("\n");
        let (width, line) = widest(&text);
        assert!(width <= columns, "{words}: {width} of {columns} columns:\n{line}\n\n{text}");
    }
    widest(&printed).0
}

fn assert_all_fit(commands: &[&str]) {
    for words in commands {
        assert_fits(words, None);
        assert_fits(words, Some(60));
    }
    let widths = commands.iter().map(|words| assert_fits(words, Some(120)));
    assert!(widths.max() > Some(80), "none is wider where there is room");
}

#[test]
fn what_is_measured_fits() {
    assert_all_fit(HOST);
    BENCHES.iter().for_each(|words| _ = assert_fits(words, None));
    // A picture for 80 columns, which is not laid out anew for fewer.
    assert_fits("--runs 1", None);
}

#[test]
fn what_is_computed_fits() {
    assert_all_fit(COMPUTED);
}

#[test]
fn what_is_told_of_traces_fits() {
    assert_all_fit(TRACES);
}

#[test]
fn messages_fit() {
    for words in REFUSED {
        assert_eq!(run(words).status.code(), Some(2), "{words}");
        for columns in [None, Some(60), Some(120)] {
            assert_fits(words, columns);
        }
    }
}

/// Record files, a sweep of one's own, recording and importing: what has files.
#[test]
fn what_is_told_of_files_fits() {
    let directory = tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let [records, spec, sweep, trace, generations] =
        ["records.json", "spec.toml", "sweep", "trace.oracleGeneral", "lru_gen"].map(path);
    let plan = "scenario = \"reclaim-file\"\nground = \"model\"\n\
                variants = [\"young=batched\", \"young=line\"]\n\
                [fields]\nformat = \"x86-64\"\nsize = \"64KiB\"\n[grid]\norder = [0, 4]\n";
    std::fs::write(&spec, plan).expect("a plan");
    stdout(&format!("compare age-file size=4MiB order=0,4 --runs 2 --json --output {records}"));
    let commands = [
        format!("compare {records}"),
        format!("compare {records} --full"),
        format!("compare {records} --format list"),
        format!("compare {records} --format picture"),
        format!("sweep plan {spec}"),
        format!("sweep plan {spec} --dir {sweep}"),
        format!("sweep run --dir {sweep}"),
        format!("sweep status --dir {sweep}"),
        format!("trace export {SAMPLE} --output {trace}"),
        format!("man {}", directory.path().display()),
        format!("trace import {trace} --output {}", path("trace.pgt")),
        format!("trace info {}", path("trace.pgt")),
        format!("trace record --output {} -- true", path("true.pgt")),
        format!("trace info {}", path("true.pgt")),
        format!("report {records} --output {}", path("page.html")),
        format!("sweep merge --dir {sweep} --output {}", path("merged.json")),
        format!("lab lru-gen --read {generations}"),
    ];
    std::fs::write(&generations, GENERATIONS).expect("a text");
    for words in &commands {
        assert_fits(words, None);
    }
}

/// Tables of kernels that only pretend.
#[test]
fn what_the_lab_prints_fits() {
    let fits = |world: &World, words: &str| {
        let mut command = world.command(words);
        command.env("SYMBOLS", SYMBOLS);
        assert!(assert_runs_within(command, words, None) > 0, "{words} prints nothing");
    };
    let world = World::new();
    for words in [
        "build stock patched --patch half.patch",
        "run stock reclaim-file order=0,4 lru=classic,mglru",
        "run stock reclaim-file order=4 --full",
        "compare --patch half.patch",
        "compare --patch half.patch --full",
        "compare --patch half.patch --format list",
        "compare --patch half.patch --format picture",
        "profile stock patched --patch half.patch",
    ] {
        fits(&world, words);
    }
    fits(&series::world(&["half\n", "third\n"]), "series start..main reclaim-file order=4");
    let world = series::world(&["half\n", "races 1\n"]);
    pretend(&world);
    fits(&world, "series start..main lost-write --config x86-64-swap --schedules 8");
    fits(&world, "schedule stock --workload lost-write --config x86-64-swap --save found");
}

#[test]
fn a_file_is_as_wide_as_no_terminal() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("table.txt");
    let words = "run reclaim-file size=4MiB order=4 --runs 2";
    let mut command = command(&format!("{words} --output {}", path.display()));
    assert!(command.env("COLUMNS", "300").status().expect("the binary runs").success());
    assert!(widest(&read(&path)).0 <= 80);
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a text")
}
