//! The rows of a comparison: a metric of a group, with its base and the others against it.

use serde::Serialize;

use super::decision::Decision;
use super::role::Role;
use super::runs::{Pairs, Runs};
use super::verdict::Verdict;
use crate::schema::{Basis, Better, Ground, Labels};
use crate::stats::Interval;

/// A metric of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Scenario of the group.
    pub scenario: String,
    /// Ground of the group.
    pub ground: Ground,
    /// Seed of the group.
    pub seed: u64,
    /// Scenario fields of the group.
    pub fields: Labels,
    /// Axes with one choice in this group and another elsewhere.
    pub axes: Labels,
    /// Name of the metric.
    pub metric: String,
    /// The metric's unit.
    pub unit: String,
    /// The way in which the row's values came about.
    pub basis: Basis,
    /// The direction that is an improvement.
    pub better: Better,
    /// The role in the verdict on its scenario.
    pub role: Role,
    /// The sources that the row's variants name, each once.
    pub sources: Vec<String>,
    /// The base's figures, if it has the metric.
    pub base: Option<Summary>,
    /// The other variants, in the order of [`Comparison::others`](super::Comparison::others).
    pub others: Vec<Option<Change>>,
    /// The decisions on them, for a whole on a modelled machine; otherwise there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Option<Decision>>,
}

/// The samples of one metric of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// The median of the samples.
    pub median: f64,
    /// The smallest sample.
    pub least: f64,
    /// The largest sample.
    pub most: f64,
    /// The interval of the figure: the record's, or else that of the median, for measured metrics
    /// with enough samples.
    pub interval: Option<Interval>,
}

/// A variant against the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The variant's own samples.
    pub summary: Summary,
    /// The change of the median in per cent of the base, or of the median within pairs of runs. It
    /// is positive if better, or if larger when neither direction is better. `None` without a base,
    /// or if only the base is 0.
    pub percent: Option<f64>,
    /// The order of the variant's runs and the base's; `None` without a base.
    pub runs: Option<Runs>,
    /// The test against the base; of measured wholes and counts only.
    pub test: Option<Test>,
    /// The verdict on the variant in this metric.
    pub verdict: Verdict,
}

/// A two-sided test: Wilcoxon's signed-rank test of pairs of runs, else Mann's and Whitney's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// The raw p-value.
    pub p: f64,
    /// True if the raw p-value is exact; otherwise it is the normal approximation.
    pub exact: bool,
    /// The p-value after Holm's correction over its family.
    pub p_holm: f64,
    /// True if `p_holm` is at most [`ALPHA`](super::ALPHA).
    pub significant: bool,
    /// True if other values of as many samples could be significant.
    pub in_reach: bool,
}

impl Row {
    /// Returns true if the verdict rests on the row: a whole of which one direction is better.
    pub fn is_judged(&self) -> bool {
        self.role == Role::Whole && self.better != Better::Neither
    }

    /// Returns true if samples are too few on a side to say by how much they differ: too few for an
    /// interval of the median, or pairs too few for one of their change. Counted and computed
    /// figures need no samples.
    pub fn has_too_few(&self, change: &Change) -> bool {
        let few = |base: Summary| match change.pairs() {
            Some(pairs) => pairs.interval.is_none(),
            None => base.interval.is_none() || change.summary.interval.is_none(),
        };
        self.basis == Basis::Measured && self.base.is_some_and(few)
    }

    /// Returns the row's figures in a column; the base is column 0.
    pub fn summary(&self, column: usize) -> Option<&Summary> {
        match column.checked_sub(1) {
            None => self.base.as_ref(),
            Some(other) => self.others.get(other)?.as_ref().map(|change| &change.summary),
        }
    }
}

impl Change {
    /// Returns the pairs of runs by which the change is judged, if base and variant ran in turn.
    pub fn pairs(&self) -> Option<Pairs> {
        match self.runs {
            Some(Runs::Pairs(pairs)) => Some(pairs),
            _ => None,
        }
    }
}

impl Summary {
    /// Returns the distance of the farther end of the interval from the median, in per cent of the
    /// median.
    pub fn reach(&self) -> Option<f64> {
        let interval = self.interval?;
        let side = (interval.high - self.median).max(self.median - interval.low);
        Some(if side == 0.0 { 0.0 } else { side / self.median.abs() * 100.0 })
    }

    /// Returns true if all samples are the same.
    pub fn is_constant(&self) -> bool {
        self.least == self.most
    }
}
