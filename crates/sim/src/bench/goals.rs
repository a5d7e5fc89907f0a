//! What the hot path is held to, as ratios of figures from one run.

use super::sweep::{By, Reached, Sweep};
use super::{GOAL_RATIOS, Times};
use crate::formats::FormatName;
use crate::metrics::labels;
use pageout_paging::young::Family;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};

/// One figure of a run, a sample a round.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// A sweep in a family, or by the single helper.
    Time(Sweep, By),
    /// One locked operation.
    Locked,
}

/// Which side of a number a ratio is held to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

/// A ratio and the number it is held to.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// What is held.
    pub what: &'static str,
    over: Figure,
    under: Figure,
    /// The number.
    pub bound: Bound,
}

const LINE: By = By::Family(Family::Line);
const BATCHED: By = By::Family(Family::Batched);
const PER_ENTRY: By = By::Family(Family::PerEntry);

const fn x86(nr: usize, young: u8, by: By) -> Figure {
    Figure::Time(Sweep::new(FormatName::X86_64, nr, young, Reached::BySweep), by)
}

const fn arm64(nr: usize, young: u8, by: By) -> Figure {
    Figure::Time(Sweep::new(FormatName::Arm64_4K, nr, young, Reached::BySweep), by)
}

const fn x86_walk(young: u8, by: By) -> Figure {
    Figure::Time(Sweep::new(FormatName::X86_64, 16, young, Reached::ByWalk), by)
}

const fn at_most(what: &'static str, over: Figure, under: Figure, bound: f64) -> Goal {
    Goal { what, over, under, bound: Bound::AtMost(bound) }
}

const fn at_least(what: &'static str, over: Figure, under: Figure, bound: f64) -> Goal {
    Goal { what, over, under, bound: Bound::AtLeast(bound) }
}

/// The goals, in the order they are shown.
pub const GOALS: [Goal; 16] = [
    at_most(
        "x86-64, nr 16, all old: line / wide read",
        x86(16, 0, LINE),
        x86(16, 0, By::WideRead),
        1.25,
    ),
    at_most(
        "x86-64, nr 16, all old, 200 MiB: line / wide read",
        Figure::Time(Sweep::large(), LINE),
        Figure::Time(Sweep::large(), By::WideRead),
        1.5,
    ),
    at_most(
        "x86-64, nr 16, all young: line / locked operation",
        x86(16, 100, LINE),
        Figure::Locked,
        1.15,
    ),
    at_most(
        "x86-64, nr 16, 50% young: line / locked operation",
        x86(16, 50, LINE),
        Figure::Locked,
        0.65,
    ),
    at_least(
        "x86-64, nr 16, 50% young: batched / line",
        x86(16, 50, BATCHED),
        x86(16, 50, LINE),
        1.4,
    ),
    at_least(
        "arm64-4k, nr 16, all young: per-entry / batched",
        arm64(16, 100, PER_ENTRY),
        arm64(16, 100, BATCHED),
        10.0,
    ),
    at_least(
        "arm64-4k, nr 16, all young: per-entry / line",
        arm64(16, 100, PER_ENTRY),
        arm64(16, 100, LINE),
        15.0,
    ),
    at_least(
        "arm64-4k, nr 16, all old: per-entry / line",
        arm64(16, 0, PER_ENTRY),
        arm64(16, 0, LINE),
        200.0,
    ),
    at_least(
        "x86-64, all old: per-entry by rmap walk / line by sweep",
        x86_walk(0, PER_ENTRY),
        x86(16, 0, LINE),
        8.0,
    ),
    at_least(
        "x86-64, 50% young: per-entry by rmap walk / line by sweep",
        x86_walk(50, PER_ENTRY),
        x86(16, 50, LINE),
        2.0,
    ),
    at_least(
        "x86-64, all young: per-entry by rmap walk / line by sweep",
        x86_walk(100, PER_ENTRY),
        x86(16, 100, LINE),
        1.2,
    ),
    at_least(
        "x86-64, nr 1, all old: single call / line",
        x86(1, 0, By::Single),
        x86(1, 0, LINE),
        0.97,
    ),
    at_least(
        "x86-64, nr 1, all young: single call / line",
        x86(1, 100, By::Single),
        x86(1, 100, LINE),
        0.97,
    ),
    at_least(
        "x86-64, nr 1, all young: single call / batched",
        x86(1, 100, By::Single),
        x86(1, 100, BATCHED),
        0.97,
    ),
    at_least(
        "arm64-4k, nr 1, all old: single call / line",
        arm64(1, 0, By::Single),
        arm64(1, 0, LINE),
        0.97,
    ),
    at_least(
        "arm64-4k, nr 1, all young: single call / line",
        arm64(1, 100, By::Single),
        arm64(1, 100, LINE),
        0.97,
    ),
];

impl Bound {
    /// Whether a ratio keeps to the bound.
    pub fn holds(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
        }
    }
}

impl Goal {
    /// The goal's ratio, a sample a round.
    pub(super) fn record(&self, times: &Times, seed: u64) -> Record {
        let pairs = self.over.of(times).iter().zip(self.under.of(times));
        let better = match self.bound {
            Bound::AtMost(_) => Better::Lower,
            Bound::AtLeast(_) => Better::Higher,
        };
        Record {
            scenario: GOAL_RATIOS.to_owned(),
            ground: Ground::Host,
            seed,
            fields: labels([("goal", self.what.to_owned()), ("held", self.bound.to_string())]),
            variant: Labels::new(),
            metrics: vec![Metric {
                name: "ratio".to_owned(),
                unit: "times".to_owned(),
                basis: Basis::Measured,
                better,
                source: None,
                values: pairs.map(|(over, under)| over / under).collect(),
            }],
        }
    }
}

impl Figure {
    fn of(self, times: &Times) -> &[f64] {
        match self {
            Self::Time(sweep, by) => &times.sweeps[&(sweep, by)],
            Self::Locked => &times.locked,
        }
    }
}
