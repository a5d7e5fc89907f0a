//! The outcome of a comparison, which renderers read.

use std::collections::BTreeSet;

use serde::Serialize;

use super::decision::Decision;
use super::drift::Drift;
use super::group;
use super::names::{self, Named};
use super::overall::Overall;
use super::role::Role;
use super::runs::{Pairs, Runs};
use super::significance::Family;
use super::verdict::Verdict;
use crate::schema::{Basis, Better, Ground, Labels, Run};
use crate::stats::Interval;

/// A base variant against others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs that are compared; one or more.
    pub runs: Vec<Run>,
    /// The indices of the runs that have the base.
    pub base_runs: BTreeSet<usize>,
    /// The chance of any false finding in the table: [`ALPHA`](super::ALPHA).
    pub alpha: f64,
    /// The coverage asked of the intervals: [`LEVEL`](super::LEVEL).
    pub level: f64,
    /// The tests of wholes, on which verdicts rest.
    pub judged: Family,
    /// The tests of counts, which are information.
    pub informed: Family,
    /// The gain, in per cent of the base, from which on a variant pays on a modelled machine:
    /// [`LEAST_GAIN`](super::LEAST_GAIN), unless a caller [asks](Self::asking) for another.
    pub least_gain: f64,
    /// The axes that differ between variants of one group, in the order of the titles.
    pub compared: Vec<String>,
    /// The axes with one choice throughout.
    pub common: Labels,
    /// The columns whose variant has a name.
    pub named: Vec<Named>,
    /// Title of the base: its name, or its choices on the compared axes.
    pub base: String,
    /// Titles of the other variants.
    pub others: Vec<String>,
    /// The verdict on each of them, in the same order.
    pub verdicts: Vec<Overall>,
    /// The scenarios without declared roles: their metrics are all wholes.
    pub undeclared: BTreeSet<String>,
    /// A row for each group and metric: groups in record order, each by role, then in record order.
    pub rows: Vec<Row>,
    /// Measured samples that rise or fall over the rounds.
    pub drift: Drift,
}

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
    /// The other variants, in the order of [`Comparison::others`].
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

impl Comparison {
    /// Returns the comparison with decisions that ask for a gain of more than `least_gain` per
    /// cent.
    #[must_use]
    pub fn asking(mut self, least_gain: f64) -> Self {
        self.least_gain = least_gain;
        for row in &mut self.rows {
            let better = row.better;
            row.decisions.iter_mut().flatten().for_each(|one| one.ask(least_gain, better));
        }
        self
    }

    /// Returns the family of a row's tests.
    pub fn family(&self, row: &Row) -> Family {
        if row.is_judged() { self.judged } else { self.informed }
    }

    /// Returns the titles of all columns, the base first.
    pub fn columns(&self) -> Vec<String> {
        std::iter::once(&self.base).chain(&self.others).cloned().collect()
    }

    /// Returns the title of a variant's column: its name, or its choices on the compared axes.
    pub fn title(&self, variant: &Labels) -> String {
        names::title(&self.named, group::title(&self.compared, variant))
    }
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
