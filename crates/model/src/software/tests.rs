//! Our instructions beside those counted of real kernels.

use super::{COSTS, KernelOp};
use crate::{Kernel, Model, One, Swap};
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::reclaim_file::Setup;
use pageout_host::scenario::OnHost;
use pageout_machine::platform::Draw;
use pageout_machine::{Machine, TaskSpec};
use pageout_paging::mmu::Asid;
use pageout_paging::young::Family;
use pageout_reclaim::{CpuCtx, UnmapBy};
use pageout_record::schema::{Basis, Record, RecordFile};
use pageout_record::stats::median;
use std::num::NonZeroUsize;

const RECORDS: &str = include_str!("../../../lab/files/records/linux-6.12.json");

/// What a kernel of the lab does, in our variants; none for stages that bear on the other lists.
fn variant(kernel: &str, lru: Lru) -> Option<Variant> {
    let merged = Variant::of(Family::Batched);
    let unbatched = Variant { unmap: UnmapBy::PerEntry, ..merged };
    let classic = match (kernel, lru) {
        ("stock", _) => Variant::BEFORE,
        ("s1", Lru::Classic) => unbatched,
        ("s2", Lru::Classic) | ("s3", Lru::Mglru) => merged,
        ("s2", Lru::Mglru) => Variant::of(Family::PerEntry),
        _ => return None,
    };
    Some(classic.on(lru))
}

/// Instructions of our engine a 4K page reclaimed. On generations the file is walked once first, as
/// 6.12 does by itself.
fn ours<F: Arch>(format: FormatName, order: u8, variant: Variant) -> f64 {
    let orders = Orders::All(OrderName::Number(order));
    let scenario = ReclaimFile { format, orders, bytes: 32 << 20, ..ReclaimFile::DEFAULT };
    let threads = NonZeroUsize::MIN;
    let model = Model { platform: None, cores: Some(1), draws: 0, runs: 1, seed: 1, threads };
    let platform = model.platform_for(format).expect("the main formats have platforms");
    let one = One { draw: Draw::Nominal, seed: 1 };
    let mut arena = scenario.arena();
    let setup = Setup::<F>::build(&mut arena, &scenario, variant.lru, 1);
    let machine = Machine::new(model.setup(&platform, one), setup.ground.env.tables());
    let kernel = Kernel::new::<F>(setup.ground.supply, Swap::Device);
    let tuning = variant.tuning(F::FLUSH);
    let mut pages = 0;
    let (_, root) = setup.spaces[0];
    let reclaim = |task: &pageout_machine::Task<'_, '_, F>| {
        task.load_mm(Asid(0), root);
        kernel.on(task, |env| {
            if variant.lru == Lru::Mglru {
                let walk = "+ 1 0 3";
                let maps = &setup.ground.maps;
                maps.on(env, &mut CpuCtx::new(), tuning).lru_gen_write(walk).expect("the cgroup's");
            }
            let bytes = scenario.reclaim_bytes().to_string();
            pages = setup.reclaim(env, &bytes, tuning).expect("clean pages can be reclaimed");
        });
    };
    machine.run(vec![TaskSpec::new("reclaim", reclaim)]);
    kernel.done().instructions() as f64 / pages as f64
}

/// The value of a field, with which records name a row.
fn is(record: &Record, name: &str, value: &str) -> bool {
    record.fields.get(name).is_some_and(|field| field == value)
}

/// Every row of the fit: format, lists, order, kernel, ours and theirs.
fn rows() -> Vec<(FormatName, Lru, u8, String, f64, f64)> {
    let file = RecordFile::from_json(RECORDS).expect("the lab's records are records");
    let mut rows = Vec::new();
    for record in file.records() {
        let format = FormatName::MAIN.into_iter().find(|one| is(record, "config", one.name()));
        let lru =
            [Lru::Classic, Lru::Mglru].into_iter().find(|lru| is(record, "lru", &lru.to_string()));
        let same = record.scenario == "reclaim-file"
            && is(record, "cpu", "max")
            && is(record, "process", "asleep");
        let (Some(format), Some(lru), true) = (format, lru, same) else { continue };
        let kernel = record.variant["kernel"].clone();
        let Some(variant) = variant(&kernel, lru) else { continue };
        let order: u8 = record.fields["order"].parse().expect("orders are numbers");
        let theirs = record.metrics.iter().find(|metric| metric.name == "reclaim");
        let theirs = median(&theirs.expect("reclaim was counted").values).expect("it has values");
        let ours = with_format!(format, F => ours::<F>(format, order, variant));
        rows.push((format, lru, order, kernel, ours, theirs));
    }
    rows
}

/// Of a row, at most; and of half of the rows.
const WORST: f64 = 0.20;
const HALF: f64 = 0.04;

#[test]
fn instructions_are_near_those_counted_of_linux() {
    let rows = rows();
    assert_eq!(rows.len(), 5 * 3 + 5 * 3 + 3 * 3 + 3 * 3, "orders by kernels by lists");
    let mut apart = Vec::new();
    println!("format    lists    order kernel    ours  linux  difference");
    for (format, lru, order, kernel, ours, theirs) in &rows {
        let difference = ours / theirs - 1.0;
        println!(
            "{:9} {lru:8} {order:5} {kernel:6} {ours:7.1} {theirs:6.1} {:+.1}%",
            format.name(),
            difference * 100.0
        );
        assert!(difference.abs() < WORST, "{} {lru} {order} {kernel}", format.name());
        apart.push(difference.abs());
    }
    let half = median(&apart).expect("there are rows");
    println!("half of the rows are within {:.1}%", half * 100.0);
    assert!(half < HALF);
}

#[test]
fn batching_saves_what_it_saves_linux() {
    let rows = rows();
    let of = |format, lru, order, kernel: &str| {
        let row =
            rows.iter().find(|row| (row.0, row.1, row.2, &*row.3) == (format, lru, order, kernel));
        row.map(|row| (row.4, row.5)).expect("the row is there")
    };
    for (format, lru, order, kernels) in [
        (FormatName::Arm64_4K, Lru::Classic, 4, ["stock", "s1"]),
        (FormatName::Arm64_4K, Lru::Classic, 4, ["s1", "s2"]),
        (FormatName::Arm64_4K, Lru::Mglru, 4, ["s2", "s3"]),
        (FormatName::Arm64_4K, Lru::Classic, 9, ["stock", "s1"]),
        (FormatName::X86_64, Lru::Classic, 4, ["stock", "s1"]),
        (FormatName::X86_64, Lru::Classic, 4, ["s1", "s2"]),
        (FormatName::X86_64, Lru::Mglru, 4, ["s2", "s3"]),
    ] {
        let [before, after] = kernels.map(|kernel| of(format, lru, order, kernel));
        let (ours, theirs) = (before.0 - after.0, before.1 - after.1);
        let what = format!("{} {lru} order {order} {kernels:?}", format.name());
        assert!((ours / theirs - 1.0).abs() < 0.2, "{what}: {ours} of {theirs} instructions");
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
