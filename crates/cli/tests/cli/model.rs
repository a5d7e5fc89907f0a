//! Ground `model`, through the binary.

use crate::common::{self, stdout};
use pageout_record::schema::{Basis, Ground, Metric, Record, RecordSet};
use pageout_record::stats::Kind;
use std::collections::BTreeSet;
use tempfile::tempdir;

fn records(words: &str) -> RecordSet {
    common::records(&format!("{words} --ground model"))
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("{name} is in {record:?}")).values[0]
}

#[test]
fn variants_are_priced_on_the_server_class_of_each_architecture() {
    let set = records("compare reclaim-file order=4 size=8MiB");
    let of = |name: &str| -> BTreeSet<String> {
        set.records.iter().map(|record| record.fields[name].clone()).collect()
    };
    assert_eq!(of("platform").len(), 2);
    assert_eq!(of("process"), BTreeSet::from(["asleep".to_owned()]));
    assert_eq!(set.records.len(), 2 * 4);
    for records in set.records.chunks(4) {
        let whole: Vec<_> = records.iter().map(|record| value(record, "whole reclaim")).collect();
        assert!(whole.is_sorted_by(|before, after| before > after), "{whole:?}");
        for record in records {
            assert_eq!(record.ground, Ground::Model);
            let bases: BTreeSet<_> = record.metrics.iter().map(|metric| metric.basis).collect();
            assert!(!bases.contains(&Basis::Measured), "nothing here reads a clock");
            assert!(bases.contains(&Basis::Modelled) && bases.contains(&Basis::Counted));
        }
    }
}

#[test]
fn records_are_the_same_in_every_run_whatever_the_host_does() {
    let words = "compare reclaim-file order=0,4 size=4MiB process=asleep,running --cores 4 \
        --draws 3 --runs 2";
    let first = records(words);
    assert_eq!(first.repeatable(), records(words).repeatable());
    let drawn = &first.records[0];
    let whole = drawn.metrics[0].interval.expect("of draws");
    assert!(whole.kind == Kind::Draws && whole.low < whole.high, "prices have ranges");
    assert_eq!(drawn.metrics[0].values.len(), 2, "a value a run");
}

/// Draws of prices follow from the seed, and nothing else does where nothing else is drawn.
#[test]
fn another_seed_draws_other_prices() {
    let words = "run reclaim-file order=4 format=arm64-4k size=4MiB --cores 4 --draws 4 --seed";
    let [one, again, other] = [1, 1, 2].map(|seed| records(&format!("{words} {seed}")));
    assert_eq!(one.records, again.records);
    let metrics = |set: &RecordSet| set.records[0].metrics.clone();
    let (one, other) = (metrics(&one), metrics(&other));
    let whole = |metrics: &[Metric]| metrics[0].interval.expect("of draws");
    assert_ne!(whole(&one), whole(&other), "of {}", one[0].name);
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(&other) {
        let alike = one.values == other.values;
        assert_eq!(alike, !one.name.ends_with(", drawn"), "{}: of nominal prices", one.name);
    }
}

#[test]
fn guests_use_what_is_reclaimed_and_their_machine_is_asked() {
    let words = "run reclaim-file order=0 format=arm64-4k size=4MiB --cores 4";
    let none = &records(words).records[0];
    assert_eq!(none.fields["secondary"], "none");
    assert!(none.metrics.iter().all(|metric| metric.name != "in notifiers"));
    let guest = &records(&format!("{words} secondary=guest")).records[0];
    assert_eq!(guest.fields["secondary"], "guest");
    for name in ["calls of clear_flush_young", "secondary entries read", "in notifiers"] {
        assert!(value(guest, name) > 0.0, "{name}");
    }
    let whole = |record| value(record, "whole reclaim");
    assert!(whole(guest) > whole(none), "who reclaims pays for notifiers");
}

#[test]
fn stages_make_up_the_whole() {
    for lru in ["classic", "mglru"] {
        let words = format!("run reclaim-file lru={lru} size=8MiB process=running --cores 4");
        for record in &records(&words).records {
            let stages = [
                "isolate",
                "rmap walk",
                "young",
                "aging",
                "unmap",
                "flush",
                "cache removal",
                "free",
                "other",
            ];
            let sum: f64 = stages.iter().map(|stage| value(record, stage)).sum();
            let whole = value(record, "whole reclaim");
            // Interrupts of the reclaiming core are in no stage, and there are none.
            assert!((sum / whole - 1.0).abs() < 1e-3, "{sum} of {whole}: {:?}", record.fields);
        }
    }
}

#[test]
fn the_table_says_what_intervals_are_and_stacks_are_written() {
    let words = "run reclaim-file order=4 format=arm64-4k size=4MiB --ground model --draws 5";
    let table = stdout(words);
    for part in ["[low, high] of computed", "5th and 95th percentile over 5 draws"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let dir = tempdir().unwrap();
    let path = dir.path().join("stacks.txt");
    let words = "run reclaim-file order=4 format=arm64-4k size=4MiB --ground model --folded";
    stdout(&format!("{words} {}", path.display()));
    let stacks = std::fs::read_to_string(path).unwrap();
    assert!(stacks.contains("reclaim;memory.reclaim;unmap"), "{stacks}");
    assert!(stacks.lines().all(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok()));
}

#[test]
fn what_deferring_saves_is_compared_and_gates_are_choices() {
    let words = "compare pageout-shared size=128KiB times=3 --platform snapdragon-888-class";
    let set = records(words);
    let [immediate, deferred] = &set.records[..] else { panic!("two variants") };
    assert_eq!(immediate.variant["shootdown"], "immediate");
    assert_eq!(deferred.variant["shootdown"], "deferred");
    for name in ["repetition", "barriers", "invalidating and waiting, share"] {
        assert!(value(immediate, name) > value(deferred, name), "{name}");
    }
    for (cores, as_variant) in [(4, immediate), (8, deferred)] {
        let words =
            format!("{words} --cores {cores} --base shootdown=deferred-8cpus,young=batched");
        let gated = &records(&words).records[0];
        let few = value(gated, "barriers") < 10.0;
        assert_eq!(few, as_variant.variant["shootdown"] == "deferred", "{cores} cores");
    }
}
