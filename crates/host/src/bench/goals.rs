//! The goals of the hot path, as ratios of figures from one run.

use super::sweep::{Checker, Reached, Sweep};
use super::{GOAL_RATIOS, Times};
use pageout_experiment::formats::FormatName;
use pageout_experiment::metrics::labels;
use pageout_paging::young::YoungAlgorithm;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};
use std::str::FromStr;

/// A figure of a run, with one sample for each round.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// A sweep with an algorithm, or with the single helper.
    Time(Sweep, Checker),
    /// A locked operation.
    Locked,
}

/// The bound of a ratio, from above or below.
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
    /// The ratio, in words.
    pub what: &'static str,
    over: Figure,
    under: Figure,
    /// The bound of the ratio.
    pub bound: Bound,
}

const LINE: Checker = Checker::YoungAlgorithm(YoungAlgorithm::Line);
const BATCHED: Checker = Checker::YoungAlgorithm(YoungAlgorithm::Batched);
const PER_ENTRY: Checker = Checker::YoungAlgorithm(YoungAlgorithm::PerEntry);

const fn x86(nr: usize, young: u8, by: Checker) -> Figure {
    Figure::Time(Sweep::new(FormatName::X86_64, nr, young, Reached::BySweep), by)
}

const fn arm64(nr: usize, young: u8, by: Checker) -> Figure {
    Figure::Time(Sweep::new(FormatName::Arm64_4K, nr, young, Reached::BySweep), by)
}

const fn x86_walk(young: u8, by: Checker) -> Figure {
    Figure::Time(Sweep::new(FormatName::X86_64, 16, young, Reached::ByWalk), by)
}

const fn at_most(what: &'static str, over: Figure, under: Figure, bound: f64) -> Goal {
    Goal { what, over, under, bound: Bound::AtMost(bound) }
}

const fn at_least(what: &'static str, over: Figure, under: Figure, bound: f64) -> Goal {
    Goal { what, over, under, bound: Bound::AtLeast(bound) }
}

/// The goals, in the order in which they are shown.
pub const GOALS: [Goal; 18] = [
    at_most(
        "x86-64, nr 16, all old: line / scalar read",
        x86(16, 0, LINE),
        x86(16, 0, Checker::ScalarRead),
        1.25,
    ),
    at_most(
        "x86-64, nr 16, all old, 200 MiB: line / scalar read",
        Figure::Time(Sweep::large(), LINE),
        Figure::Time(Sweep::large(), Checker::ScalarRead),
        1.5,
    ),
    at_most(
        "x86-64, nr 16, all old: line / wide read",
        x86(16, 0, LINE),
        x86(16, 0, Checker::WideRead),
        1.25,
    ),
    at_most(
        "x86-64, nr 16, all old, 200 MiB: line / wide read",
        Figure::Time(Sweep::large(), LINE),
        Figure::Time(Sweep::large(), Checker::WideRead),
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
        x86(1, 0, Checker::Single),
        x86(1, 0, LINE),
        0.97,
    ),
    at_least(
        "x86-64, nr 1, all young: single call / line",
        x86(1, 100, Checker::Single),
        x86(1, 100, LINE),
        0.97,
    ),
    at_least(
        "x86-64, nr 1, all young: single call / batched",
        x86(1, 100, Checker::Single),
        x86(1, 100, BATCHED),
        0.97,
    ),
    at_least(
        "arm64-4k, nr 1, all old: single call / line",
        arm64(1, 0, Checker::Single),
        arm64(1, 0, LINE),
        0.97,
    ),
    at_least(
        "arm64-4k, nr 1, all young: single call / line",
        arm64(1, 100, Checker::Single),
        arm64(1, 100, LINE),
        0.97,
    ),
];

impl Bound {
    /// Returns true if a ratio keeps to the bound.
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

/// The error for a text that is no [`Bound`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a bound is `<= NUMBER` or `>= NUMBER`")]
pub struct NoBound;

impl FromStr for Bound {
    type Err = NoBound;

    fn from_str(text: &str) -> Result<Self, NoBound> {
        let (side, number) = text.split_once(' ').ok_or(NoBound)?;
        let number = number.parse().map_err(|_| NoBound)?;
        match side {
            "<=" => Ok(Self::AtMost(number)),
            ">=" => Ok(Self::AtLeast(number)),
            _ => Err(NoBound),
        }
    }
}

/// Returns the record of a goal with its ratio: measured, with one sample for each round, or
/// counted.
pub fn goal_record(
    what: &str,
    bound: Bound,
    (unit, basis): (&str, Basis),
    values: Vec<f64>,
    seed: u64,
) -> Record {
    let better = match bound {
        Bound::AtMost(_) => Better::Lower,
        Bound::AtLeast(_) => Better::Higher,
    };
    let metric = Metric::new("figure", unit, basis, better, values);
    Record {
        scenario: GOAL_RATIOS.to_owned(),
        ground: Ground::Host,
        seed,
        fields: labels([("goal", what.to_owned()), ("held", bound.to_string())]),
        variant: Labels::new(),
        metrics: vec![metric],
    }
}

impl Goal {
    /// Returns the goal's ratio, with one sample for each round.
    pub(super) fn record(&self, times: &Times, seed: u64) -> Record {
        let pairs = self.over.of(times).iter().zip(self.under.of(times));
        let ratios = pairs.map(|(over, under)| over / under).collect();
        goal_record(self.what, self.bound, ("times", Basis::Measured), ratios, seed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_parses_back() {
        for bound in [Bound::AtMost(1.0 / 3.0), Bound::AtLeast(18.0)] {
            assert_eq!(bound.to_string().parse(), Ok(bound));
        }
        for text in ["", "1.5", "< 1.5", "<= much"] {
            assert_eq!(text.parse::<Bound>(), Err(NoBound));
        }
    }
}
