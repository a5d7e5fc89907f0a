//! The scenario on small machines.

use super::*;
use pageout_experiment::scenarios::metrics::thpscale::{AMEAN, BOTH, HUGE_SHARE};
use pageout_experiment::scenarios::{Compared, SLOT};
use pageout_machine::platform::Platform;
use pageout_record::schema::{Record, RecordSet};
use std::num::NonZeroUsize;

fn model() -> Model {
    let platform = Platform::named("arm64-server-32-class");
    let threads = NonZeroUsize::MIN;
    Model { platform, cores: Some(4), draws: 0, runs: 1, seed: 1, threads }
}

fn parse(fields: &str) -> Result<Vec<Thpscale>, FieldError> {
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    Thpscale::parse(&fields, &model())
}

fn records(fields: &str, model: &Model) -> Vec<Record> {
    let all = parse(fields).expect("fields of the scenario");
    Thpscale::records(&all, &Compared::YOUNG_FLUSH, model, &mut |_, _| {})
}

fn values<'a>(record: &'a Record, name: &str) -> &'a [f64] {
    let metric = record.metrics.iter().find(|metric| metric.name == name);
    &metric.unwrap_or_else(|| panic!("{name} is told: {record:?}")).values
}

#[test]
fn every_slot_is_a_sample_and_the_kernel_compacts_for_some() {
    for record in records("threads=1,3 memory=64MiB", &model()) {
        let threads: u64 = record.fields["threads"].parse().unwrap();
        let slots = (64 << 20) / 10 * 8 / threads / SLOT / 2;
        let samples = values(&record, BOTH.name);
        assert_eq!(samples.len() as u64, slots * threads);
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        assert!((mean / values(&record, AMEAN.name)[0] - 1.0).abs() < 1e-9);
        assert!(values(&record, HUGE_SHARE.name)[0] > 0.0);
        for name in ["pgmigrate_success", "compact_stall", "compact_success"] {
            assert!(values(&record, name)[0] > 0.0, "{name} of {threads} threads");
        }
    }
}

#[test]
fn records_are_the_same_bytes_on_any_number_of_host_threads() {
    let json = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let model = Model { threads, draws: 1, runs: 2, ..model() };
        let records = records("threads=3 memory=32MiB swap=zram", &model);
        let set = RecordSet::new(pageout_experiment::this_machine::this_run(), records.clone());
        set.validate().expect("valid records");
        serde_json::to_string(&records).expect("records are JSON")
    };
    assert!(json(1) == json(2));
}

#[test]
fn nothing_is_rounded_off_unless_asked_for() {
    for one in parse("swap=none").unwrap() {
        let each = one.total() / u64::from(one.threads);
        assert_eq!(one.share(), each, "of {} threads", one.threads);
        assert_eq!(2 * one.slots() * SLOT, each, "of {} threads", one.threads);
        let (asked, taken) = (f64::from(1 << 30), one.bytes() as f64);
        assert!((taken / asked - 1.0).abs() < 0.26, "{} threads: {taken} bytes", one.threads);
    }
    let small = Thpscale::rows_near(48 << 20, &model()).unwrap();
    let memory: Vec<_> = small.iter().map(|one| one.bytes() >> 20).collect();
    assert_eq!(memory, [50, 60, 50, 70, 60, 90, 120, 150, 160]);
}

#[test]
fn bad_fields_name_what_is_accepted() {
    let message = |fields: &str| parse(fields).unwrap_err().to_string();
    assert!(message("threads=0").contains("a number from 1 to 128"));
    assert!(message("memory=3MiB").contains("a multiple of 2MiB from 16MiB to 16GiB"));
    assert!(message("swap=disk").contains("none or zram"));
    assert!(message("format=arm64-16k").contains("huge pages of 2 MiB"));
    assert!(message("format=x86-64").contains("arm64"));
    assert!(message("size=1").contains("format, threads, memory or swap"));
    assert!(message("memory=64MiB threads=32").contains("no slot of 2 MiB for each of 32"));
}
