//! Tests that records have what their scenario declares.

use crate::common::{read, stdout};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::{OnGround, Scenario};
use pageout_record::schema::{Ground, Metric};

/// Returns the form of a scenario on a ground that has a field.
fn form(scenario: Scenario, ground: Ground, field: &str) -> OnGround {
    let mut forms = scenario.forms().into_iter().filter(|form| form.ground == ground);
    let has = |form: &OnGround| form.fields.iter().any(|one| one.name == field);
    forms.find(has).expect("the scenario has the field there")
}

fn is_declared(metric: &Metric, declared: &[MetricSpec]) -> bool {
    declared.iter().any(|spec| {
        let alike = (spec.unit, spec.basis, spec.better);
        spec.names().any(|name| name == metric.name)
            && alike == (&*metric.unit, metric.basis, metric.better)
    })
}

/// Runs a scenario, with a field that its form has, and checks every metric of its records.
fn check(scenario: Scenario, ground: Ground, field: &str, words: &str) {
    let declared = form(scenario, ground, field).metrics;
    let name = scenario.name();
    let words = format!("compare {name} {words} --ground {ground} --runs 1 --json");
    let set = read(&stdout(&words));
    assert!(!set.records.is_empty());
    for metric in set.records.iter().flat_map(|record| &record.metrics) {
        assert!(is_declared(metric, &declared), "{words}: {metric:?} is not declared");
    }
}

#[test]
fn records_on_this_cpu_have_what_is_declared() {
    let host = Ground::Host;
    check(Scenario::ReclaimFile, host, "size", "size=4MiB order=4 anon=25% lru=mglru");
    check(Scenario::AgeFile, host, "size", "size=4MiB order=4");
    check(Scenario::ReclaimShmem, host, "size", "size=4MiB order=4 lru=mglru");
    check(Scenario::MadvFree, host, "size", "size=4MiB order=4");
    check(Scenario::AgingRounds, host, "size", "size=4MiB order=0 rounds=1");
    check(Scenario::Trace, host, "every", "order=4 format=arm64-4k every=500");
    check(Scenario::Trace, host, "limit", "order=0 format=x86-64 limit=50%");
}

#[test]
fn records_of_modelled_machines_have_what_is_declared() {
    let model = Ground::Model;
    let file = "size=4MiB order=4 format=arm64-4k secondary=guest process=running --cores 2";
    check(Scenario::ReclaimFile, model, "size", &format!("{file} --draws 2"));
    let shmem = "size=4MiB order=4 format=arm64-4k --cores 2 --draws 2";
    check(Scenario::ReclaimShmem, model, "size", shmem);
    check(Scenario::Trace, model, "limit", "order=4 format=arm64-4k --draws 2");
    check(Scenario::PageoutShared, model, "times", "times=2 format=arm64-4k --draws 2");
    check(Scenario::Faults, model, "tasks", "tasks=2 reclaim=yes format=x86-64 --draws 2");
}
