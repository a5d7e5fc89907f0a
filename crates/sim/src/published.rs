//! Figures of real kernels, quoted beside ours: one that a thread published, and the lab's stored
//! records. None of them is measured in this run.

use crate::variant::Variant;
use pageout_paging::young::Family;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, RecordSet};
use pageout_record::stats::median;

/// One side of a published comparison of the young check.
struct Figure {
    machine: &'static str,
    unit: &'static str,
    source: &'static str,
    per_entry: f64,
    batched: f64,
}

const THREAD: &str = "arm64 clear_flush_young_ptes, v6 4/5 (linux-mm, 2026): 1.518 s and 1.018 s \
    for 8 GiB of 10 GiB of clean mapped file folios through memory.reclaim, over 2097152 pages";
/// What the lab counted, as it wrote it down.
const LAB_RECORDS: &str = include_str!("../../../lab/records/linux-6.12.json");
const LAB: &str = "counted, not published: Linux 6.12.117 under QEMU, kernels stock and s1 of \
    `pageout lab compare`, 1 GiB mapped, 80 % reclaimed, order 4, contiguous on arm64";

/// The kernels of the lab before and after batching the young check alone.
const BEFORE: &str = "stock";
const AFTER: &str = "s1";

/// The figures: the thread's time on hardware, and a real kernel's instructions.
fn figures() -> Vec<Figure> {
    let thread = Figure {
        machine: "arm64, 32 cores",
        unit: "ns/4K page",
        source: THREAD,
        per_entry: 724.0,
        batched: 485.0,
    };
    let stored = RecordSet::from_json(LAB_RECORDS).expect("the stored records are a record set");
    let lab = [("arm64, QEMU", "arm64-4k"), ("x86-64, QEMU", "x86-64")];
    let lab = lab.map(|(machine, config)| Figure {
        machine,
        unit: "instructions/4K page",
        source: LAB,
        per_entry: reclaim(&stored, config, BEFORE),
        batched: reclaim(&stored, config, AFTER),
    });
    [thread].into_iter().chain(lab).collect()
}

/// The lab's instructions a page of the leading scenario, classic LRU.
fn reclaim(stored: &RecordSet, config: &str, kernel: &str) -> f64 {
    let fields = [
        ("config", config),
        ("cpu", "max"),
        ("lru", "classic"),
        ("order", "4"),
        ("process", "asleep"),
        ("reclaim", "80%"),
        ("size", "1GiB"),
        ("young", "all"),
    ];
    let is = |labels: &Labels, (name, value): (&str, &str)| {
        labels.get(name).is_some_and(|found| found == value)
    };
    let record = stored.records.iter().find(|record| {
        is(&record.variant, ("kernel", kernel))
            && fields.iter().all(|field| is(&record.fields, *field))
    });
    let metrics = record.map(|record| &record.metrics[..]).unwrap_or_default();
    let metric = metrics.iter().find(|metric| metric.name == "reclaim");
    metric.and_then(|metric| median(&metric.values)).expect("the leading figures are stored")
}

/// The published figures as records.
pub fn records() -> Vec<Record> {
    let sides = |figure: &Figure| {
        [(Family::PerEntry, figure.per_entry), (Family::Batched, figure.batched)]
            .map(|(family, value)| record(figure, family, value))
    };
    figures().iter().flat_map(sides).collect()
}

fn record(figure: &Figure, family: Family, value: f64) -> Record {
    let variant = Variant::of(family).labels().into_iter().filter(|(axis, _)| axis == "young");
    Record {
        scenario: figure.machine.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields: Default::default(),
        variant: variant.collect(),
        metrics: vec![Metric {
            name: "whole reclaim, classic LRU".to_owned(),
            unit: figure.unit.to_owned(),
            basis: Basis::Published,
            better: Better::Lower,
            source: Some(figure.source.to_owned()),
            values: vec![value],
        }],
    }
}
