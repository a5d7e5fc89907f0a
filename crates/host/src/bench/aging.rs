//! `bench aging`: one walk of page tables for young bits, as aging makes it. It measures the cost
//! by mapped space, by populated entries, and by the means that let the walk skip tables.

use super::goals::{Bound, goal_record};
use super::walked::{Layout, Walked};
use crate::counting::{Counter, CountingEnv};
use crate::floor::{locked_operation_ns, locked_record};
use pageout_experiment::clock::timed;
use pageout_experiment::fields::display_size;
use pageout_experiment::metrics::{counted, labels, measured};
use pageout_experiment::rounds::{Rounds, turns};
use pageout_experiment::variant::algorithm_name;
use pageout_paging::pte::X86_64;
use pageout_paging::young::YoungAlgorithm;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};
use std::time::Duration;

/// The scenario of the walks' records.
pub const WALKS: &str = "bench aging";
/// The name of the time of a walk.
pub const WALK: &str = "walk";
/// The default rounds: one takes several seconds.
pub const AGING_ROUNDS: Rounds =
    Rounds::Within { budget: Duration::from_secs(40), at_least: 5, at_most: 15 };
/// The quantities that a walk's cost grows with.
pub const GROWS_WITH: [&str; 2] = ["mapped space", "populated entries"];

/// The file that eight processes share, and its folios' order.
const SHARED: Layout = Layout::Shared { processes: 8, bytes: 256 << 20 };
/// GiB mapped, with as many entries populated.
const MAPPED: [u64; 4] = [16, 64, 256, 1024];
const POPULATED: u64 = 1 << 15;
/// Entries populated, with as much mapped.
const ENTRIES: [u64; 4] = [1 << 12, 1 << 14, 1 << 16, 1 << 18];
const LARGEST: u64 = 1024;
/// A layout in which all mapped memory is populated and unused. It is as large as that of the
/// benchmark of reclaim, so that the cost of opening a generation is small beside it.
const UNUSED: Layout = Layout::Sparse { gib: 10, populated: 10 << 18 };

/// The means that let a walk skip tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skip {
    /// A forced walk, which skips nothing.
    Forced,
    /// Old entries that lead to tables, if hardware sets their accessed bits; and a filter of
    /// tables worth entering, if the previous walk left one.
    What {
        /// True if hardware sets the young bits of entries that lead to tables.
        nonleaf: bool,
        /// True if there is a filter.
        filter: bool,
    },
}

impl Skip {
    const ALL: [Self; 5] = [
        Self::Forced,
        Self::What { nonleaf: false, filter: false },
        Self::What { nonleaf: true, filter: false },
        Self::What { nonleaf: false, filter: true },
        Self::What { nonleaf: true, filter: true },
    ];

    /// Returns the name in records and tables.
    const fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::What { nonleaf: false, filter: false } => "nothing",
            Self::What { nonleaf: true, filter: false } => "non-leaf young",
            Self::What { nonleaf: false, filter: true } => "filter",
            Self::What { nonleaf: true, filter: true } => "non-leaf young, filter",
        }
    }
}

/// Walks without non-leaf young, and with it; no filter either way.
const NONLEAF: [Skip; 2] = [Skip::ALL[1], Skip::ALL[2]];

/// The merged form, and ours, which costs less if nothing is skipped.
const KERNELS_AND_OURS: [YoungAlgorithm; 2] = [YoungAlgorithm::Batched, YoungAlgorithm::Line];

/// The memory that was used since the previous walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Used {
    /// No memory was used, so that entries that lead to tables are old as well.
    Nothing,
    /// A sixteenth of the populated tables, the same ones each time; of a shared file all of it.
    Part,
}

/// The parameters of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Walk {
    layout: Layout,
    skip: Skip,
    used: Used,
    algorithm: YoungAlgorithm,
}

impl Walk {
    fn all() -> Vec<Self> {
        let of = |layout, skip, used, algorithm| Self { layout, skip, used, algorithm };
        let shared = Skip::ALL.into_iter().flat_map(|skip| {
            YoungAlgorithm::ALL.map(|algorithm| of(SHARED, skip, Used::Part, algorithm))
        });
        let sparse = sparse().into_iter().flat_map(|layout| {
            Skip::ALL.map(|skip| of(layout, skip, Used::Part, YoungAlgorithm::Line))
        });
        let unused = KERNELS_AND_OURS
            .into_iter()
            .flat_map(|algorithm| NONLEAF.map(|skip| of(UNUSED, skip, Used::Nothing, algorithm)));
        shared.chain(sparse).chain(unused).collect()
    }

