//! Measuring the scenario: the whole of `memory.reclaim`, and its share by stage.

use super::setup::Setup;
use crate::counting::{Counter, CountingEnv};
use crate::layout::Arena;
use crate::sampler::{self, sampled};
use crate::scenario::RunOptions;
use pageout_experiment::clock::timed;
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::Arch;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::scenarios::metrics::reclaim_file::{
    ACTIVATED, RECLAIMED_ANON, RECLAIMED_FILES, SAMPLING_ERROR, WALK_ADDED, WALK_ENTRIES,
    WALK_TABLES, WALK_YOUNG, WHILE_SAMPLED, WHOLE,
};
use pageout_experiment::scenarios::metrics::{EXAMINED, RECLAIMED, STAGES, SWAPPED_OUT};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_paging::Stage;
use pageout_reclaim::mglru::MmStats;
use pageout_reclaim::{Counter as VmCounter, Errno, Tuning};
use pageout_record::schema::{Ground, Metric, Record};
use std::marker::PhantomData;

/// The cgroup's counters that become metrics.
const VMSTAT: [(MetricSpec, VmCounter); 5] = [
    (EXAMINED, VmCounter::PgscanProactive),
    (RECLAIMED_FILES, VmCounter::PgstealFile),
    (RECLAIMED_ANON, VmCounter::PgstealAnon),
    (SWAPPED_OUT, VmCounter::Pswpout),
    (ACTIVATED, VmCounter::Pgactivate),
];

/// The samples of one variant, in nanoseconds for each 4K page, one for each round.
#[derive(Debug, Default)]
struct Samples {
    whole: Vec<f64>,
    while_sampled: Vec<f64>,
    stages: [Vec<f64>; Stage::ALL.len()],
    sampling_error: Vec<f64>,
}

/// The result of a run with the sampler.
struct Sampled {
    /// The nanoseconds for each 4K page.
    whole: f64,
    shares: Option<[f64; Stage::ALL.len()]>,
    error: f64,
}

/// The scenario under several variants. The file is set up again for every sample.
pub(super) struct ReclaimCell<'a, F> {
    scenario: ReclaimFile,
    arena: &'a mut Arena,
    variants: Vec<(Variant, Samples)>,
    seed: u64,
    by_stage: bool,
    /// The pages reclaimed in every sample: one number for all variants on the classic lists, and
    /// one for each other variant.
    reclaimed: Vec<(Option<Variant>, u64)>,
    format: PhantomData<F>,
}

