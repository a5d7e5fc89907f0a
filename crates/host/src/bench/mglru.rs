//! `bench mglru`: the time that batching saves in reclaim by generations, by the share of young
//! entries, and its goals.

use super::figures::{Measured, zip};
use super::goals::{Bound, goal_record};
use super::plan::Plan;
use crate::floor::Floors;
use crate::layout::Arena;
use crate::scenario::{HostScenario, RunOptions};
use crate::scenarios::reclaim_file;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Chosen, Orders, ReclaimFile};
use pageout_experiment::variant::Variant;
use pageout_paging::Stage;
use pageout_record::schema::{Basis, Record};
use std::time::Duration;

/// The default rounds: one takes several seconds.
pub const MGLRU_ROUNDS: Rounds =
    Rounds::Within { budget: Duration::from_secs(60), at_least: 5, at_most: 15 };

/// Bytes of files that are partly young or have folios of single pages, so that a round does not
/// take a minute.
const SMALLER: u64 = 2 << 30;
/// Bytes of page tables of the floors, which are measured in the same rounds.
const FLOOR_TABLES: usize = 20 << 20;
/// The share of young entries, in per cent, and the unit by which they are chosen. The threads'
/// benchmark has all entries young.
const SHARES: [(u8, Chosen); 7] = [
    (0, Chosen::Entries),
    (1, Chosen::Entries),
    (10, Chosen::Entries),
    (50, Chosen::Entries),
    (1, Chosen::Folios),
    (10, Chosen::Folios),
    (50, Chosen::Folios),
];
/// The stages that check young bits: walks of reverse maps and page tables, and reads and clears of
/// young bits.
const YOUNG: [Stage; 3] = [Stage::RmapWalk, Stage::Young, Stage::Aging];

const BEFORE: Variant = Variant::MGLRU_BEFORE;
const MERGED: Variant = Variant::MGLRU_STEPS[0];
const OURS: Variant = Variant::MGLRU_STEPS[1];

/// Runs reclaim on generations with every algorithm, and returns its records: times (by stage at
/// order 4), counts, the floors and goals.
pub fn mglru(rounds: Rounds, seed: u64, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let Plan { scenarios, variants } = plan();
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cell = |(scenario, arena): (&ReclaimFile, _)| -> Box<dyn Cell + '_> {
        let by_stage = reclaim_file::shows_stages(scenario);
        scenario.cell(arena, &variants, RunOptions { seed, by_stage })
    };
    let mut cells: Vec<_> = scenarios.iter().zip(&mut arenas).map(cell).collect();
    cells.push(Box::new(Floors::new(FLOOR_TABLES)));
    let mut records = measure(&mut cells, rounds, progress);
    let measured = Measured { records: &records };
    let goals: Vec<_> = FormatName::MAIN.into_iter().flat_map(|f| goals(measured, f)).collect();
    let recorded = goals.into_iter().filter(|goal| !goal.values.is_empty());
    records.extend(recorded.map(|goal| goal.record(seed)).collect::<Vec<_>>());
    records
}

/// Returns the plan: the scenarios of every format, under every algorithm.
pub(super) fn plan() -> Plan {
    Plan {
        scenarios: FormatName::MAIN.into_iter().flat_map(scenarios).collect(),
        variants: vec![BEFORE, MERGED, OURS],
    }
}

/// Returns the threads' benchmark, the same with a part of the entries young, and single pages.
fn scenarios(format: FormatName) -> Vec<ReclaimFile> {
    let shares = SHARES.map(|share| with_share(format, share));
    [all_young(format)].into_iter().chain(shares).chain([single_pages(format)]).collect()
}

fn all_young(format: FormatName) -> ReclaimFile {
    ReclaimFile { format, ..ReclaimFile::DEFAULT }
}

fn with_share(format: FormatName, (young_percent, chosen): (u8, Chosen)) -> ReclaimFile {
    ReclaimFile { format, bytes: SMALLER, young_percent, chosen, ..ReclaimFile::DEFAULT }
}