    fn labels(&self) -> Labels {
        let (mapped, populated) = self.layout.sizes();
        labels([
            ("processes", self.layout.processes().to_string()),
            ("mapped", display_size(mapped)),
            ("populated", populated.to_string()),
            ("skips", self.skip.name().to_owned()),
            (
                "used",
                match (self.used, self.layout) {
                    (Used::Nothing, _) => "nothing",
                    (Used::Part, Layout::Sparse { .. }) => "1/16",
                    (Used::Part, Layout::Shared { .. }) => "all",
                }
                .to_owned(),
            ),
        ])
    }

    /// Returns the microseconds of the walk.
    fn time(&self) -> f64 {
        let mut walked = Walked::<X86_64>::arena(self.layout, self.skip);
        let walked = Walked::<X86_64>::build(&mut walked, self.layout, self.skip, self.used);
        let env = walked.ground.env;
        let (_, ns) = timed(|| walked.walk(&env, self.algorithm));
        ns as f64 / 1e3
    }

    fn count(&self) -> Vec<Metric> {
        let mut walked = Walked::<X86_64>::arena(self.layout, self.skip);
        let walked = Walked::<X86_64>::build(&mut walked, self.layout, self.skip, self.used);
        let counter = Counter::of::<X86_64>();
        let before = walked.stats();
        walked.walk(&CountingEnv::new(walked.ground.env, &counter), self.algorithm);
        let (stats, counts) = (walked.stats(), counter.counts());
        let metric = |name: &str, unit: &str, n: u64, better| counted(name, unit, n as f64, better);
        let entries = |name, n| metric(name, "entries", n, Better::Lower);
        let tables = |name, n| metric(name, "tables", n, Better::Neither);
        vec![
            entries("entries visited", counts.entries_visited),
            metric("atomics", "atomics", counts.atomics, Better::Lower),
            entries("leaf entries seen", stats.leaf_total - before.leaf_total),
            entries("leaf entries young", stats.leaf_young - before.leaf_young),
            tables("tables entered", stats.nonleaf_found - before.nonleaf_found),
            tables("tables worth it", stats.nonleaf_added - before.nonleaf_added),
        ]
    }
}

fn sparse() -> Vec<Layout> {
    let mapped = MAPPED.map(|gib| Layout::Sparse { gib, populated: POPULATED });
    let populated = ENTRIES.map(|populated| Layout::Sparse { gib: LARGEST, populated });
    mapped.into_iter().chain(populated).collect()
}

/// Runs the benchmark and returns its records: times, counts, exponents and goals.
pub fn aging(rounds: Rounds, seed: u64, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let walks = Walk::all();
    let mut times = vec![Vec::new(); walks.len()];
    let mut locked = Vec::new();
    let most = rounds.most() * walks.len();
    let mut done = 0;
    rounds.run(|round| {
        for walk in turns(walks.len(), round) {
            times[walk].push(walks[walk].time());
            done += 1;
            progress(done, most);
        }
        locked.push(locked_operation_ns());
    });
    let measured = Measured { walks, times, locked, seed };
    let exponents = Skip::ALL.into_iter().map(|skip| measured.exponents(skip));
    let floor = locked_record(&measured.locked);
    let goals = KERNELS_AND_OURS.map(|algorithm| measured.goal(algorithm));
    let floored = KERNELS_AND_OURS.map(|algorithm| measured.above_floor(algorithm));
    let rest = exponents.chain([floor]).chain(goals).chain(floored);
    measured.records().chain(rest).collect()
}

/// The microseconds of each walk, a sample for each round.
struct Measured {
    walks: Vec<Walk>,
    times: Vec<Vec<f64>>,
    /// The nanoseconds of a locked operation, likewise.
    locked: Vec<f64>,
    seed: u64,
}

impl Measured {
    fn records(&self) -> impl Iterator<Item = Record> {
        self.walks.iter().zip(&self.times).map(|(walk, times)| {
            let time = measured(WALK, "us", times);
            let metrics = [time].into_iter().chain(walk.count()).collect();
            self.record(walk.labels(), walk.algorithm, metrics)
        })
    }

    fn record(&self, fields: Labels, algorithm: YoungAlgorithm, metrics: Vec<Metric>) -> Record {
        Record {
            scenario: WALKS.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields,
            variant: labels([("young", algorithm_name(algorithm).to_owned())]),
            metrics,
        }
    }

