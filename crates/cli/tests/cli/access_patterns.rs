//! Scenario `access-patterns`, through the binary.

use crate::common::{assert_refused, records, run, stdout};
use pageout_record::schema::{Basis, Ground};
use std::collections::BTreeSet;

const QUICK: &str = "access-patterns memory=4MiB --ground model";

#[test]
fn six_tests_under_three_policies_are_compared_as_in_2018() {
    let set = records(&format!("compare {QUICK}"));
    assert_eq!(set.records.len(), 6 * 3);
    let of = |name: &str| -> BTreeSet<&str> {
        set.records.iter().map(|record| &*record.variant[name]).collect()
    };
    assert_eq!(of("flush"), BTreeSet::from(["none", "nosync", "sync"]));
    for axis in ["young", "unmap"] {
        assert_eq!(of(axis), BTreeSet::from(["per-entry"]), "2018 batched nothing");
    }
    assert_eq!(of("shootdown"), BTreeSet::from(["immediate"]), "nor deferred");
    for record in &set.records {
        assert_eq!(record.ground, Ground::Model);
        assert_eq!(record.fields["platform"], "carmel-8-class");
        let bases: BTreeSet<_> = record.metrics.iter().map(|metric| metric.basis).collect();
        assert_eq!(bases, BTreeSet::from([Basis::Counted, Basis::Modelled]));
    }
    let table = stdout(&format!("compare {QUICK} --runs 3"));
    for part in ["seq read", "hot-random write", "nosync / none", "36 comparisons", "mistakes"] {
        assert!(table.contains(part), "no {part} in:\n{table}");
    }
}

#[test]
fn one_policy_tells_everything() {
    let table =
        stdout(&format!("run {QUICK} pattern=random --variant flush=none --draws 2 --full"));
    for part in ["hidden for, P99", "interval", "hot pages reclaimed by mistake", "direct reclaim"]
    {
        assert!(table.contains(part), "no {part} in:\n{table}");
    }
}

#[test]
fn it_runs_on_its_ground_alone() {
    assert_refused(&run("compare access-patterns"), &["access-patterns", "--ground model"]);
    let refused = |words: &str, parts: &[&str]| {
        assert_refused(&run(&format!("compare {QUICK} {words}")), parts);
    };
    refused("pattern=zigzag", &["pattern", "zigzag", "hot-random"]);
    refused("--platform x86-server-class format=arm64-4k", &["arm64-4k", "x86"]);
}
