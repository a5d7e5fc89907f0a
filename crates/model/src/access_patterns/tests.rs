//! The scenario on the machine of its thread.

use super::{AccessPatterns, table};
use crate::{Model, Scenario as _};
use pageout_experiment::scenarios::Compared;
use pageout_experiment::scenarios::metrics::access_patterns::TIME;
use pageout_experiment::this_machine::this_run;
use pageout_experiment::variant::Variant;
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

fn model(runs: u32) -> Model {
    let threads = NonZeroUsize::MIN;
    Model { platform: None, cores: None, draws: 0, runs, seed: 1, threads }
}

fn records(fields: &str, variants: &[Variant], model: &Model) -> Vec<Record> {
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    let all = AccessPatterns::parse(&fields, model).expect("fields of the scenario");
    AccessPatterns::records(&all, variants, model, &mut |_, _| {})
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metrics.iter().find(|metric| metric.name == name);
    metric.unwrap_or_else(|| panic!("{name} is told")).values[0]
}

const SMALL: &str = "memory=4MiB";

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let mut machine = model(2);
    machine.draws = 2;
    let json = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let records = records(SMALL, &Compared::POLICIES, &Model { threads, ..machine.clone() });
        serde_json::to_string(&records).expect("records are JSON")
    };
    let one = json(1);
    assert!(json(2) == one, "two threads");
    let parsed: Vec<Record> = serde_json::from_str(&one).unwrap();
    RecordSet::new(this_run(), parsed).validate().expect("valid records");
}

#[test]
fn every_page_of_a_file_used_in_order_is_read_once_and_reclaimed() {
    for record in records(&format!("{SMALL} pattern=seq"), &Compared::POLICIES, &model(1)) {
        // Some of it is in memory from before, and some is read ahead past the last page used.
        let read = value(&record, "pages read");
        assert!((0.5..1.1).contains(&read), "{read}: {:?}", record.fields);
        assert!(value(&record, "faults") < 2.0);
        assert!(value(&record, "pages reclaimed") > 0.5);
        let written = value(&record, "pages written");
        match &*record.fields["access"] {
            "write" => assert!((0.8..1.2).contains(&written), "{written}"),
            _ => assert_eq!(written, 0.0),
        }
    }
}

#[test]
fn policies_do_what_they_say() {
    let fields = format!("{SMALL} pattern=hot-random access=read");
    let [sync, nosync, none] = &records(&fields, &Compared::POLICIES, &model(1))[..] else {
        panic!("a record a policy");
    };
    let of = |record: &Record, name| value(record, name);
    assert_eq!(of(sync, "hidden accesses"), 0.0, "the barrier ends each entry at once");
    assert!(of(none, "hidden accesses") > of(nosync, "hidden accesses"));
    assert!(of(none, "hidden for, max") >= of(nosync, "hidden for, max"));
    assert!(of(sync, "barriers") > of(nosync, "barriers"));
    assert!(of(nosync, "invalidations broadcast") > of(none, "invalidations broadcast"));
    assert!(of(none, "background reclaim") > 0.0);
}

/// Made-up runs of two tests: one whose policies differ, one whose do not vary.
#[test]
fn the_table_s_layout() {
    let runs = [
        [[10.0, 11.0, 12.0], [5.0, 5.1, 5.2], [5.0, 9.0, 1.0]],
        [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [4.0, 4.0, 4.0]],
    ];
    let fields = format!("{SMALL} pattern=seq,hot-random access=read");
    let mut records = records(&fields, &Compared::POLICIES, &model(1));
    for (record, values) in records.iter_mut().zip(runs.as_flattened()) {
        for metric in &mut record.metrics {
            metric.values = if metric.name == TIME.name { values.to_vec() } else { vec![1.25] };
        }
    }
    let shown = table(&RecordSet::new(this_run(), records), 80);
    if std::env::var_os("UPDATE_LAYOUT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/access_patterns/layout.txt");
        std::fs::write(path, &shown).expect("the layout is written");
    }
    assert_eq!(shown, include_str!("layout.txt"), "UPDATE_LAYOUT=1 takes a change over");
}

#[test]
fn fields_that_make_no_sense_are_refused() {
    for (fields, parts) in [
        ("pattern=zigzag", &["pattern", "zigzag", "seq, random or hot-random"][..]),
        ("access=execute", &["access", "execute", "read or write"]),
        ("hot=100%", &["hot", "100%", "1% to 99%"]),
        ("memory=1MiB", &["memory", "1MiB", "2MiB"]),
        ("size=1000", &["size", "1000", "128KiB"]),
        ("memory=8MiB size=8MiB", &["size=8MiB", "larger than memory=8MiB"]),
        ("threads=2", &["threads", "format, access, pattern"]),
        ("format=x86-64 format=x86-64", &["format", "twice"]),
    ] {
        let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
        let error = AccessPatterns::parse(&fields, &model(1)).expect_err("refused").to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn other_machines_run_it() {
    for (platform, fields) in [
        ("x86-server-class", "memory=4MiB pattern=random"),
        ("snapdragon-888-class", "memory=4MiB pattern=seq access=write"),
    ] {
        let platform = pageout_machine::platform::Platform::named(platform);
        for cores in [1, 4] {
            let cores = Some(cores);
            let model = Model { platform: platform.clone(), cores, ..model(1) };
            for record in records(fields, &Compared::POLICIES[1..], &model) {
                assert!(value(&record, "pages reclaimed") > 0.0);
            }
        }
    }
}

#[test]
#[ignore = "shows the table; with --nocapture"]
fn show() {
    let fields = std::env::var("FIELDS").unwrap_or_else(|_| SMALL.to_owned());
    let runs = std::env::var("RUNS").map_or(5, |runs| runs.parse().expect("a number"));
    let begun = std::time::Instant::now();
    let records = records(&fields, &Compared::POLICIES, &model(runs));
    let runs = records.len() as u32 * runs;
    println!("{}", table(&RecordSet::new(this_run(), records), 80));
    println!("{:?} a run", begun.elapsed() / runs);
}