impl<'a, F: Arch> ReclaimCell<'a, F> {
    pub(super) fn new(
        scenario: ReclaimFile,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Self {
        let variants = variants.iter().map(|variant| (*variant, Samples::default())).collect();
        let by_stage = how.by_stage && sampler::is_possible();
        let (seed, format) = (how.seed, PhantomData);
        Self { scenario, arena, variants, seed, by_stage, reclaimed: Vec::new(), format }
    }

    /// Sets the scenario up and calls `reclaim`; returns its result, and the pages reclaimed.
    fn run<R>(
        &mut self,
        variant: Variant,
        reclaim: impl FnOnce(&Setup<'_, F>, u64) -> (Result<u64, Errno>, R),
    ) -> (u64, R) {
        let setup = Setup::<F>::build(self.arena, &self.scenario, variant.lru, self.seed);
        let (reclaimed, result) = reclaim(&setup, self.scenario.reclaim_bytes());
        let reclaimed = reclaimed.expect("a clean file's pages can be reclaimed");
        // Generations differ if more entries of a batch are counted as young.
        let same = match variant.lru {
            Lru::Classic => None,
            Lru::Mglru => Some(variant),
        };
        let known = self.reclaimed.iter().find(|(of, _)| *of == same).map(|(_, pages)| *pages);
        assert_eq!(reclaimed, known.unwrap_or(reclaimed), "reclaim is deterministic");
        if known.is_none() {
            self.reclaimed.push((same, reclaimed));
        }
        (reclaimed << (F::PAGE_SHIFT - 12), result)
    }

    /// Reclaims once, inside of `around`; returns the pages of 4 KiB.
    pub(super) fn once(
        &mut self,
        variant: Variant,
        around: &mut dyn FnMut(&mut dyn FnMut()),
    ) -> u64 {
        let tuning = variant.tuning(F::FLUSH);
        let (pages, ()) = self.run(variant, |setup, bytes| {
            let mut reclaimed = Ok(0);
            around(&mut || reclaimed = plainly(setup, bytes, tuning));
            (reclaimed, ())
        });
        pages
    }

    /// Returns the nanoseconds for each page, without the sampler.
    fn time(&mut self, variant: Variant) -> f64 {
        let tuning = variant.tuning(F::FLUSH);
        let (pages, ns) = self.run(variant, |setup, bytes| timed(|| plainly(setup, bytes, tuning)));
        ns as f64 / pages as f64
    }

    /// Returns the same with the sampler, and the stages that it saw.
    fn time_sampled(&mut self, variant: Variant) -> Sampled {
        let seed = self.seed;
        let tuning = variant.tuning(F::FLUSH);
        let (pages, (ns, looks)) = self.run(variant, |setup, bytes| {
            let ((reclaimed, ns), looks) = sampled(seed, |cell| {
                let env = setup.ground.env.observed(cell);
                timed(|| setup.reclaim(&env, bytes, tuning))
            });
            (reclaimed, (ns, looks))
        });
        let ns = ns as f64;
        Sampled { whole: ns / pages as f64, shares: looks.shares(ns), error: looks.error() }
    }

    /// Returns the operations of one reclaim on tables and TLBs.
    fn count(&mut self, variant: Variant) -> Vec<Metric> {
        let tuning = variant.tuning(F::FLUSH);
        let counter = Counter::of::<F>();
        let (pages, (of_vmstat, walks)) = self.run(variant, |setup, bytes| {
            let env = CountingEnv::new(setup.ground.env, &counter);
            let reclaimed = setup.reclaim(&env, bytes, tuning);
            let of_vmstat = VMSTAT.map(|(metric, of)| (metric, setup.vmstat().get(of)));
            (reclaimed, (of_vmstat, setup.walks()))
        });
        let mut metrics = counter.counts().metrics(pages as f64);
        metrics.push(RECLAIMED.one(pages as f64));
        let in_4k = |pages: u64| (pages << (F::PAGE_SHIFT - 12)) as f64;
        metrics.extend(of_vmstat.map(|(metric, pages)| metric.one(in_4k(pages))));
        metrics.extend(walks.into_iter().flat_map(of_walks));
        metrics
    }
}

/// Reclaims with nothing that looks on: the one function that is timed, and counted where times are
/// predicted.
#[inline(never)]
fn plainly<F: Arch>(setup: &Setup<'_, F>, bytes: u64, tuning: Tuning) -> Result<u64, Errno> {
    setup.reclaim(&setup.ground.env, bytes, tuning)
}

/// Returns the counts of walks as metrics, with the names that the lab has for them.
fn of_walks(walks: MmStats) -> [Metric; 4] {
    let MmStats { leaf_total, leaf_young, nonleaf_found, nonleaf_added } = walks;
    [
        (WALK_ENTRIES, leaf_total),
        (WALK_YOUNG, leaf_young),
        (WALK_TABLES, nonleaf_found),
        (WALK_ADDED, nonleaf_added),
    ]
    .map(|(metric, nr)| metric.one(nr as f64))
}

impl<F: Arch> Cell for ReclaimCell<'_, F> {
    fn sample(&mut self, round: usize) {
        for v in turns(self.variants.len(), round) {
            let variant = self.variants[v].0;
            let whole = self.time(variant);
            self.variants[v].1.whole.push(whole);
            if self.by_stage {
                let sampled = self.time_sampled(variant);
                self.variants[v].1.add_sampled(whole, &sampled);
            }
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let variants: Vec<_> = self.variants.iter().map(|(variant, _)| *variant).collect();
        let counts: Vec<_> = variants.into_iter().map(|variant| self.count(variant)).collect();
        let record = |((variant, samples), counts): (&(Variant, Samples), Vec<Metric>)| Record {
            scenario: ReclaimFile::NAME.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: self.scenario.labels(),
            variant: variant.labels(Axes::Reclaim),
            metrics: samples.metrics().into_iter().chain(counts).collect(),
        };
        self.variants.iter().zip(counts).map(record).collect()
    }
}

impl Samples {
    /// Divides the time that was measured without the sampler by the shares seen in another run.
    fn add_sampled(&mut self, whole: f64, sampled: &Sampled) {
        self.while_sampled.push(sampled.whole);
        if let Some(shares) = sampled.shares {
            for (stage, share) in self.stages.iter_mut().zip(shares) {
                stage.push(whole * share);
            }
            self.sampling_error.push(whole * sampled.error);
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        let stages = STAGES.into_iter().zip(&self.stages);
        let whole = [(WHOLE, &self.whole)].into_iter();
        let looking =
            [(WHILE_SAMPLED, &self.while_sampled), (SAMPLING_ERROR, &self.sampling_error)];
        let all = whole.chain(stages).chain(looking);
        let taken = all.filter(|(_, values)| !values.is_empty());
        taken.map(|(metric, values)| metric.of(values)).collect()
    }
}
