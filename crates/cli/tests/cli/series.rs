//! `lab series`, with programs in the place of compilers and emulator that only pretend, and git.

use crate::common::{read, refused, stderr};
use crate::lab::{NATIVE, World, assert_failed};
use pageout_record::schema::RecordSet;
use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output};

/// Makes a tree that is a repository, with a commit for each text that `mm/vmscan.c` takes.
pub(crate) fn world(texts: &[&str]) -> World {
    let world = World::new();
    git(&world, "init --quiet --initial-branch=main");
    git(&world, "add .");
    git(&world, "commit --quiet --message start");
    git(&world, "tag start");
    for (text, number) in texts.iter().zip(1..) {
        world.file("tree/mm/vmscan.c", text);
        git(&world, &format!("commit --quiet --all --message mm:_patch_{number}"));
    }
    world
}

pub(crate) fn git(world: &World, words: &str) -> String {
    let mut command = Command::new("git");
    command.current_dir(world.path("tree")).args(["-c", "user.name=A", "-c", "user.email=a@b"]);
    let output = command.args(words.split(' ')).output().expect("git runs");
    assert!(output.status.success(), "{words}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Runs a command that must end with this status, and returns its output.
pub(crate) fn ended(world: &World, words: &str, status: i32) -> String {
    let output = world.run(words);
    assert_eq!(output.status.code(), Some(status), "{}{}", printed(&output), stderr(&output));
    printed(&output)
}

pub(crate) const OK: &str = "  KTAP version 1\n  1..6\n  ok 1 applies\n  ok 2 builds\n  ok 3 boots\n  \
    ok 4 helper calls\n  ok 5 mixed mappings\n  ok 6 counters of the scenario\n";

#[test]
fn every_patch_is_compared_with_the_base_and_with_the_one_before_it() {
    let world = world(&["half\n", "third\n"]);
    world.file("tree/mm/vmscan.c", "not committed\n");
    let before = git(&world, "status --porcelain --branch");
    let output = world.run("series start..main reclaim-file order=4");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = printed(&output);
    let checks =
        format!("KTAP version 1\n1..2\n{OK}ok 1 p1: mm:_patch_1\n{OK}ok 2 p2: mm:_patch_2\n");
    let tables = text.strip_prefix(&checks).unwrap_or_else(|| panic!("{text}"));
    let line = |begins: &str| {
        let mut lines = tables.lines().filter(|line| line.starts_with(begins));
        let line = lines.next().unwrap_or_else(|| panic!("no line `{begins}`:\n{tables}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(tables.contains("500 -50.0%   300 -70.0%"), "{tables}");
    assert!(line("base").contains("Linux 6.12.1-mine, "), "{tables}");
    assert_eq!([line("p1  "), line("p2  ")], ["p1 mm:_patch_1", "p2 mm:_patch_2"]);
    let (_, saved) = tables.split_once("instructions saved per 4K page against base").expect("it");
    let mut rows = saved.lines().filter(|line| line.starts_with("reclaim"));
    let row: Vec<&str> = rows.next().expect("a row").split_whitespace().collect();
    assert_eq!(row[1..], ["500", "700"]);
    let (_, steps) = tables.split_once("what each patch saves").expect("it");
    let rows: Vec<Vec<&str>> = steps.lines().map(|row| row.split_whitespace().collect()).collect();
    for row in [
        &["base", "1000", "Linux"][..],
        &["p1", "500", "500", "mm:_patch_1"],
        &["p2", "300", "200", "mm:_patch_2"],
    ] {
        assert!(rows.iter().any(|found| found.starts_with(row)), "no {row:?} in:\n{steps}");
    }
    let told = stderr(&output);
    for part in ["building base, ", "building p2, ", "building 3 kernels takes"] {
        assert!(told.contains(part), "no `{part}` in:\n{told}");
    }
    assert!(world.is_quiet());
    assert_eq!(git(&world, "status --porcelain --branch"), before);
    assert!(!stderr(&world.run("series start..main age-file")).contains("building"));
}

#[test]
fn records_have_the_number_and_the_subject() {
    let world = world(&["half\n", "third\n"]);
    let words = "series start..main reclaim-file order=0,4 --json --ktap checks --html page.html";
    let set: RecordSet = read(&ended(&world, words, 0));
    let kernels = |scenario: &str| -> Vec<String> {
        let records = set.records.iter().filter(|record| record.scenario == scenario);
        records.map(|record| record.variant["kernel"].clone()).collect()
    };
    let [one, two] = ["p1: mm:_patch_1", "p2: mm:_patch_2"];
    assert_eq!(kernels("reclaim-file"), ["base", "base", one, one, two, two]);
    assert_eq!(kernels("mixed-mappings"), ["base", "base", one, one, two, two]);
    assert_eq!(kernels("helper-calls"), ["base", one, two]);
    let checks = fs::read_to_string(world.path("checks")).expect("a file");
    assert!(checks.starts_with("KTAP version 1\n1..2\n"), "{checks}");
    let page = fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains(one), "the page has the subject");
    let same = "series start..main mixed-mappings lru=classic --json --output r.json";
    assert!(ended(&world, same, 0).starts_with("KTAP version 1\n"));
    let set = read(&fs::read_to_string(world.path("r.json")).expect("records"));
    let mixed = set.records.iter().filter(|record| record.scenario == "mixed-mappings").count();
    assert_eq!(mixed, 6, "no run is told twice");
}

#[test]
fn a_list_for_a_cover_letter_keeps_to_its_width() {
    let texts: Vec<String> = (0..12).map(|n| format!("half {n}\n")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let world = world(&texts);
    let text = ended(&world, "series start..main --format list --ktap checks", 0);
    assert!(text.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{text}");
    for part in [
        "p12: mm:_patch_12\n",
        "base: Linux 6.12.1-mine, ",
        "pageout lab series start..main --format list",
        "instructions per 4K page, and what each patch saves\n",
        "classic",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let steps = text.split_once("what each patch saves").expect("steps").1;
    let rows = steps.lines().filter_map(|line| line.split_whitespace().next());
    let rows: Vec<&str> = rows.filter(|name| name.starts_with('p')).collect();
    let patches: Vec<String> = (1..=12).map(|n| format!("p{n}")).collect();
    // As many tables as the width takes, with all patches each.
    assert!(!rows.is_empty() && rows.chunks(12).all(|table| table == patches), "{steps}");
}

#[test]
fn of_many_patches_the_last_has_a_column_and_each_has_a_row() {
    let world = world(&["half 1\n", "half 2\n", "half 3\n", "half 4\n", "third\n"]);
    let text = ended(&world, "series start..main reclaim-file order=4 --ktap checks", 0);
    assert!(text.lines().all(|line| line.contains('/') || line.len() <= 120), "{text}");
    let head = text.lines().find(|line| line.trim_start().starts_with("base ")).expect("a head");
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["base", "p5"]);
    let (_, steps) = text.split_once("what each patch saves").expect("steps");
    assert_eq!(steps.lines().filter(|line| line.contains("mm:_patch_")).count(), 5, "{text}");
}

#[test]
fn mails_go_on_top_of_a_tree() {
    let world = world(&["half\n", "third\n"]);
    let mails = git(&world, "format-patch --stdout --cover-letter start..main");
    world.file("s.mbox", &mails);
    git(&world, "checkout --quiet start");
    let text = ended(&world, "series --mbox s.mbox reclaim-file order=4", 0);
    assert!(text.contains("ok 2 p2: mm:_patch_2\n"), "{text}");
    assert!(text.contains("500 -50.0%   300 -70.0%"), "{text}");
    world.file("r.mbox", "From a Thu Jan  1 00:00:00 1970\nFrom: a\nSubject: hello\n\nhello\n");
    assert_failed(&world.run("series --mbox r.mbox"), &["r.mbox: there is no patch in its mail"]);
    let error = world.run("series --mbox s.mbox --ktap s.mbox");
    assert_failed(&error, &["output s.mbox: it is an input"]);
}

#[test]
fn a_thread_is_taken_in_the_order_of_its_latest_version() {
    let world = world(&["half\n", "third\n"]);
    let new = git(&world, "format-patch --stdout --cover-letter -v2 start..main");
    let old = git(&world, "format-patch --stdout start..main");
    git(&world, "checkout --quiet start");
    let of = |text: &str| -> Vec<String> {
        let mails = text.split("\nFrom ").map(|mail| mail.trim_start_matches("From "));
        mails.map(|mail| format!("From {mail}\n")).collect()
    };
    let ([cover, one, two], [old_one, old_two]) = (&of(&new)[..], &of(&old)[..]) else {
        panic!("{new}{old}")
    };
    let reply = old_one.replace("Subject: [PATCH", "Subject: Re: [PATCH");
    world.file("t.mbox", &[two, old_two, &reply, old_one, cover, one].map(|m| &**m).concat());
    let output = world.run("series --mbox t.mbox reclaim-file order=4");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(printed(&output).contains("500 -50.0%   300 -70.0%"), "{}", printed(&output));
    let note = "t.mbox: takes 2 patches, version 2, and passes over 4 other mails\n";
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    world.file("gap.mbox", &[old_two, cover, two].map(|mail| &**mail).concat());
    let error = world.run("series --mbox gap.mbox");
    assert_failed(&error, &["gap.mbox: version 2 of the series lacks patch 1 of 2"]);
    world.file("both.mbox", &[old_two, old_one].map(|mail| &**mail).concat());
    let text = world.text("compare --patch x=both.mbox");
    assert!(text.contains("300 -70.0%") && text.contains("+ mm:_patch_2"), "{text}");
}

#[test]
fn a_patch_that_does_not_apply_ends_those_after_it() {
    let world = world(&["half\n", "third\n", "half\n"]);
    let mails = git(&world, "format-patch --stdout start..main").replace("-half", "-other");
    world.file("s.mbox", &mails);
    git(&world, "checkout --quiet start");
    let output = world.run("series --mbox s.mbox");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let misfit = "patch 2 (`mm:_patch_2`) does not apply: mm/vmscan.c (hunk 1 of 1)";
    let told = stderr(&output);
    assert!(told.contains(&format!("error: {misfit}")) && told.contains("rejects/last"), "{told}");
    assert!(!told.contains("building"), "{told}");
    let text = printed(&output);
    assert!(text.contains(&format!("  # {misfit}")), "{text}");
    let third = "  ok 1 applies # SKIP p2 does not apply\n  ok 2 builds # SKIP it does not apply\n";
    assert!(text.contains(third), "{text}");
    assert!(text.ends_with("ok 3 p3: mm:_patch_3 # SKIP p2 does not apply\n"), "{text}");
    let words = "series --mbox s.mbox reclaim-file order=4 --keep-going";
    let text = ended(&world, words, 1);
    assert!(text.contains(&format!("1..3\n{OK}ok 1 p1: mm:_patch_1\n")), "{text}");
    assert!(text.contains("not ok 2 p2: mm:_patch_2\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("  reclaim ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..], ["1000", "500", "-50.0%", "-", "-"], "{text}");
    let held = format!("{words} --fail-on reclaim>1%");
    ended(&world, &held, 125);
}

#[test]
fn a_patch_that_does_not_build_may_be_mended_by_the_next() {
    let world = world(&["half\n", "broken\n", "third\n"]);
    let words = "series start..main reclaim-file order=4";
    let output = world.run(words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(
        told.contains(&format!("error: kernel p2, {NATIVE}, does not build; the log")),
        "{told}"
    );
    assert!(printed(&output).contains("\n  not ok 2 builds\n"), "{}", printed(&output));
    assert!(!printed(&output).contains("saved per 4K page"), "{}", printed(&output));
    let text = ended(&world, &format!("{words} --keep-going"), 1);
    for part in [
        "ok 1 p1: ",
        "\n  not ok 2 builds\n  ok 3 boots # SKIP it is not built\n",
        "not ok 2 p2: ",
        &format!("{OK}ok 3 p3: "),
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let begins = format!("  # kernel p2, {NATIVE}, does not ");
    let log = text.lines().find_map(|line| line.strip_prefix(&begins));
    let log = log.and_then(|rest| rest.split_once("the log is ")).expect("the log").1;
    let log = fs::read_to_string(log.trim_end_matches(':')).expect("it is kept");
    assert!(log.contains("error: broken"), "{log}");
    let row = text.lines().find(|line| line.starts_with("  reclaim ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..], ["1000", "500", "-50.0%", "-", "300", "-70.0%"], "{text}");
}

#[test]
fn a_patch_that_does_not_boot_is_a_gap() {
    let world = world(&["panics\n", "half\n"]);
    let words = "series start..main reclaim-file order=4";
    let output = world.run(words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let panicked = format!("error: p1, {NATIVE}, cpu max: the kernel panicked");
    for part in [&panicked, "runs/p1-"] {
        assert!(stderr(&output).contains(part), "no `{part}` in {}", stderr(&output));
    }
    let text = ended(&world, &format!("{words} --keep-going"), 1);
    let first = "\n  not ok 3 boots\n  ok 4 helper calls # SKIP it does not boot\n";
    assert!(text.contains(first) && text.contains(&format!("{OK}ok 2 p2: ")), "{text}");
    assert!(world.is_quiet());
    ended(&world, &format!("{words} --keep-going --fail-on reclaim>1%"), 125);
    ended(&world, &format!("{words} --fail-on reclaim>1%"), 125);
}

#[test]
fn the_base_has_to_run() {
    let world = world(&["panics\n", "half\n"]);
    let range = "series main~1..main --keep-going";
    let failed = world.run(range);
    assert_eq!((failed.status.code(), printed(&failed)), (Some(2), String::new()));
    let told = stderr(&failed);
    let panicked = format!("error: the base: base, {NATIVE}, cpu max: the kernel pan");
    assert!(told.contains(&panicked), "{told}");
    let judged = world.run(&format!("{range} --fail-on reclaim>1%"));
    assert_eq!(judged.status.code(), Some(125), "{}", stderr(&judged));
    assert_eq!(printed(&judged), "");
}

#[test]
fn counts_and_helpers_are_those_of_the_base() {
    let world = world(&["half fewer\n", "half lies\n", "half\n"]);
    let text = ended(&world, "series start..main reclaim-file order=4", 1);
    for part in [
        "  # pgsteal (order=classic): 4 of the base, 3 here\n  \
            # pgsteal (order=mglru): 4 of the base, 3 here\n  not ok 5 mixed mappings\n",
        "found the kernel wrong: call 7\n",
        "\n  not ok 4 helper calls\n  ok 5 mixed mappings\n",
        &format!("not ok 2 p2: mm:_patch_2\n{OK}ok 3 p3: mm:_patch_3\n"),
        "instructions saved per 4K page against base",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn a_condition_is_judged_for_every_patch() {
    let world = world(&["third\n", "half\n"]);
    git(&world, "branch middle main~1");
    let judged = |range: &str| {
        let words = format!("series {range} reclaim-file order=4 --fail-on reclaim>1%");
        let output = world.run(&words);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(judged("start..main").0, Some(0));
    let (status, told) = judged("middle..main");
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("reclaim>1%: failed: p1 (reclaim-file): worse by 66.67%"), "{told}");
}

#[test]
fn with_last_only_the_head_is_built_and_judged() {
    let world = world(&["broken\n", "third\n"]);
    let words = "series start..main reclaim-file order=4 --last --fail-on 1%";
    let text = ended(&world, words, 0);
    assert!(
        text.starts_with(&format!("KTAP version 1\n1..1\n{OK}ok 1 p2: mm:_patch_2\n")),
        "{text}"
    );
    git(&world, "checkout --quiet main~1");
    ended(&world, "series start..HEAD reclaim-file order=4 --last --fail-on 1% --bisect", 125);
    let unknown = world.run("series start..nowhere order=4 --last --fail-on 1% --bisect");
    assert_eq!(unknown.status.code(), Some(128), "{}", stderr(&unknown));
    let base = world.run("series main~1..main order=4 --last --fail-on 1% --bisect");
    assert_eq!(base.status.code(), Some(128), "{}", stderr(&base));
}

/// Bisects from `main~5`, the good commit, to `main` by a judgement of the range between, and
/// returns all that git says.
pub(crate) fn bisected(world: &World, judge: &str) -> String {
    bisected_with(world, judge, &[])
}

/// Bisects with further variables of the environment.
pub(crate) fn bisected_with(world: &World, judge: &str, variables: &[(&str, &str)]) -> String {
    git(world, "bisect start main main~5");
    let pageout = world.command(&format!("series main~5..HEAD {judge} --last --bisect"));
    let mut bisect = Command::new("git");
    bisect.current_dir(world.path("tree")).args(["bisect", "run"]).arg(pageout.get_program());
    let of_tree = |word: &OsStr| match word.to_str() {
        Some("cache") => "../cache".into(),
        Some("tree") => ".".into(),
        Some("main~5..HEAD") => format!("{}..HEAD", git(world, "rev-parse main~5").trim()).into(),
        _ => word.to_owned(),
    };
    bisect.args(pageout.get_args().map(of_tree));
    for (name, value) in pageout.get_envs() {
        bisect.env(name, value.expect("it is set"));
    }
    bisect.envs(variables.iter().copied());
    let output = bisect.output().expect("git runs");
    let said = printed(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    said
}

/// Commits after the start: faster, faster, one that does not build, faster, and two slower ones.
pub(crate) const SLOWER_FROM_5: [&str; 6] =
    ["third 1\n", "third 2\n", "broken\n", "third 3\n", "half 1\n", "half 2\n"];

/// The commit that does not build is passed over.
#[test]
fn git_bisect_finds_the_commit_that_is_slower() {
    let said = bisected(&world(&SLOWER_FROM_5), "reclaim-file order=4 --fail-on 1%");
    assert!(said.contains("is the first bad commit") && said.contains("mm:_patch_5"), "{said}");
}

#[test]
fn arguments_that_make_no_series() {
    refused("lab series", &["either a range BASE..HEAD with --tree DIR, or", "--mbox FILE"]);
    refused("lab series a..b", &["a..b is a range of a repository's commits: give --tree DIR"]);
    refused("lab series a..b --tree . --mbox Cargo.toml", &["either a range"]);
    refused("lab series HEAD --tree .", &["scenario `HEAD`", "a range BASE..HEAD", "reclaim-file"]);
    refused("lab series a..b --tree . --json", &["--output FILE", "--ktap FILE"]);
    refused("lab series a..b --tree . --fail-on reclam>1%", &["`reclam`", "reclaim"]);
    refused(
        "lab series a..b --tree . mixed-mappings --fail-on reclaim>1%",
        &["unknown metric `reclaim`", "none"],
    );
    refused("lab series a..b --tree . helper-calls --runs 5", &["--runs 5"]);
    refused("lab series a..b --tree /nowhere", &["/nowhere"]);
    refused("lab series --mbox /nowhere", &["--mbox /nowhere: No such file"]);
    let world = world(&["half\n"]);
    for (range, part) in [
        ("start..none", "has no commit `none`"),
        ("start...main", "expected BASE..HEAD"),
        ("main..main", "no patch in main..main"),
    ] {
        assert_failed(&world.run(&format!("series {range}")), &[part]);
    }
}
