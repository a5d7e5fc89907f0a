//! The outcome of a comparison, which renderers read.

use std::collections::BTreeSet;

use serde::Serialize;

use super::drift::Drift;
use super::group;
use super::names::{self, Named};
use super::overall::Overall;
use super::row::Row;
use super::significance::Family;
use crate::schema::{Labels, Run};

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
