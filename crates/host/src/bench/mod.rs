//! Benchmarks: paths beside their floors and goals, as ratios inside one run.
//!
//! `bench young`: sweeps over page tables, with each algorithm and each share of young entries. The
//! reads of the same tables and one locked operation are timed in the same rounds.

mod aging;
pub mod figures;
mod goals;
mod mglru;
mod plan;
mod reclaim;
mod scale;
mod sweep;
mod tables;
mod walked;

pub use aging::{AGING_ROUNDS, GROWS_WITH, WALK, WALKS, aging};
pub use goals::{Bound, GOALS, Goal, NoBound, goal_record};
pub use mglru::{MGLRU_ROUNDS, mglru};
pub use plan::{Plan, Predictable, Row};
pub use reclaim::{FIXED, reclaim};
pub use scale::{SCALE_ROUNDS, SIZES, scale, scale_scenarios};
pub use sweep::{Checker, Sweep};

use crate::floor::{self, locked_operation_ns};
use pageout_experiment::metrics::measured;
use pageout_experiment::rounds::{Rounds, turns};
use pageout_experiment::variant::{Axes, Variant, algorithm_name};
use pageout_paging::young::YoungAlgorithm;
use pageout_record::schema::{Ground, Record};
use std::collections::BTreeMap;
use tables::SweepTables;

/// The scenario of the sweeps' records.
pub const SWEEPS: &str = "bench young";
/// The metric of the sweeps' records: the time for each entry.
pub const SWEEP_TIME: &str = "time";
/// The scenario of the goals' records.
pub const GOAL_RATIOS: &str = "goals";

/// The nanoseconds for each entry of every sweep, and those of one locked operation, with one
/// sample for each round.
#[derive(Debug, Default)]
pub(crate) struct Times {
    sweeps: BTreeMap<(Sweep, Checker), Vec<f64>>,
    locked: Vec<f64>,
}

/// Runs the benchmark and returns its records: sweeps, floors and goals. Calls `progress` with the
/// steps done and the most steps.
pub fn young(rounds: Rounds, seed: u64, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let sweeps = Sweep::all();
    let most = rounds.most() * sweeps.len();
    let mut tables: BTreeMap<usize, SweepTables> = BTreeMap::new();
    for bytes in sweeps.iter().map(|sweep| sweep.table_bytes) {
        tables.entry(bytes).or_insert_with(|| SweepTables::new(bytes));
    }
    let mut times = Times::default();
    let mut done = 0;
    rounds.run(|round| {
        times.locked.push(locked_operation_ns());
        for sweep in &sweeps {
            let tables = tables.get_mut(&sweep.table_bytes).expect("made for every sweep");
            let ways = sweep.ways();
            for way in turns(ways.len(), round) {
                let ns = sweep.time(tables, ways[way], seed);
                times.sweeps.entry((*sweep, ways[way])).or_default().push(ns);
            }
            done += 1;
            progress(done, most);
        }
    });
    times.records(seed)
}

impl Times {
    fn records(&self, seed: u64) -> Vec<Record> {
        let mut records = Vec::new();
        for ((sweep, by), ns) in &self.sweeps {
            let read = match by {
                Checker::ScalarRead => Some(floor::scalar_read_record(sweep.table_bytes, ns)),
                Checker::WideRead => Some(floor::wide_read_record(sweep.table_bytes, ns)),
                Checker::YoungAlgorithm(_) | Checker::Single => None,
            };
            if read.is_some() {
                records.extend(read);
                continue;
            }
            let mut variant = Variant::of(YoungAlgorithm::PerEntry).labels(Axes::Aging);
            variant.insert("young".to_owned(), by.name().to_owned());
            records.push(Record {
                scenario: SWEEPS.to_owned(),
                ground: Ground::Host,
                seed,
                fields: sweep.labels(),
                variant,
                metrics: vec![measured(SWEEP_TIME, "ns/entry", ns)],
            });
        }
        records.push(floor::locked_record(&self.locked));
        records.extend(GOALS.iter().map(|goal| goal.record(self, seed)));
        records
    }
}

impl Checker {
    /// Returns the name in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::YoungAlgorithm(algorithm) => algorithm_name(algorithm),
            Self::Single => "single call",
            Self::ScalarRead => "scalar read",
            Self::WideRead => "wide read",
        }
    }
}
