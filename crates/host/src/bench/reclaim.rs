//! `bench reclaim`: the time that batching saves in reclaim, by stage, and its goals.

use super::figures::{Measured, zip};
use super::goals::{Bound, goal_record};
use super::plan::Plan;
use crate::layout::Arena;
use crate::scenario::{HostScenario, RunOptions};
use crate::scenarios::reclaim_file;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Variant;
use pageout_paging::Stage;
use pageout_record::schema::{Basis, Record};

/// Stages that no variant changes: the fixed work around walks, young bits and unmapping.
pub const FIXED: [Stage; 4] = [Stage::Isolate, Stage::CacheRemoval, Stage::Free, Stage::Other];
/// Bytes of the file of single pages, so that a round does not take a minute.
const SINGLE_PAGES: u64 = 2 << 30;
const AGING: [Stage; 2] = [Stage::RmapWalk, Stage::Young];
const UNMAPPING: [Stage; 1] = [Stage::Unmap];

const YOUNG_BATCHED: Variant = Variant::STEPS[0];
const MERGED: Variant = Variant::STEPS[1];
const OURS: Variant = Variant::STEPS[2];

/// Runs the threads' benchmark at orders 4 and 0 under every step, and returns its records: times
/// (by stage at order 4), counts and goals.
pub fn reclaim(rounds: Rounds, seed: u64, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let Plan { scenarios, variants } = plan();
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cell = |(scenario, arena): (&ReclaimFile, _)| -> Box<dyn Cell + '_> {
        let by_stage = reclaim_file::shows_stages(scenario);
        scenario.cell(arena, &variants, RunOptions { seed, by_stage })
    };
    let mut cells: Vec<_> = scenarios.iter().zip(&mut arenas).map(cell).collect();
    let mut records = measure(&mut cells, rounds, progress);
    let measured = Measured { records: &records };
    let goals: Vec<_> =
        FormatName::MAIN.into_iter().flat_map(|format| measured.goals(format, seed)).collect();
    records.extend(goals);
    records
}

/// Returns the plan: every format at orders 4 and 0, under every step.
pub(super) fn plan() -> Plan {
    let of_format = |format| [4, 0].map(|order| scenario(format, order));
    Plan {
        scenarios: FormatName::MAIN.into_iter().flat_map(of_format).collect(),
        variants: [Variant::BEFORE].into_iter().chain(Variant::STEPS).collect(),
    }
}

fn scenario(format: FormatName, order: u8) -> ReclaimFile {
    let orders = Orders::All(OrderName::Number(order));
    let bytes = if order == 0 { SINGLE_PAGES } else { ReclaimFile::DEFAULT.bytes };
    ReclaimFile { format, orders, bytes, ..ReclaimFile::DEFAULT }
}

/// Returns the goals of a format: young and walk stages after batching, unmapping after batching,
/// and nanoseconds saved for each page from end to end.
const fn held(format: FormatName) -> (f64, f64, f64) {
    match format {
        FormatName::X86_64 => (0.75, 0.5, 18.0),
        _ => (0.333, 0.5, 200.0),
    }
}

impl Measured<'_> {
    fn goals(&self, format: FormatName, seed: u64) -> Vec<Record> {
        let (aging, unmapping, saved) = held(format);
        let large = scenario(format, 4);
        let name = format.name();
        let stages = |stages: &[Stage], over: Variant, under: Variant| {
            let [over, under] = [over, under].map(|variant| self.stages(&large, variant, stages));
            zip(&over, &under, |over, under| over / under)
        };
        let whole = |scenario: &ReclaimFile, variant| self.metric(scenario, variant, WHOLE.name);
        let [before, ours] = [Variant::BEFORE, OURS].map(|variant| whole(&large, variant));
        let mut goals = vec![
            (
                format!("{name}, order 4, rmap walk and young: young batched / per-entry"),
                Bound::AtMost(aging),
                "times",
                stages(&AGING, YOUNG_BATCHED, Variant::BEFORE),
            ),
            (
                format!("{name}, order 4, unmap: unmap batched / per-entry"),
                Bound::AtMost(unmapping),
                "times",
                stages(&UNMAPPING, MERGED, YOUNG_BATCHED),
            ),
            (
                format!("{name}, order 4, whole reclaim: saved by line against per-entry"),
                Bound::AtLeast(saved),
                "ns/4K page",
                zip(&before, &ours, |before, ours| before - ours),
            ),
        ];
        let small = scenario(format, 0);
        let before = whole(&small, Variant::BEFORE);
        let names = ["young batched", "unmap batched", "line"];
        goals.extend(names.into_iter().zip(Variant::STEPS).map(|(step, variant)| {
            let ratios = zip(&before, &whole(&small, variant), |before, after| before / after);
            let what = format!("{name}, order 0, throughput: {step} / per-entry");
            (what, Bound::AtLeast(0.97), "times", ratios)
        }));
        let measured = goals.into_iter().filter(|(.., values)| !values.is_empty());
        let record = |(what, bound, unit, values): (String, _, _, _)| {
            goal_record(&what, bound, (unit, Basis::Measured), values, seed)
        };
        measured.map(record).collect()
    }
}
