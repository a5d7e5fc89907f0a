//! The smallest settings that a scenario accepts, on each of its grounds: every figure is a number.

use pageout_experiment::rounds::Rounds;
use pageout_experiment::scenarios::Scenario;
use pageout_model::Model;
use pageout_record::schema::Ground;
use pageout_run::{Question, QuestionError, Setting, Trace, Variants, plan};
use std::num::NonZeroUsize;

/// Fields, and the scenarios that take them.
const SMALLEST: [(Scenario, &[&str]); 13] = [
    (Scenario::ReclaimFile, &["order=0", "size=4KiB", "reclaim=100%"]),
    (Scenario::ReclaimFile, &["order=0", "size=8KiB", "reclaim=50%"]),
    (Scenario::ReclaimFile, &["order=4", "size=64KiB", "reclaim=7%"]),
    (Scenario::ReclaimFile, &["order=pmd", "size=2MiB", "reclaim=1%"]),
    (Scenario::ReclaimShmem, &["order=0", "size=4KiB", "reclaim=100%"]),
    (Scenario::ReclaimShmem, &["order=4", "size=64KiB", "reclaim=7%"]),
    (Scenario::AgeFile, &["order=0", "size=4KiB"]),
    (Scenario::AgeFile, &["order=4", "size=64KiB"]),
    (Scenario::MadvFree, &["order=0", "size=4KiB"]),
    (Scenario::AgingRounds, &["order=0", "size=256KiB", "limit=100%", "reclaim=1%"]),
    (Scenario::PageoutShared, &["size=4KiB"]),
    (Scenario::Faults, &["size=4KiB", "tasks=1"]),
    (Scenario::Faults, &["size=4KiB", "tasks=2", "memory=file", "reclaim=yes"]),
];

fn settings() -> [(Ground, Setting); 2] {
    let model = Model {
        platform: None,
        cores: None,
        draws: 0,
        runs: 1,
        seed: 1,
        threads: NonZeroUsize::MIN,
    };
    let host = Setting::Host { seed: 1, rounds: Rounds::Exactly(1), by_stage: true };
    [(Ground::Host, host), (Ground::Model, Setting::Model(model))]
}

#[test]
fn every_figure_of_the_smallest_settings_is_a_number() {
    let variants = Variants::read(None, None, None).expect("the defaults");
    let trace = Trace::of(None).expect("the default");
    for (scenario, fields) in SMALLEST {
        for (ground, setting) in settings() {
            if !scenario.runs_on(ground) {
                continue;
            }
            let what = format!("{} on {ground:?} {fields:?}", scenario.name());
            let fields: Vec<_> = fields.iter().map(|&field| field.to_owned()).collect();
            let question = Question::new(scenario, ground, &fields, false).expect(&what);
            let plan = plan(&question, &variants, &trace, setting).expect(&what);
            for record in plan.records(&mut |_, _| ()).expect(&what) {
                for metric in &record.metrics {
                    let values = &metric.values;
                    assert!(values.iter().all(|value| value.is_finite()), "{what}: {metric:?}");
                }
            }
        }
    }
}

#[test]
fn a_request_for_less_than_a_page_is_refused() {
    let variants = Variants::read(None, None, None).expect("the defaults");
    let trace = Trace::of(None).expect("the default");
    let cases = [
        (Scenario::ReclaimFile, "size=4KiB", "order=0", "reclaim=80%", "100% or more"),
        (Scenario::ReclaimFile, "size=64KiB", "order=4", "reclaim=6%", "7% or more"),
        (Scenario::ReclaimShmem, "size=64KiB", "order=4", "reclaim=6%", "7% or more"),
    ];
    for (scenario, size, order, reclaim, accepted) in cases {
        for (ground, setting) in settings() {
            let fields = [size, order, reclaim].map(str::to_owned);
            let question = Question::new(scenario, ground, &fields, false).expect("fields");
            let refused = plan(&question, &variants, &trace, setting).err();
            let Some(QuestionError::Field(error)) = refused else {
                panic!("{} {size} {reclaim} on {ground:?}: {refused:?}", scenario.name());
            };
            let error = error.to_string();
            assert!(error.contains("is less than a page, 4KiB"), "{error}");
            assert!(error.contains(accepted), "{error}");
        }
    }
}
