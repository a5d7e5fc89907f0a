//! A workload of the user's in every command that takes a scenario, with programs in the place of
//! compilers and emulator that only pretend.

use crate::common::{command, read, stderr};
use crate::lab::{NATIVE, World, assert_failed};
use crate::series::{OK, SLOWER_FROM_5, bisected, ended, printed, world as repository};
use crate::workload::WORKLOAD;
use std::fs;

/// Writes a workload, and returns the option that names it.
fn option(world: &World) -> String {
    format!("--workload {}", world.file("touch.c", WORKLOAD).display())
}

#[test]
fn each_patch_of_a_series_is_compared_in_a_workload() {
    let world = repository(&["half\n", "third\n"]);
    let option = option(&world);
    let text = ended(&world, &format!("series start..main {option} order=8MiB"), 0);
    let checks =
        format!("KTAP version 1\n1..2\n{OK}ok 1 p1: mm:_patch_1\n{OK}ok 2 p2: mm:_patch_2\n");
    assert!(text.starts_with(&checks), "{text}");
    assert!(text.contains("instructions saved per 4K page against base"), "{text}");
    let words = format!("series start..main {option} order=8MiB,16MiB --json --ktap checks");
    let set = read(&ended(&world, &words, 0));
    let ours = set.records.iter().filter(|record| record.scenario == "first-touch");
    assert_eq!(ours.count(), 6);
}

#[test]
fn a_series_fails_on_what_a_workload_is_judged_by() {
    let world = repository(&["third\n", "half\n"]);
    let option = option(&world);
    for (condition, judged) in [("1%", "first-touch, reclaim"), ("reclaim>1%", "first-touch")] {
        let words = format!("series main~1..main {option} --fail-on {condition}");
        let output = world.run(&words);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains(&format!("failed: p1 ({judged}): worse by 66.67%")), "{told}");
        ended(&world, &format!("series start..main {option} --fail-on {condition}"), 0);
    }
    let unknown = world.run(&format!("series start..main {option} --fail-on touch>1%"));
    assert_failed(&unknown, &["unknown metric `touch`", "reclaim"]);
}

#[test]
fn a_workload_decides_a_bisection() {
    let world = repository(&SLOWER_FROM_5);
    let option = option(&world);
    let said = bisected(&world, &format!("{option} order=8MiB --fail-on 1%"));
    assert!(said.contains("is the first bad commit") && said.contains("mm:_patch_5"), "{said}");
}

#[test]
fn a_workload_is_profiled_for_each_value_of_a_field() {
    let world = World::new();
    let option = option(&world);
    let root = "--root try_to_free_mem_cgroup_pages --folded out.folded";
    let words = format!("profile {option} stock order=8MiB,16MiB {root}");
    let text = world.text(&words);
    let title = format!("stock, {NATIVE}, cpu max: first-touch ");
    assert_eq!(text.matches(&title).count(), 2, "{text}");
    for order in ["order=8MiB\n", "order=16MiB\n"] {
        assert!(text.contains(order), "no `{order}` in {text}");
    }
    let folded = fs::read_to_string(world.path("out.folded")).expect("a file");
    assert_eq!(folded.lines().filter(|line| line.ends_with(";r;f 40")).count(), 2, "{folded}");
}

/// Returns the metrics of a workload's one record, and their values.
fn metrics(world: &World, words: &str) -> Vec<(String, f64)> {
    let set = read(&world.text(&format!("run {words} --json")));
    let metrics = set.records[0].metrics.iter();
    metrics.map(|metric| (metric.name.clone(), metric.values[0])).collect()
}

#[test]
fn regions_of_a_workload_are_counted_where_all_counts_are_asked_for() {
    let world = World::new();
    let words = format!("{} stock order=8MiB --counts", option(&world));
    let expected = [
        ("reclaim", 210.0),
        ("reclaim: compare-and-swaps", 1.0),
        ("reclaim: other atomics", 3.0),
        ("reclaim: invalidations", 1.0),
        ("reclaim: barriers", 0.5),
        ("reclaim: barriers for stores", 0.25),
        ("reclaim: lines first touched", 3.5),
        ("other", 1000.0),
        ("reclaim: units", 4.0),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(metrics(&world, &words), expected);
}

#[test]
fn a_workload_on_two_cpus_has_the_counts_of_each() {
    let world = World::new();
    let two = WORKLOAD.replacen("whole", "cpus = 2\nwhole", 1);
    let words = format!("--workload {} stock", world.file("two.c", &two).display());
    let metrics = metrics(&world, &words);
    let of =
        |wanted: &str| metrics.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    assert_eq!(of("reclaim"), Some(210.0));
    assert_eq!([of("reclaim, CPU 0"), of("reclaim, CPU 1")], [Some(200.0), Some(10.0)]);
    assert_eq!(of("reclaim, CPU 1: lines first touched"), Some(2.0));
}

#[test]
fn a_workload_without_a_region_has_no_counts_besides() {
    let world = World::new();
    let counter = WORKLOAD.replacen("per = \"4K page\"", "unit = \"pages\"\nbetter = \"lower\"", 1);
    let path = world.file("counter.c", &counter);
    let output = world.run(&format!("run --workload {} stock --counts", path.display()));
    assert_failed(&output, &["--counts", "its manifest has no region", "lab profile"]);
}

#[test]
fn a_workload_has_a_page_a_list_and_a_condition() {
    let world = World::new();
    let option = option(&world);
    let words = format!("compare {option} stock --patch half.patch");
    let list = world.text(&format!("{words} --format list --html page.html"));
    assert!(list.contains("first-touch") && list.contains("-50"), "{list}");
    let page = fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains("<html") && page.contains("first-touch"), "the page has another");
    let csv = world.text(&format!("{words} --csv"));
    assert_eq!(csv.lines().filter(|line| line.contains("first-touch")).count(), 4, "{csv}");
    // The patch is the base, so that the kernel without it is the worse one.
    for (kernels, status) in [("stock", 0), ("patched stock", 1)] {
        let words = format!("compare {option} {kernels} --patch half.patch --json");
        world.file("records.json", &world.text(&words));
        let records = world.path("records.json");
        let judge = command(&format!("compare {} --fail-on 1%", records.display())).output();
        let judge = judge.expect("it runs");
        assert_eq!(judge.status.code(), Some(status), "{}{}", printed(&judge), stderr(&judge));
    }
}
