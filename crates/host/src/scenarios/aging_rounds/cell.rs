//! Counting the scenario under several variants.

use super::process::{Process, Tally};
use crate::counting::Counter;
use crate::generations::Refused;
use crate::layout::Arena;
use crate::scenario::HostScenario;
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::formats::with_format;
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::AgingRounds;
use pageout_experiment::scenarios::metrics::aging_rounds as of;
use pageout_experiment::variant::{Axes, Variant};
use pageout_record::schema::{Ground, Metric, Record};

/// The cell of a scenario in which nothing is timed: it is run once under each variant.
pub(super) struct RoundsCell<'a> {
    scenario: AgingRounds,
    arena: &'a mut Arena,
    variants: Vec<Variant>,
}

impl<'a> RoundsCell<'a> {
    pub(super) fn new(scenario: AgingRounds, arena: &'a mut Arena, variants: &[Variant]) -> Self {
        Self { scenario, arena, variants: variants.to_vec() }
    }
}

/// Runs the scenario under one variant.
pub(super) fn count(one: &AgingRounds, arena: &mut Arena, variant: Variant) -> Tally {
    with_format!(one.format, F => {
        let counter = Counter::of::<F>();
        Process::<F>::new(arena, &counter, one, variant).run()
    })
}

/// Runs the scenario under a variant, then writes each of `commands` to `lru_gen` in a call of its
/// own. Returns the final content of that file for the root and for the scenario's cgroup.
///
/// # Errors
/// [`Refused`] for the first refused command.
pub(super) fn generations(
    one: &AgingRounds,
    variant: Variant,
    commands: &[String],
) -> Result<String, Refused> {
    with_format!(one.format, F => {
        let (mut arena, counter) = (one.arena(), Counter::of::<F>());
        let mut process = Process::<F>::new(&mut arena, &counter, one, variant);
        process.run();
        process.lru_gen_after(commands)
    })
}

impl Cell for RoundsCell<'_> {
    fn sample(&mut self, _round: usize) {}

    fn records(&mut self) -> Vec<Record> {
        let Self { scenario, arena, variants } = self;
        let record = |variant: &Variant| Record {
            scenario: AgingRounds::NAME.to_owned(),
            ground: Ground::Host,
            seed: 0,
            fields: scenario.record_labels(),
            variant: variant.labels(Axes::Reclaim),
            metrics: metrics(&count(scenario, arena, *variant), scenario.rounds),
        };
        variants.iter().map(record).collect()
    }
}

/// Returns the metrics of the records: sums over all rounds.
fn metrics(tally: &Tally, rounds: u32) -> Vec<Metric> {
    let Tally { walks, tables, .. } = tally;
    let filters = u64::from(rounds) - tally.unfiltered;
    let bits = tally.filter_bits as f64 / filters.max(1) as f64;
    let counts = [
        (of::UNFILTERED, tally.unfiltered),
        (of::GENERATIONS, tally.generations),
        (of::TABLES_ENTERED, walks.nonleaf_found),
        (of::TABLES_ADDED, walks.nonleaf_added),
        (of::ENTRIES_ENTERED, walks.leaf_total),
        (of::ENTRIES_YOUNG, walks.leaf_young),
        (of::PROMOTED, tally.promoted),
        (of::EXAMINED, tally.scanned),
        (of::MOVED, tally.sorted),
        (of::RECLAIMED, tally.reclaimed),
        (of::MISTAKES, tally.mistakes),
        (of::HOT_READ, tally.hot_reads),
        (of::REFAULTS, tally.refaults),
        (of::SHORT, tally.short),
        (of::ENTRIES_VISITED, tables.entries_visited),
        (of::ATOMICS, tables.atomics),
    ];
    let counts = counts.map(|(metric, count)| metric.one(count as f64));
    [of::FILTER_BITS.one(bits)].into_iter().chain(counts).collect()
}
