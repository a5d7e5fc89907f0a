//! Compares our instructions with those counted of real kernels.

use super::counted::{ROWS, Row, place};
use super::{COSTS, KernelOp, instruction};
use crate::scenarios::reclaim_file::ReclaimFile;
use crate::{Model, Scenario as _};
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::scenarios::metrics::reclaim_file::INSTRUCTIONS;
use pageout_experiment::scenarios::{self, Orders, ProcessesLists, ReclaimFileLists};
use pageout_experiment::variant::{Lru, Variant};
use pageout_machine::platform::{Draw, Platform};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::UnmapGranularity;
use pageout_record::schema::{Basis, Record, RecordFile};
use pageout_record::stats::median;
use std::num::NonZeroUsize;

const RECORDS: &str = include_str!("../../../lab/files/records/linux-7.3.json");

/// Returns the variants of a row, in its order.
fn variants(lru: Lru) -> [Variant; 4] {
    let batched = Variant::of(YoungAlgorithm::Batched);
    let unbatched = Variant { unmap: UnmapGranularity::PerEntry, ..batched };
    [Variant::BEFORE, Variant::of(YoungAlgorithm::PerEntry), unbatched, batched]
        .map(|variant| variant.on(lru))
}

/// Returns the lab's kernels of a row, in its order.
const fn kernels(lru: Lru) -> [&'static str; 4] {
    let no_young = match lru {
        Lru::Classic => "no-young",
        Lru::Mglru => "no-mglru",
    };
    ["no-batch", no_young, "no-unmap", "stock"]
}

/// Returns the instructions of our engine for a 4K page reclaimed, in the order of the row.
fn ours(row: &Row) -> [f64; 4] {
    let (format, lru, order) = row.of;
    let threads = NonZeroUsize::MIN;
    let model = Model { platform: None, cores: Some(2), draws: 0, runs: 1, seed: 1, threads };
    let lists = ReclaimFileLists {
        format: vec![format],
        orders: vec![Orders::All(OrderName::Number(order))],
        bytes: vec![32 << 20],
        ..ReclaimFile::lists(&model)
    };
    let all = ReclaimFile::all(&lists, &ProcessesLists::default(), &model).expect("its fields");
    let variants = variants(lru);
    assert_eq!(variants.map(place), [0, 1, 2, 3], "in the order of the row");
    let records = ReclaimFile::records(&all, &variants, &model, &mut |_, _| {});
    let instructions = |record: &Record| {
        let found = record.metric(INSTRUCTIONS.name);
        found.expect("instructions are counted").values[0]
    };
    let counted: Vec<_> = records.iter().map(instructions).collect();
    counted.try_into().expect("a record for each variant")
}

/// The whole is the lab's count if the lab has a row.
#[test]
fn instructions_are_those_counted_of_linux() {
    let mut apart = Vec::new();
    for row in ROWS {
        let (format, lru, order) = row.of;
        let ours = ours(row);
        let fitted = [0, 1, 2, 3].map(|at| ours[at] * row.fitted[at] / row.linux[at]);
        let misfit = [0, 1, 2, 3].map(|at| row.fitted[at] / row.linux[at]);
        println!("{},{lru},{order} {fitted:.1?} of Linux {misfit:.2?}", format.name());
        let pairs = ours.into_iter().zip(row.linux);
        apart.extend(pairs.filter(|(ours, linux)| (ours / linux - 1.0).abs() > 0.01));
    }
    assert!(apart.is_empty(), "ours and Linux's: {apart:?}");
}

/// Returns the sum of these metrics, as the lab counted them on a kernel.
fn lab(row: &Row, kernel: &str, [cpus, process]: [&str; 2], metrics: &[&str]) -> f64 {
    let file = RecordFile::from_json(RECORDS).expect("the lab's records are records");
    let (format, lru, order) = row.of;
    let (lru, order) = (lru.to_string(), order.to_string());
    let fields = [
        ("config", format.name()),
        ("lru", &lru),
        ("order", &order),
        ("cpus", cpus),
        ("process", process),
        ("cpu", "max"),
        ("young", "all"),
    ];
    let found = file.records().find(|record| {
        let is = |&(name, value): &(&str, &str)| {
            record.fields.get(name).is_some_and(|field| field == value)
        };
        record.scenario == "reclaim-file"
            && record.variant["kernel"] == kernel
            && fields.iter().all(is)
    });
    let record = found.unwrap_or_else(|| panic!("no row of {fields:?} on {kernel}"));
    let value = |name: &&str| {
        let metric = record.metric(name);
        median(&metric.expect("it was counted").values).expect("it has values")
    };
    metrics.iter().map(value).sum()
}

#[test]
fn counts_are_the_lab_s() {
    for row in ROWS {
        let lru = row.of.1;
        for (kernel, linux) in kernels(lru).into_iter().zip(row.linux) {
            let counted = lab(row, kernel, ["1", "asleep"], &["reclaim"]);
            assert!((counted - linux).abs() < 0.06, "{row:?} on {kernel}: {counted}");
        }
        for (kernel, atomics) in kernels(lru).into_iter().zip(row.atomics.iter().flatten()) {
            let metrics = ["compare-and-swaps", "other atomics"];
            let counted = lab(row, kernel, ["2", "running"], &metrics);
            assert!((counted - atomics).abs() < 0.006, "{row:?} on {kernel}: {counted}");
        }
    }
}

#[test]
fn a_row_with_more_atomics_has_dearer_instructions() {
    let prices = |name: &str| Platform::named(name).expect("a platform").prices(Draw::Nominal);
    for (name, format) in
        [("arm64-server-32-class", FormatName::Arm64_4K), ("x86-server-class", FormatName::X86_64)]
    {
        let prices = prices(name);
        let price = |order: u8, variant: Variant| {
            let orders = Orders::All(OrderName::Number(order));
            let scenario =
                scenarios::ReclaimFile { format, orders, ..scenarios::ReclaimFile::DEFAULT };
            instruction(&scenario, variant, &prices, &prices)
        };
        let batched = Variant::of(YoungAlgorithm::Batched);
        assert_eq!(price(0, batched), prices.instruction, "{name}");
        assert_eq!(price(3, batched), prices.instruction, "{name}: no row");
        assert!(price(4, batched) > prices.instruction, "{name}");
        assert!(price(4, Variant::BEFORE) != price(4, batched), "{name}");
        assert!(price(0, batched.on(Lru::Mglru)) < prices.instruction, "{name}: fewer atomics");
    }
}

#[test]
fn every_effort_has_one_cost_with_a_source() {
    for (effort, cost) in KernelOp::ALL.into_iter().zip(COSTS) {
        assert_eq!(cost.effort, effort, "costs are in the order of efforts");
        assert!(matches!(cost.basis, Basis::Fitted | Basis::Guessed));
        assert!(cost.source.len() > 10, "{}", effort.name());
    }
}
