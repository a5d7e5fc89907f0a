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
    /// What ran, and where; one or more.
    pub runs: Vec<Run>,
    /// Places of those that have the base.
    pub base_runs: BTreeSet<usize>,
    /// Chance of any false finding in the table: [`ALPHA`](super::ALPHA).
    pub alpha: f64,
    /// Coverage asked of the intervals: [`LEVEL`](super::LEVEL).
    pub level: f64,
    /// The tests of wholes, which verdicts rest on.
    pub judged: Family,
    /// The tests of counts, which are information.
    pub informed: Family,
    /// The gain in per cent of the base that decisions on modelled machines ask for:
    /// [`LEAST_GAIN`](super::LEAST_GAIN), unless a caller [asks](Self::asking) for another.
    pub least_gain: f64,
    /// The axes that differ between variants of one group, in the order of the titles.
    pub compared: Vec<String>,
    /// The axes with one choice throughout.
    pub common: Labels,
    /// The columns of which the variant has a name.
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

/// One metric of one group.
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
    /// Its unit.
    pub unit: String,
    /// How its values came to be.
    pub basis: Basis,
    /// Which direction is an improvement.
    pub better: Better,
    /// The role in the verdict on its scenario.
    pub role: Role,
    /// The sources its variants name, each once.
    pub sources: Vec<String>,
    /// The base, where it has the metric.
    pub base: Option<Summary>,
    /// The other variants, in the order of [`Comparison::others`].
    pub others: Vec<Option<Change>>,
    /// The decisions on them, of a whole on a modelled machine; elsewhere there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Option<Decision>>,
}

/// The samples of one metric of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// The least of them.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Where the figure may lie: as the record states, or else of the median, of measured metrics
    /// with enough samples.
    pub interval: Option<Interval>,
}

/// A variant against the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The variant's own samples.
    pub summary: Summary,
    /// Change of the median in per cent of the base, or of the median within pairs of runs:
    /// positive where better, or where larger if neither direction is. `None` without a base, or
    /// when only the base is 0.
    pub percent: Option<f64>,
    /// How its runs lie to the base's; `None` without a base.
    pub runs: Option<Runs>,
    /// The test against the base; of measured wholes and counts only.
    pub test: Option<Test>,
    /// What can be said of it.
    pub verdict: Verdict,
}

/// A two-sided test: Wilcoxon's signed-rank test of pairs of runs, else Mann's and Whitney's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// The raw p-value.
    pub p: f64,
    /// Whether the raw p-value is exact rather than the normal approximation.
    pub exact: bool,
    /// The p-value after Holm's correction over its family.
    pub p_holm: f64,
    /// Whether `p_holm` is at most [`ALPHA`](super::ALPHA).
    pub significant: bool,
    /// Whether it could be, with other values of as many samples.
    pub in_reach: bool,
}

impl Comparison {
    /// The same, where decisions on modelled machines ask for a gain of more than so many per cent.
    #[must_use]
    pub fn asking(mut self, least_gain: f64) -> Self {
        self.least_gain = least_gain;
        for row in &mut self.rows {
            let better = row.better;
            row.decisions.iter_mut().flatten().for_each(|one| one.ask(least_gain, better));
        }
        self
    }

    /// The family that the tests of a row belong to.
    pub fn family(&self, row: &Row) -> Family {
        if row.is_judged() { self.judged } else { self.informed }
    }

    /// The titles of all columns, the base first.
    pub fn columns(&self) -> Vec<String> {
        std::iter::once(&self.base).chain(&self.others).cloned().collect()
    }

    /// The column of a variant: its name, or its choices on the compared axes.
    pub fn title(&self, variant: &Labels) -> String {
        names::title(&self.named, group::title(&self.compared, variant))
    }
}

impl Row {
    /// Returns true if the verdict rests on it: a whole of which one direction is better.
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

    /// What it has in a column, of which the base is the first.
    pub fn summary(&self, column: usize) -> Option<&Summary> {
        match column.checked_sub(1) {
            None => self.base.as_ref(),
            Some(other) => self.others.get(other)?.as_ref().map(|change| &change.summary),
        }
    }
}

impl Change {
    /// The pairs that it is judged by, if runs took turns.
    pub fn pairs(&self) -> Option<Pairs> {
        match self.runs {
            Some(Runs::Pairs(pairs)) => Some(pairs),
            _ => None,
        }
    }
}

impl Summary {
    /// How far the farther end of the interval is from the median, in per cent of it.
    pub fn reach(&self) -> Option<f64> {
        let interval = self.interval?;
        let side = (interval.high - self.median).max(self.median - interval.low);
        Some(if side == 0.0 { 0.0 } else { side / self.median.abs() * 100.0 })
    }

    /// Whether all samples are the same.
    pub fn is_constant(&self) -> bool {
        self.least == self.most
    }
}
