//! The cells that a file defines, and the errors for invalid files.
#![forbid(unsafe_code)]

use pageout_experiment::scenarios::Scenario;
use pageout_record::schema::Ground;
use pageout_sweep::{Cell, PARAMETERS, Spec};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn cells(text: &str) -> Vec<Cell> {
    let cells = Spec::read(text).and_then(|spec| spec.cells());
    cells.unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn told(text: &str) -> Vec<String> {
    cells(text).iter().map(Cell::to_string).collect()
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let error = Spec::read(text).and_then(|spec| spec.cells()).expect_err(text).to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    for part in parts {
        assert!(error.contains(part), "no `{part}` in: {error}");
    }
}

#[test]
fn a_grid_has_every_combination_once() {
    let text = "scenario = \"trace\"\n[grid]\nlimit = [\"10%..30%\", \"64MiB\"]\norder = [0, 2]";
    let orders = ["order=0", "order=2"];
    let limits = ["10%", "20%", "30%", "64MiB"];
    let expected: Vec<_> = limits
        .iter()
        .flat_map(|limit| orders.map(|order| format!("trace limit={limit} {order} seed=1")))
        .collect();
    assert_eq!(told(text), expected);
}

#[test]
fn settings_are_swept_over_as_fields_are() {
    let text = "scenario = \"reclaim-file\"\nground = \"model\"\nseed = 9\nruns = 3\ndraws = 5\n\
        times = false\nvariants = [\"young=line\"]\n[fields]\nuffd-wp = true\n[grid]\n\
        seed = [1, 2]\ncores = 4\nplatform = \"kunpeng-920-class\"";
    let [one, two] = &cells(text)[..] else { panic!("two seeds") };
    assert_eq!((one.seed, two.seed, one.cores), (1, 2, Some(4)));
    assert_eq!((one.runs, one.draws, one.times), (Some(3), Some(5), false));
    assert_eq!((one.ground, &*one.variants), (Ground::Model, &["young=line".to_owned()][..]));
    assert_eq!(one.arguments(), ["uffd-wp=yes"]);
    let said = "reclaim-file uffd-wp=yes platform=kunpeng-920-class cores=4 seed=2";
    assert_eq!(two.to_string(), said);
}

#[test]
fn a_list_is_as_it_stands() {
    let text =
        "scenario = \"age-file\"\n[[list]]\norder = \"4\"\n[[list]]\norder = \"0,2\"\nseed = 7";
    assert_eq!(told(text), ["age-file order=4 seed=1", "age-file order=0,2 seed=7"]);
}

#[test]
fn draws_are_the_same_for_a_seed_and_differ_between_seeds() {
    let text = |seed: u64| {
        format!(
            "scenario = \"trace\"\n[random]\ncells = 10\nseed = {seed}\n[random.from]\n\
             limit = \"1%..100%\"\norder = [0, 1, 2]"
        )
    };
    assert_eq!(told(&text(1)), told(&text(1)));
    assert_ne!(told(&text(1)), told(&text(2)));
}

#[test]
fn no_field_has_the_name_of_a_parameter() {
    for form in Scenario::ALL.into_iter().flat_map(Scenario::forms) {
        for field in form.given() {
            assert!(!PARAMETERS.contains(&field.name), "{}", field.name);
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    refused("scenario = ", &["line 1"]);
    refused("ground = \"host\"", &["line 1", "no `scenario`", "expected scenario = VALUE"]);
    refused("scenario = \"trace\"\n\ngird = 3\n", &["line 3", "key `gird`", "mean `grid`?"]);
    let other = ["line 3", "`limits`", "scenario", "trace", "and 4 more"];
    refused("scenario = \"trace\"\n\nlimits = 3\n", &other);
    refused("scenario = \"trac\"", &["`scenario`", "`trac`", "did you mean `trace`"]);
    let on =
        |ground: &str, rest: &str| format!("scenario = \"trace\"\nground = \"{ground}\"\n{rest}");
    refused(&on("linux", ""), &["`ground`", "`linux` of trace", "host or model"]);
    refused("scenario = \"pageout-shared\"", &["`host` of pageout-shared", "accepted: model"]);
    let host = |rest: &str| on("host", rest);
    refused(&host(""), &["[grid], [[list]] and [random]", "found none"]);
    refused(&host("list = []\n[grid]\norder = 4"), &["found several"]);
    refused(&host("[grid]"), &["`grid`", "empty", "one parameter or more"]);
    refused(&host("[grid]\norder = []"), &["`grid.order`", "empty", "one value or more"]);
    refused(&host("list = []"), &["`list`", "empty", "one cell or more"]);
    refused(&host("[random]\ncells = 3\n[random.from]"), &["`random.from`", "empty"]);
    let unknown = ["`grid.oder`", "did you mean `order`", "limit, lru, cores, platform, seed"];
    refused(&host("[grid]\noder = 4"), &unknown);
    refused(&host("[grid]\nplatfrom = 4"), &["`grid.platfrom`", "did you mean `platform`"]);
    refused(&host("[grid]\norder = [4, 10]"), &["`grid.order`", "`10`", "0 to 9, or pmd"]);
    refused(&host("[fields]\nlimit = \"0%\"\n[grid]\norder = 4"), &["`fields.limit`", "`0%`"]);
    refused(&host("[[list]]\norder = 4\n[[list]]\nodd = 3"), &["`list.odd`", "`odd`"]);
    refused(&host("[grid]\norder = 4.5"), &["`grid.order`", "number with a point", "a text"]);
    refused(&host("[grid]\norder = [[4]]"), &["`grid.order`", "found a list"]);
    refused(&host("[grid]\nseed = \"x\""), &["`grid.seed`", "`x`", "whole number"]);
    refused(&host("[grid]\ncores = 257"), &["`grid.cores`", "`257`", "1 to 256"]);
    refused(&host("[fields]\norder = 4\n[grid]\norder = 2"), &["`grid.order`", "[fields] too"]);
    refused(&host("variants = [\"old=yes\"]\n[grid]\norder = 4"), &["`variants`", "`old`"]);
    refused(&host("runs = 0\n[grid]\norder = 4"), &["`runs`", "found 0", "1 to 1000"]);
    refused(&host("draws = 10001\n[grid]\norder = 4"), &["`draws`", "10001", "1 to 10000"]);
    let many = "[random]\ncells = 4\n[random.from]\norder = \"0,1,2\"";
    refused(&host(many), &["`random.cells`", "found 4", "3 different cells"]);
    refused(&host("[random]\ncells = 0\n[random.from]\norder = 1"), &["`random.cells`", "found 0"]);
}

#[test]
fn a_grid_that_nobody_means_is_refused_before_it_is_made() {
    let seeds: Vec<String> = (0..2000).map(|seed| seed.to_string()).collect();
    let text = format!(
        "scenario = \"trace\"\n[grid]\nlimit = \"1%..100%\"\nseed = [{}]",
        seeds.join(", ")
    );
    refused(&text, &["`grid`", "more than 100000 cells"]);
}

proptest! {
    #[test]
    fn draws_are_different_cells_of_the_grid(
        limits in 1..40_usize, seeds in 1..9_u64, part in 1..=100_u64, seed in any::<u32>(),
    ) {
        let own = |table: &str| {
            let seeds: Vec<_> = (1..=seeds).map(|seed| seed.to_string()).collect();
            format!("[{table}]\nlimit = \"1%..{limits}%\"\nseed = [{}]\n", seeds.join(","))
        };
        let grid: Vec<String> = told(&format!("scenario = \"trace\"\n{}", own("grid")));
        prop_assert_eq!(grid.len() as u64, limits as u64 * seeds);
        let nr = (grid.len() as u64 * part).div_ceil(100);
        let random = format!("[random]\ncells = {nr}\nseed = {seed}\n{}", own("random.from"));
        let drawn = told(&format!("scenario = \"trace\"\n{random}"));
        let different: BTreeSet<_> = drawn.iter().collect();
        prop_assert_eq!(different.len() as u64, nr);
        prop_assert!(drawn.iter().all(|cell| grid.contains(cell)));
    }
}