    fn of(&self, layout: Layout, skip: Skip, used: Used, algorithm: YoungAlgorithm) -> &[f64] {
        let walk = Walk { layout, skip, used, algorithm };
        let found = self.walks.iter().position(|one| *one == walk);
        &self.times[found.expect("every walk was measured")]
    }

    /// Returns the exponents by which the time of a walk grows with mapped and with populated
    /// memory.
    fn exponents(&self, skip: Skip) -> Record {
        let sparse = sparse();
        let (mapped, populated) = sparse.split_at(MAPPED.len());
        let power = |layouts: &[Layout], size: fn((u64, u64)) -> u64| {
            let times = layouts
                .iter()
                .map(|layout| self.of(*layout, skip, Used::Part, YoungAlgorithm::Line));
            let times: Vec<_> = times.collect();
            let slope = |round: usize| {
                let points = layouts
                    .iter()
                    .zip(&times)
                    .map(|(layout, times)| ((size(layout.sizes()) as f64).ln(), times[round].ln()));
                super::scale::slope(&points.collect::<Vec<_>>())
            };
            (0..times[0].len()).map(slope).collect::<Vec<_>>()
        };
        let powers = [power(mapped, |sizes| sizes.0), power(populated, |sizes| sizes.1)];
        let metrics = GROWS_WITH
            .iter()
            .zip(&powers)
            .map(|(with, power)| measured(&format!("power of {with}"), "", power));
        let fields = labels([("skips", skip.name().to_owned())]);
        self.record(fields, YoungAlgorithm::Line, metrics.collect())
    }

    /// Returns the goal for a walk of unused memory: its cost with non-leaf young, relative to the
    /// cost without.
    fn goal(&self, algorithm: YoungAlgorithm) -> Record {
        let time = |skip| self.of(UNUSED, skip, Used::Nothing, algorithm);
        let [without, with] = NONLEAF.map(time);
        let ratios = with.iter().zip(without).map(|(with, without)| with / without).collect();
        let algorithm = algorithm_name(algorithm);
        let what = format!(
            "{algorithm}, all populated, all old, no filter: with non-leaf young / without"
        );
        goal_record(&what, Bound::AtMost(0.02), ("times", Basis::Measured), ratios, self.seed)
    }

    /// Returns the goal for the cost of a walk for each entry when all are young, relative to the
    /// locked operation that each takes.
    fn above_floor(&self, algorithm: YoungAlgorithm) -> Record {
        let entries = f64::from(SHARED.processes()) * SHARED.sizes().1 as f64;
        let times = self.of(SHARED, Skip::Forced, Used::Part, algorithm).iter().zip(&self.locked);
        let ratios = times.map(|(us, locked)| us * 1e3 / entries / locked).collect();
        let algorithm = algorithm_name(algorithm);
        let what = format!("{algorithm}, all young, forced, an entry: walk / locked operation");
        goal_record(&what, Bound::AtMost(1.5), ("times", Basis::Measured), ratios, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tables entered, and the leaf entries seen in them, under each way to skip.
    fn entered(layout: Layout, used: Used) -> [(u64, u64); 5] {
        Skip::ALL.map(|skip| {
            let counts = Walk { layout, skip, used, algorithm: YoungAlgorithm::Line }.count();
            let of = |name: &str| {
                let metric = counts.iter().find(|metric| metric.name == name);
                metric.expect("it is counted").values[0] as u64
            };
            (of("tables entered"), of("leaf entries young"))
        })
    }

    /// Two of 32 tables are used.
    #[test]
    fn a_walk_enters_what_nothing_lets_it_skip() {
        let layout = Layout::Sparse { gib: 16, populated: 32 << 9 };
        let (all, used) = ((32, 1024), (2, 1024));
        assert_eq!(entered(layout, Used::Part), [all, all, used, used, used]);
        let (all, none) = ((32, 0), (0, 0));
        assert_eq!(entered(layout, Used::Nothing), [all, all, none, none, none]);
    }

    #[test]
    fn processes_that_share_a_file_are_walked_one_by_one() {
        let layout = Layout::Shared { processes: 3, bytes: 4 << 20 };
        assert_eq!(entered(layout, Used::Part), [(6, 3072); 5]);
    }

    #[test]
    fn every_walk_has_labels_of_its_own() {
        let walks = Walk::all();
        let labels: Vec<_> = walks.iter().map(|walk| (walk.labels(), walk.algorithm)).collect();
        for (k, one) in labels.iter().enumerate() {
            assert!(!labels[..k].contains(one), "{one:?}");
        }
    }
}
