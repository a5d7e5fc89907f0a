//! Tests of the scenario: its repetitions, and the cores that it interrupts.

use super::PageoutShared;
use crate::{Model, Scenario as _};
use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios::Compared;
use pageout_experiment::scenarios::metrics::pageout_shared::{CPU_SHARE, REPETITION};
use pageout_machine::platform::{Draw, Platform};
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

fn model(platform: &str, cores: u16) -> Model {
    let platform = Platform::named(platform);
    assert!(platform.is_some(), "a platform that comes with the program");
    let threads = NonZeroUsize::MIN;
    Model { platform, cores: Some(cores), draws: 0, runs: 1, seed: 1, threads }
}

fn parse(fields: &str, model: &Model) -> Result<Vec<PageoutShared>, FieldError> {
    let fields: Vec<_> = fields.split_whitespace().map(str::to_owned).collect();
    PageoutShared::parse(&fields, model)
}

/// Returns the records with immediate and with deferred shootdowns.
fn records(fields: &str, model: &Model) -> Vec<Record> {
    let all = parse(fields, model).expect("fields of the scenario");
    PageoutShared::records(&all, &Compared::SHOOTDOWN, model, &mut |_, _| {})
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("{name} is told")).values[0]
}

#[test]
fn a_repetition_takes_as_long_however_many_there_are() {
    for platform in ["snapdragon-888-class", "kunpeng-920-class"] {
        let model = model(platform, 8);
        let few = records("size=128KiB times=100", &model);
        for (few, many) in few.iter().zip(records("size=128KiB times=400", &model)) {
            let (few, many) = (value(few, REPETITION.name), value(&many, REPETITION.name));
            assert!((few / many - 1.0).abs() < 0.005, "{platform}: {few} and {many} us");
        }
    }
}

#[test]
fn every_page_goes_out_every_time() {
    for (fields, pages) in [
        ("size=256KiB times=5", 64.0),
        ("size=256KiB times=5 processes=3 out=memory.reclaim", 64.0),
    ] {
        for record in records(fields, &model("snapdragon-888-class", 4)) {
            assert_eq!(value(&record, "pages written to swap"), pages, "{fields}");
        }
    }
}

/// Immediate shootdowns take a barrier a page; deferred ones take one for each 31 folios that are
/// freed together.
#[test]
fn deferring_leaves_a_barrier_for_a_batch() {
    let machine = model("snapdragon-888-class", 8);
    let [immediate, deferred] = &records("times=3", &machine)[..] else { panic!("two variants") };
    let told = |record, name| value(record, name);
    assert_eq!(
        told(immediate, "invalidations broadcast"),
        told(deferred, "invalidations broadcast")
    );
    assert_eq!(told(immediate, "invalidations broadcast"), 256.0, "one a page");
    assert!(told(immediate, "barriers") >= 256.0);
    assert!(told(deferred, "barriers") <= 2.0 * 256.0 / 31.0);
    for name in [REPETITION.name, CPU_SHARE.name] {
        assert!(told(immediate, name) > told(deferred, name), "{name}");
    }
}

/// On x86, one process on one core interrupts no other core. Each process that shares the memory
/// adds an interrupt.
#[test]
fn interrupts_go_to_those_who_map_the_memory() {
    let machine = model("x86-server-class", 4);
    let alone = records("size=128KiB times=3", &machine);
    assert!(alone.iter().all(|record| value(record, "interrupts") == 0.0));
    let shared = records("size=128KiB times=3 processes=3 out=memory.reclaim", &machine);
    let [immediate, deferred] = &shared[..] else { panic!("two variants") };
    assert!(value(immediate, "interrupts") >= value(deferred, "interrupts"));
    assert!(value(immediate, "interrupts") + value(immediate, "cores spared as lazy") > 0.0);
}

/// Pages that repeat a word cost a copy and a fill, whatever compressing costs.
#[test]
fn pages_of_one_word_are_not_compressed() {
    let machine = model("snapdragon-888-class", 8);
    let prices = machine.platform.as_ref().expect("given above").prices(Draw::Nominal);
    let of =
        |content| value(&records(&format!("times=3 content={content}"), &machine)[0], "repetition");
    let less = prices.compress_page.ns() + prices.decompress_page.ns()
        - prices.copy_page.ns()
        - prices.zero_page.ns();
    let seen = of("mixed") - of("same");
    assert!((seen / (256.0 * less / 1e3) - 1.0).abs() < 0.01, "{seen} us a repetition");
}

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let mut machine = model("snapdragon-888-class", 4);
    (machine.draws, machine.runs) = (3, 2);
    let json = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let model = Model { threads, ..machine.clone() };
        let fields = "size=64KiB times=3 processes=1,2 out=memory.reclaim";
        serde_json::to_string(&records(fields, &model)).expect("records are JSON")
    };
    let one = json(1);
    assert!(json(2) == one);
    let parsed: Vec<Record> = serde_json::from_str(&one).unwrap();
    RecordSet::new(pageout_experiment::this_machine::this_run(), parsed)
        .validate()
        .expect("valid records");
}

#[test]
fn bad_fields_are_refused() {
    let machine = model("snapdragon-888-class", 4);
    let refused = |fields: &str| parse(fields, &machine).unwrap_err().to_string();
    assert!(refused("processes=2").contains("out=memory.reclaim"));
    assert!(refused("times=0").contains("from 1 to"));
    assert!(refused("out=kswapd").contains("madvise or memory.reclaim"));
    assert!(refused("size=5000").contains("multiple of the page size"));
    assert!(refused("order=4").contains("format, size, processes, times, out or content"));
    assert!(refused("format=x86-64").contains("a format of arm64"));
}
