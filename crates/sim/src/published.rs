//! Figures of real kernels, quoted beside ours: those that a thread published, and the lab's stored
//! records. None of them is measured in this run.

use crate::variant::{Axes, Variant};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, RecordSet};
use pageout_record::stats::median;

/// One machine's whole reclaim, in the order of [`SIDES`].
struct Figure {
    machine: &'static str,
    unit: &'static str,
    source: &'static str,
    values: [f64; 3],
}

/// What was compared: nothing batched, young bits, unmapping too.
const SIDES: [Variant; 3] = [Variant::BEFORE, Variant::STEPS[0], Variant::STEPS[1]];
/// The axes that were compared, no more.
const AXES: [&str; 2] = ["young", "unmap"];

const THREAD: &str = "arm64 clear_flush_young_ptes, v6 4/5 and 5/5 (linux-mm, 2026): 1.518, 1.018 \
    and 0.249 s for 8 GiB of 10 GiB of clean mapped file folios through memory.reclaim, over \
    2097152 pages";
/// What the lab counted, as it wrote it down.
const LAB_RECORDS: &str = include_str!("../../../lab/records/linux-6.12.json");
const LAB: &str = "counted, not published: Linux 6.12.117 under QEMU, kernels stock, s1 and s2 of \
    `pageout lab compare`, 1 GiB mapped, 80 % reclaimed, order 4, contiguous on arm64";
/// The kernels of the lab, in the order of [`SIDES`].
const KERNELS: [&str; 3] = ["stock", "s1", "s2"];

/// The figures: the thread's time on hardware, and a real kernel's instructions.
fn figures() -> Vec<Figure> {
    let thread = Figure {
        machine: "arm64, 32 cores",
        unit: "ns/4K page",
        source: THREAD,
        values: [724.0, 485.0, 119.0],
    };
    let stored = RecordSet::from_json(LAB_RECORDS).expect("the stored records are a record set");
    let lab = [("arm64, QEMU", "arm64-4k"), ("x86-64, QEMU", "x86-64")];
    let lab = lab.map(|(machine, config)| Figure {
        machine,
        unit: "instructions/4K page",
        source: LAB,
        values: KERNELS.map(|kernel| reclaim(&stored, config, kernel)),
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
    let sides = |figure: Figure| {
        let of_side = |(variant, value)| record(&figure, variant, value);
        SIDES.into_iter().zip(figure.values).map(of_side).collect::<Vec<_>>()
    };
    figures().into_iter().flat_map(sides).collect()
}

/// The choices of a variant on the axes that the figures compare.
pub fn compared(variant: &Labels) -> Labels {
    let named = variant.iter().filter(|(axis, _)| AXES.contains(&axis.as_str()));
    named.map(|(axis, choice)| (axis.clone(), choice.clone())).collect()
}

fn record(figure: &Figure, variant: Variant, value: f64) -> Record {
    Record {
        scenario: figure.machine.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields: Default::default(),
        variant: compared(&variant.labels(Axes::Reclaim)),
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
