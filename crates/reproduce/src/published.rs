//! Figures of real kernels that are quoted with ours: those that a thread published, and the lab's
//! stored records. This run measures none of them.

use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, RecordFile};
use pageout_record::stats::median;

/// The whole reclaim of one machine on the same lists, one value a variant.
struct Figure {
    machine: &'static str,
    unit: &'static str,
    source: String,
    values: Vec<(Variant, f64)>,
}

/// The variants compared on the classic lists: nothing batched, young bits batched, and unmapping
/// too.
const CLASSIC: [Variant; 3] = [Variant::BEFORE, Variant::STEPS[0], Variant::STEPS[1]];
/// The variants compared with generations: before and after batching young bits. Unmapping was
/// batched before.
const MGLRU: [Variant; 2] = [Variant::MGLRU_BEFORE, Variant::MGLRU_STEPS[0]];
/// The axes on which these variants differ.
const AXES: [&str; 3] = ["young", "unmap", "lru"];

const THREAD: &str = "arm64 clear_flush_young_ptes, v6 4/5 and 5/5 (linux-mm, 2026): 1.518, 1.018 \
    and 0.249 s for 8 GiB of 10 GiB of clean mapped file folios through memory.reclaim, over \
    2097152 pages";
const THREAD_MGLRU: &str = "batched checking of the young flag for MGLRU, v3 6/6 (linux-mm, 2026): \
    0.470 and 0.180 s for 8 GiB of 10 GiB of clean mapped file folios through memory.reclaim; \
    taken to have batched unmapping on both sides, since classic reclaim without it takes 485 ns";
/// The lab's counts, as it wrote them down.
const LAB_RECORDS: &str = pageout_lab::records::LINUX_7_3;
const LAB: &str = "counted, not published: Linux 7.3.4 under QEMU, `pageout lab compare`, 1 GiB \
    mapped, 80 % reclaimed, order 4, contiguous on arm64, the process asleep";

/// Returns the figures: the threads' times on hardware, and a real kernel's instructions.
fn figures() -> Vec<Figure> {
    let thread = |source: &str, values| Figure {
        machine: "arm64, 32 cores",
        unit: "ns/4K page",
        source: source.to_owned(),
        values,
    };
    let classic = CLASSIC.into_iter().zip([724.0, 485.0, 119.0]).collect();
    let mglru = MGLRU.into_iter().zip([224.0, 86.0]).collect();
    let threads = [thread(THREAD, classic), thread(THREAD_MGLRU, mglru)];
    let stored = stored();
    let lab = [("arm64, QEMU", "arm64-4k"), ("x86-64, QEMU", "x86-64")];
    let lab = lab.into_iter().flat_map(|(machine, config)| {
        let counted = |lru: Lru, kernel| reclaim(&stored, config, lru, kernel);
        let figure = |source, values| Figure { machine, unit: COUNTED, source, values };
        // Without the unmap batch, classic reclaim is as it was after the first step.
        let kernels = ["no-batch", "no-unmap", "stock"];
        let classic = kernels.map(|kernel| counted(Lru::Classic, kernel));
        let mglru = ["no-mglru", "stock"].map(|kernel| counted(Lru::Mglru, kernel));
        let before = counted(Lru::Mglru, "no-batch");
        [
            figure(
                format!("{LAB}; kernels no-batch, no-unmap and stock"),
                CLASSIC.into_iter().zip(classic).collect(),
            ),
            figure(
                format!(
                    "{LAB}; kernels no-mglru and stock; {before:.1} on no-batch, which unmaps entry \
                     by entry"
                ),
                MGLRU.into_iter().zip(mglru).collect(),
            ),
        ]
    });
    threads.into_iter().chain(lab).collect()
}

const COUNTED: &str = "instructions/4K page";

/// Returns the lab's instructions a page of the leading scenario.
fn reclaim(stored: &RecordFile, config: &str, lru: Lru, kernel: &str) -> f64 {
    lab_metric(stored, (config, lru, kernel), "reclaim").expect("the leading figures are stored")
}

/// Returns the records that the lab stored.
fn stored() -> RecordFile {
    RecordFile::from_json(LAB_RECORDS).expect("the stored records are a record set")
}

/// Returns a metric of the lab's leading scenario for a configuration, lists and a kernel.
pub(crate) fn lab_metric(
    stored: &RecordFile,
    (config, lru, kernel): (&str, Lru, &str),
    name: &str,
) -> Option<f64> {
    let lru = lru.to_string();
    let fields = [
        ("config", config),
        ("cpu", "max"),
        ("lru", &lru),
        ("order", "4"),
        ("process", "asleep"),
        ("reclaim", "80%"),
        ("size", "1GiB"),
        ("young", "all"),
    ];
    let is = |labels: &Labels, (name, value): (&str, &str)| {
        labels.get(name).is_some_and(|found| found == value)
    };
    let record = stored.records().find(|record| {
        is(&record.variant, ("kernel", kernel))
            && fields.iter().all(|field| is(&record.fields, *field))
    });
    let metrics = record.map(|record| &record.metrics[..]).unwrap_or_default();
    metrics.iter().find(|metric| metric.name == name).and_then(|metric| median(&metric.values))
}

/// Returns the published figures as records.
pub fn records() -> Vec<Record> {
    let values = |figure: Figure| {
        let of_value = |(variant, value): &(Variant, f64)| record(&figure, *variant, *value);
        figure.values.iter().map(of_value).collect::<Vec<_>>()
    };
    figures().into_iter().flat_map(values).collect()
}

/// Returns the choices of a variant on the axes that the figures compare.
pub fn compared(variant: &Labels) -> Labels {
    let named = variant.iter().filter(|(axis, _)| AXES.contains(&axis.as_str()));
    named.map(|(axis, choice)| (axis.clone(), choice.clone())).collect()
}

fn record(figure: &Figure, variant: Variant, value: f64) -> Record {
    let (basis, better) = (Basis::Published, Better::Lower);
    let metric = Metric::new(WHOLE.name, figure.unit, basis, better, vec![value]);
    Record {
        scenario: figure.machine.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields: Default::default(),
        variant: compared(&variant.labels(Axes::Reclaim)),
        metrics: vec![Metric { source: Some(figure.source.clone()), ..metric }],
    }
}
