//! Counting the scenario under several variants.

use super::process::{Process, Tally};
use crate::counting::Counter;
use crate::generations::Refused;
use crate::layout::Arena;
use crate::scenario::OnHost;
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::formats::with_format;
use pageout_experiment::metrics::counted;
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::AgingRounds;
use pageout_experiment::variant::{Axes, Variant};
use pageout_record::schema::{Better, Ground, Metric, Record};

/// Nothing in it is timed: it is run once under each variant.
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

/// Runs it under a variant, then writes each of `commands` to `lru_gen` in a call of its own; what
/// that says in the end of the root and of the scenario's cgroup.
///
/// # Errors
/// [`Refused`] for the first command that is.
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

/// As records have them: sums over all rounds.
fn metrics(tally: &Tally, rounds: u32) -> Vec<Metric> {
    use Better::{Lower, Neither};
    let Tally { walks, tables, .. } = tally;
    let filters = u64::from(rounds) - tally.unfiltered;
    let bits = tally.filter_bits as f64 / filters.max(1) as f64;
    let all = [
        ("rounds that left no filter", "rounds", tally.unfiltered, Neither),
        ("generations opened", "generations", tally.generations, Neither),
        ("tables entered", "tables", walks.nonleaf_found, Neither),
        ("tables added to the filter by walks", "tables", walks.nonleaf_added, Neither),
        ("entries of tables entered", "entries", walks.leaf_total, Neither),
        ("entries counted young", "entries", walks.leaf_young, Neither),
        ("pages promoted", "pages", tally.promoted, Neither),
        ("pages examined", "pages", tally.scanned, Lower),
        ("pages moved when met", "pages", tally.sorted, Neither),
        ("pages reclaimed", "pages", tally.reclaimed, Lower),
        ("hot pages out while cold ones stayed", "pages", tally.mistakes, Lower),
        ("hot pages read again", "pages", tally.hot_reads, Lower),
        ("refaults", "pages", tally.refaults, Lower),
        ("requests that fell short", "requests", tally.short, Lower),
        ("entries visited", "entries", tables.entries_visited, Lower),
        ("atomics", "atomics", tables.atomics, Lower),
    ];
    let metric = |(name, unit, value, better): (&str, &str, u64, Better)| {
        counted(name, unit, value as f64, better)
    };
    let filter = counted("bits in the filter, mean", "bits", bits, Neither);
    [filter].into_iter().chain(all.into_iter().map(metric)).collect()
}