fn single_pages(format: FormatName) -> ReclaimFile {
    let orders = Orders::All(OrderName::Number(0));
    ReclaimFile { format, orders, bytes: SMALLER, ..ReclaimFile::DEFAULT }
}

/// A goal and the measured samples for it.
struct Found {
    what: String,
    bound: Bound,
    unit: &'static str,
    values: Vec<f64>,
}

impl Found {
    fn record(self, seed: u64) -> Record {
        goal_record(&self.what, self.bound, (self.unit, Basis::Measured), self.values, seed)
    }
}

/// Returns the bound for the stages walk and young when all entries are young: the most that the
/// merged form may take, relative to entry by entry.
const fn held(format: FormatName) -> f64 {
    match format {
        // Contiguous blocks are read once rather than entry by entry.
        FormatName::Arm64_4K => 0.4,
        // One locked operation for each entry is left: see `bench aging`.
        _ => 1.0,
    }
}

fn goals(measured: Measured<'_>, format: FormatName) -> Vec<Found> {
    let name = format.name();
    let times = |what, bound, values| Found { what, bound, unit: "times", values };
    let young = |scenario: &ReclaimFile, variant| measured.stages(scenario, variant, &YOUNG);
    let ratio = |scenario: &ReclaimFile, over, under| {
        zip(&young(scenario, over), &young(scenario, under), |over, under| over / under)
    };
    let large = all_young(format);
    let mut goals = vec![times(
        format!("{name}, all young, walk and young: batched / per-entry"),
        Bound::AtMost(held(format)),
        ratio(&large, MERGED, BEFORE),
    )];
    let shares = SHARES.into_iter().map(|share| (share_name(share), with_share(format, share)));
    let shares: Vec<_> = shares.collect();
    if format == FormatName::X86_64 {
        goals.extend(shares.iter().map(|(share, scenario)| {
            times(
                format!("{name}, {share}, walk and young: batched / per-entry"),
                Bound::AtMost(0.7),
                ratio(scenario, MERGED, BEFORE),
            )
        }));
    }
    let all = [("all young".to_owned(), large)].into_iter().chain(shares);
    goals.extend(all.map(|(share, scenario)| {
        let (before, merged) = (young(&scenario, BEFORE), young(&scenario, MERGED));
        let best = zip(&before, &merged, f64::min);
        let what = format!("{name}, {share}, walk and young: line / the better of the others");
        times(what, Bound::AtMost(1.0), zip(&young(&scenario, OURS), &best, |a, b| a / b))
    }));
    goals.extend(end_to_end(measured, format));
    goals
}

/// Returns the results for the whole request: nanoseconds saved at order 4, and the loss for single
/// pages.
fn end_to_end(measured: Measured<'_>, format: FormatName) -> Vec<Found> {
    let name = format.name();
    let whole = |scenario: &ReclaimFile, variant| measured.metric(scenario, variant, WHOLE.name);
    let steps = [("batched", MERGED), ("line", OURS)];
    let large = all_young(format);
    let saved = steps.map(|(step, variant)| Found {
        what: format!("{name}, order 4, whole reclaim: saved by {step} against per-entry"),
        bound: Bound::AtLeast(0.0),
        unit: "ns/4K page",
        values: zip(&whole(&large, BEFORE), &whole(&large, variant), |a, b| a - b),
    });
    let small = single_pages(format);
    let throughput = steps.map(|(step, variant)| Found {
        what: format!("{name}, order 0, throughput: {step} / per-entry"),
        bound: Bound::AtLeast(0.97),
        unit: "times",
        values: zip(&whole(&small, BEFORE), &whole(&small, variant), |a, b| a / b),
    });
    saved.into_iter().chain(throughput).collect()
}

fn share_name((percent, chosen): (u8, Chosen)) -> String {
    match chosen {
        Chosen::Entries => format!("{percent}% of entries young"),
        Chosen::Folios => format!("{percent}% of folios young"),
    }
}
