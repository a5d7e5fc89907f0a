//! `lab series --schedules`, with programs in the place of compilers and emulator that only
//! pretend.

use crate::common::{read, refused, stderr};
use crate::lab::{World, assert_failed};
use crate::schedule::{pretend, searched};
use crate::series::{self, printed};
use pageout_record::schema::RecordSet;
use std::fs;

const SERIES: &str = "series start..main lost-write --config x86-64-swap --schedules 8";
const OK: &str = "  KTAP version 1\n  1..5\n  ok 1 applies\n  ok 2 builds\n  ok 3 boots\n  \
    ok 4 without turns\n  ok 5 seeds\n";

/// Makes a tree that is a repository, with a commit for each text that `mm/vmscan.c` takes.
fn world(texts: &[&str]) -> World {
    let world = series::world(texts);
    pretend(&world);
    world
}

/// Runs a command that must end with this status, and returns its output.
fn ended(world: &World, words: &str, status: i32) -> String {
    let output = searched(world, words);
    assert_eq!(output.status.code(), Some(status), "{}{}", printed(&output), stderr(&output));
    assert!(world.is_quiet());
    printed(&output)
}

#[test]
fn the_patch_that_brings_a_race_is_not_ok() {
    let world = world(&["half\n", "races 1\n", "races 2\n", "third\n"]);
    let words = format!("{SERIES} --save found --html page.html");
    let text = ended(&world, &words, 1);
    for part in [
        &format!("KTAP version 1\n1..4\n{OK}ok 1 p1: mm:_patch_1\n"),
        "  # 4 seeds tried, 1 failed\n  # seed 3: a check failed: stored 3, the disk has 0\n  \
            # its schedule elsewhere: base passes, p1 passes, p3 fails, p4 passes\n  \
            not ok 5 seeds\nnot ok 2 p2: mm:_patch_2\n",
        "not ok 3 p3: mm:_patch_3\n",
        &format!("{OK}ok 4 p4: mm:_patch_4\n"),
        "lost-write 2 alone on 3 CPUs, few=16, seeds 0 to 7\n",
        "turn 0 shrink_folio_list+0x15 ",
        "  p3: fails: a check failed: stored 3, the disk has 0; 1 of 1 turns given up; another",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split_whitespace().collect()).collect();
    for row in [&["base", "passes", "8", "0"][..], &["p2", "passes", "4", "1", "seed", "3:"]] {
        assert!(rows.iter().any(|found| found.starts_with(row)), "no {row:?} in:\n{text}");
    }
    for kernel in ["p2", "p3"] {
        let kept = world.path(&format!("found/{kernel}-seed-3.schedule"));
        assert!(kept.is_file(), "{}", kept.display());
    }
    let mail = ended(&world, &format!("{SERIES} --format list --ktap checks"), 1);
    assert!(mail.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{mail}");
    assert!(mail.contains("\npageout lab series start..main lost-write "), "{mail}");
    let page = fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains("p2: mm:_patch_2"), "the page has the subject");
}

#[test]
fn a_failure_of_the_base_is_expected_and_another_one_is_not() {
    let world = world(&["races 1\n", "races 2\n", "worse\n", "half\n"]);
    let words = SERIES.replace("start", "main~3");
    let text = ended(&world, &words, 1);
    for part in [
        "  ok 5 seeds # XFAIL the base fails so too\nok 1 p1: mm:_patch_2\n",
        "  # seed 3: the kernel panicked: kernel BUG at mm/vmscan.c:3!\n",
        "not ok 2 p2: mm:_patch_3\n",
        &format!("{OK}ok 3 p3: mm:_patch_4\n"),
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    ended(&world, &words.replace("..main", "..main~2"), 0);
}

#[test]
fn a_patch_without_a_search_is_a_gap() {
    let world = world(&["broken\n", "never\n", "always\n"]);
    let output = searched(&world, SERIES);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("error: kernel p1, x86-64-swap, does not build"));
    let text = ended(&world, &format!("{SERIES} --keep-going"), 1);
    for part in [
        "\n  not ok 2 builds\n  ok 3 boots # SKIP it is not built\n",
        "it says:\n  #   Kernel panic - not syncing: Oops\n",
        "\n  not ok 3 boots\n  ok 4 without turns # SKIP it does not boot\n",
        "  # a check failed: stored 0, the disk has 0\n  not ok 4 without turns\n",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let never = searched(&world, &SERIES.replace("start..main", "main~1..main"));
    assert_failed(
        &never,
        &["the base: base, lost-write 2 alone", "before the workload began", "Oops"],
    );
    assert_eq!(never.status.code(), Some(2));
}

#[test]
fn records_have_a_search_of_each_kernel() {
    let world = world(&["races\n"]);
    let words = format!("{SERIES} --all-seeds --json --ktap checks --points mm/vmscan.c");
    let set: RecordSet = read(&ended(&world, &words, 1));
    let of = |name: &str| -> Vec<f64> {
        let metrics = set.records.iter().flat_map(|record| &record.metrics);
        metrics.filter(|metric| metric.name == name).flat_map(|of| of.values.clone()).collect()
    };
    assert_eq!((of("seeds"), of("seeds that failed")), (vec![8.0, 8.0], vec![0.0, 2.0]));
    let checks = fs::read_to_string(world.path("checks")).expect("a file");
    assert!(checks.contains("not ok 1 p1: mm:_patch_1\n"), "{checks}");
}

#[test]
fn git_bisect_finds_the_commit_that_races() {
    let texts = ["half 1\n", "half 2\n", "broken\n", "half 3\n", "races 1\n", "races 2\n"];
    let world = world(&texts);
    let judge = "lost-write --schedules 8 --config x86-64-swap";
    let said = series::bisected_with(&world, judge, &[("SYMBOLS", crate::schedule::SYMBOLS)]);
    assert!(said.contains("is the first bad commit") && said.contains("mm:_patch_5"), "{said}");
}

#[test]
fn words_that_make_no_search_of_a_series() {
    let series = "lab series a..b --tree . --config x86-64-swap";
    refused(&format!("{series} --strategy few=3"), &["--schedules"]);
    refused(&format!("{series} --schedules 0"), &["--schedules", "`0`"]);
    refused(&format!("{series} --schedules 5 --fail-on 1%"), &["--fail-on"]);
    refused(&format!("{series} --schedules 5 --runs 5"), &["--runs"]);
    refused(&format!("{series} --schedules 5 no-such"), &["unknown workload `no-such`"]);
    refused(&format!("{series} --schedules 5 x.c --workload y.c"), &["x.c", "one of the two"]);
    refused("lab series a..b --tree . --config arm64-4k-swap --schedules 5", &["x86-64-swap"]);
    refused(&format!("{series} --schedules 5 --points /mm"), &["--points /mm"]);
    refused(&format!("{series} --schedules 5 --json"), &["--output FILE", "--ktap FILE"]);
}
