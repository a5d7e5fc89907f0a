//! Scenario `age-file`: a clean file mapped by processes, and one aging pass over all its folios.

use crate::counting::{Counter, CountingEnv, Counts};
use crate::layout::{Arena, FileLayout, FileSpec};
use crate::scenario::{HostScenario, RunOptions};
use crate::walker::make_young;
use pageout_experiment::clock::timed;
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::scenarios::AgeFile;
use pageout_experiment::scenarios::metrics::age_file::{HELPER_ALONE, VISITED_BY_HELPER};
use pageout_experiment::scenarios::metrics::{FOLIO_REFERENCED, FOLIOS_REFERENCED};
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::walk::{Span, spans};
use pageout_paging::young::YoungCheck;
use pageout_paging::{Env, LockedTable, Order};
use pageout_reclaim::{Aging, Limits};
use pageout_record::schema::{Ground, Metric, Record};

fn spec(one: &AgeFile) -> FileSpec {
    let order = Order::new(one.order.in_format(one.format)).expect("parsed orders are small");
    FileSpec { bytes: one.bytes, order, processes: one.processes, map_as: one.map }
}

impl HostScenario for AgeFile {
    const AXES: Axes = Axes::Aging;

    fn format(&self) -> FormatName {
        self.format
    }

    fn limits<F: Arch>(&self) -> Limits {
        spec(self).limits::<F>()
    }

    fn tables<F: Arch>(&self) -> usize {
        spec(self).tables::<F>()
    }

    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Box<dyn Cell + 'a> {
        with_format!(self.format, F => AgeCell::<F>::boxed(*self, arena, variants, how.seed))
    }
}

/// The timed part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// `folio_referenced` of every folio, in file order.
    FolioReferenced,
    /// The young helper only, over every folio's entries.
    Helper,
}

const STAGES: [Stage; 2] = [Stage::FolioReferenced, Stage::Helper];

impl Stage {
    const fn metric(self) -> MetricSpec {
        match self {
            Self::FolioReferenced => FOLIO_REFERENCED,
            Self::Helper => HELPER_ALONE,
        }
    }
}

/// The times of one variant, a list for each stage, in [`STAGES`]' order.
type Samples = [Vec<f64>; STAGES.len()];

struct AgeCell<'a, F> {
    scenario: AgeFile,
    layout: FileLayout<'a, F>,
    variants: Vec<(Variant, Samples)>,
    seed: u64,
}

impl<'a, F: Arch> AgeCell<'a, F> {
    fn boxed(
        scenario: AgeFile,
        arena: &'a mut Arena,
        variants: &[Variant],
        seed: u64,
    ) -> Box<dyn Cell + 'a>
    where
        F: 'a,
    {
        let layout = FileLayout::<F>::build(arena, &spec(&scenario));
        let variants = variants.iter().map(|variant| (*variant, Samples::default())).collect();
        Box::new(Self { scenario, layout, variants, seed })
    }

    /// Makes the scenario's share of entries young, the same ones for every variant.
    fn make_young(&self) {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let percent = self.scenario.young_percent;
        let env = &self.layout.ground.env;
        for mm in &self.layout.mms {
            let root = self.layout.ground.maps.mm(*mm).expect("it lives").root();
            make_young(env, root, self.layout.range.clone(), |_| random.u8(0..100) < percent);
        }
    }

    /// Returns the number of 4K pages mapped, each as often as processes map it.
    fn pages(&self) -> f64 {
        (self.scenario.bytes >> 12) as f64 * f64::from(self.scenario.processes)
    }

    /// Checks every folio once; returns the number of referenced ones.
    fn age<E: Env<Format = F>>(&self, env: &E, aging: Aging) -> u64 {
        self.layout.ground.age(env, &self.layout.folios, aging)
    }

    /// Checks the entries of every folio with only the helper; returns the number of calls that
    /// found one young.
    fn sweep<E: Env<Format = F>>(&self, env: &E, aging: Aging) -> u64 {
        let nr = spec(&self.scenario).order.nr_pages();
        let mut young = 0;
        for mm in &self.layout.mms {
            let mm = self.layout.ground.maps.mm(*mm).expect("it lives");
            let check =
                YoungCheck { env, algorithm: aging.algorithm, flush: aging.flush, asid: mm.asid() };
            for span in spans(env, mm.root(), self.layout.range.clone()) {
                match span {
                    Span::PmdLeaf { frame, range } => {
                        let pt = LockedTable::lock(env, frame);
                        young += u64::from(check.pmdp_clear_flush_young(&pt, range.start));
                    }
                    Span::Ptes { frame, ahead, range } => {
                        let pt = LockedTable::lock(env, frame)
                            .prefetching(ahead.map(|frame| env.table(frame)));
                        let mut addr = range.start;
                        while addr < range.end {
                            young += u64::from(check.clear_flush_young_ptes(&pt, addr, nr));
                            addr = addr.add((nr as u64) << F::PAGE_SHIFT);
                        }
                    }
                }
            }
        }
        young
    }

    fn aging(&self, variant: Variant) -> Aging {
        variant.aging(self.scenario.format.flush_policy())
    }

    /// Returns the operations of `stage`, and the number of folios (or calls) that it found young.
    fn counted(&self, stage: Stage, variant: Variant) -> (Counts, u64) {
        self.make_young();
        let counter = Counter::of::<F>();
        let env = CountingEnv::new(self.layout.ground.env, &counter);
        let aging = self.aging(variant);
        let young = match stage {
            Stage::FolioReferenced => self.age(&env, aging),
            Stage::Helper => self.sweep(&env, aging),
        };
        (counter.counts(), young)
    }
}

impl<F: Arch> Cell for AgeCell<'_, F> {
    fn sample(&mut self, round: usize) {
        let pages = self.pages();
        for (k, stage) in STAGES.into_iter().enumerate() {
            for v in turns(self.variants.len(), round) {
                self.make_young();
                let aging = self.aging(self.variants[v].0);
                let (_, ns) = timed(|| match stage {
                    Stage::FolioReferenced => self.age(&self.layout.ground.env, aging),
                    Stage::Helper => self.sweep(&self.layout.ground.env, aging),
                });
                self.variants[v].1[k].push(ns as f64 / pages);
            }
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let pages = self.pages();
        let record = |variant: Variant, metrics: Vec<Metric>| Record {
            scenario: AgeFile::NAME.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: self.scenario.labels(),
            variant: variant.labels(Axes::Aging),
            metrics,
        };
        let with_counts = |(variant, samples): &(Variant, Samples)| {
            let (counts, referenced) = self.counted(Stage::FolioReferenced, *variant);
            let (helper, _) = self.counted(Stage::Helper, *variant);
            let times = STAGES.into_iter().zip(samples);
            let mut metrics: Vec<_> = times.map(|(stage, ns)| stage.metric().of(ns)).collect();
            metrics.extend(counts.metrics(pages));
            let by_helper = helper.entries_visited as f64 / pages;
            metrics.push(VISITED_BY_HELPER.one(by_helper));
            metrics.push(FOLIOS_REFERENCED.one(referenced as f64));
            record(*variant, metrics)
        };
        self.variants.iter().map(with_counts).collect()
    }
}
