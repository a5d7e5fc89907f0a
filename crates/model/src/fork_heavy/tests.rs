//! The scenario: what deferring costs whoever changes an address space.

use super::ForkHeavy;
use crate::{Model, Scenario as _};
use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios::Compared;
use pageout_experiment::scenarios::metrics::fork_heavy::LOOP;
use pageout_experiment::variant::Variant;
use pageout_machine::platform::Platform;
use pageout_reclaim::ShootdownWhen;
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

fn model(platform: &str, cores: u16) -> Model {
    let platform = Platform::named(platform);
    assert!(platform.is_some(), "a platform that comes with the program");
    let threads = NonZeroUsize::MIN;
    Model { platform, cores: Some(cores), draws: 0, runs: 1, seed: 1, threads }
}

fn parse(fields: &str, model: &Model) -> Result<Vec<ForkHeavy>, FieldError> {
    let fields: Vec<_> = fields.split_whitespace().map(str::to_owned).collect();
    ForkHeavy::parse(&fields, model)
}

fn records(fields: &str, variants: &[Variant], model: &Model) -> Vec<Record> {
    let all = parse(fields, model).expect("fields of the scenario");
    ForkHeavy::records(&all, variants, model, &mut |_, _| {})
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metrics.iter().find(|metric| metric.name == name);
    metric.unwrap_or_else(|| panic!("{name} is told")).values[0]
}

fn at(shootdown: ShootdownWhen) -> Variant {
    Variant { shootdown, ..Compared::SHOOTDOWN[0] }
}

#[test]
fn without_reclaim_nothing_is_put_off() {
    for platform in ["kunpeng-920-class", "x86-server-class"] {
        let model = model(platform, 4);
        let fields = "size=64KiB loops=3 reclaim=never";
        let [immediate, deferred] = &records(fields, &Compared::SHOOTDOWN, &model)[..] else {
            panic!("two variants")
        };
        assert_eq!(immediate.metrics, deferred.metrics, "{platform}");
    }
}

/// With one core, whoever reclaims and the shell take turns.
#[test]
fn reclaim_meets_the_shells_on_any_number_of_cores() {
    for platform in ["kunpeng-920-class", "x86-server-class"] {
        // On one core a turn is some milliseconds.
        for (cores, loops) in [(1, 300), (2, 4), (5, 4)] {
            let model = model(platform, cores);
            let fields = format!("size=128KiB loops={loops}");
            for record in records(&fields, &Compared::SHOOTDOWN, &model) {
                let written = value(&record, "pages written to swap");
                assert!(written > 0.0, "{platform}, {cores} cores");
                assert!(value(&record, LOOP.name) > 0.0);
            }
        }
    }
}

#[test]
fn gates_go_by_the_machine_s_cores() {
    let of = |shootdown, cores| {
        let model = model("kunpeng-920-class", cores);
        let record = records("size=64KiB loops=2", &[at(shootdown)], &model).remove(0);
        record.metrics
    };
    for cores in [3, 4, 8] {
        let [immediate, deferred] =
            [ShootdownWhen::Immediate, ShootdownWhen::Deferred].map(|when| of(when, cores));
        assert_ne!(immediate, deferred, "{cores} cores");
        for (gate, least) in [(ShootdownWhen::DeferredFrom4, 4), (ShootdownWhen::DeferredFrom8, 8)]
        {
            let expected = if cores < least { &immediate } else { &deferred };
            assert_eq!(&of(gate, cores), expected, "{gate:?}, {cores} cores");
        }
    }
}

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let mut machine = model("x86-server-class", 3);
    (machine.draws, machine.runs) = (2, 2);
    let json = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let model = Model { threads, ..machine.clone() };
        let fields = "size=64KiB loops=2 reclaim=running,never";
        let records = records(fields, &Compared::SHOOTDOWN, &model);
        serde_json::to_string(&records).expect("records are JSON")
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
    let machine = model("x86-server-class", 4);
    let refused = |fields: &str| parse(fields, &machine).unwrap_err().to_string();
    assert!(refused("loops=0").contains("from 1 to"));
    assert!(refused("reclaim=kswapd").contains("running or never"));
    assert!(refused("size=4096").contains("32KiB"));
    assert!(refused("order=4").contains("format, size, loops or reclaim"));
}
