//! Figures of real kernels, quoted beside ours: one that a thread published, and instruction counts
//! from this project's notes. None of them is a run of this program.

use crate::variant::Variant;
use pageout_paging::young::Family;
use pageout_record::schema::{Basis, Better, Ground, Metric, Record};

/// One side of a published comparison of the young check.
struct Figure {
    what: &'static str,
    machine: &'static str,
    unit: &'static str,
    source: &'static str,
    per_entry: f64,
    batched: f64,
}

const THREAD: &str = "arm64 clear_flush_young_ptes, v6 4/5 (linux-mm, 2026): 1.518 s and 1.018 s \
    for 8 GiB of 10 GiB of clean mapped file folios through memory.reclaim, over 2097152 pages";
const LAB: &str = "counted for this project, not published: Linux 6.12.117 under QEMU with -icount, \
    1 GiB mapped, 80 % reclaimed, order 4, contiguous on arm64; before and after batching alone";

/// The classic LRU's young check: the thread's time on hardware, and a real kernel's instructions.
const FIGURES: [Figure; 3] = [
    Figure {
        what: "whole reclaim, classic LRU",
        machine: "arm64, 32 cores",
        unit: "ns/4K page",
        source: THREAD,
        per_entry: 724.0,
        batched: 485.0,
    },
    Figure {
        what: "whole reclaim, classic LRU",
        machine: "arm64, QEMU",
        unit: "instructions/4K page",
        source: LAB,
        per_entry: 2694.7,
        batched: 1065.9,
    },
    Figure {
        what: "whole reclaim, classic LRU",
        machine: "x86-64, QEMU",
        unit: "instructions/4K page",
        source: LAB,
        per_entry: 1096.3,
        batched: 938.6,
    },
];

/// The published figures as records.
pub fn records() -> Vec<Record> {
    let sides = |figure: &Figure| {
        [(Family::PerEntry, figure.per_entry), (Family::Batched, figure.batched)]
            .map(|(family, value)| record(figure, family, value))
    };
    FIGURES.iter().flat_map(sides).collect()
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
            name: figure.what.to_owned(),
            unit: figure.unit.to_owned(),
            basis: Basis::Published,
            better: Better::Lower,
            source: Some(figure.source.to_owned()),
            values: vec![value],
        }],
    }
}
