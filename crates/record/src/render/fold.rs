//! Rows without information about the variants, which a table leaves out.

use std::collections::HashMap;

use super::summaries::row_summaries;
use crate::compare::{Comparison, Role, Row};

/// Rows left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Folded {
    /// The number of rows that are the same under every variant.
    same: usize,
    /// Rows about the measurement.
    diagnostics: usize,
}

/// Returns the comparison without the rows that are the same under every variant or about the
/// measurement, and the number of those. If no other row is left, it keeps all.
pub(super) fn fold(of: &Comparison) -> (Comparison, Option<Folded>) {
    let is_left_out = |row: &&Row| {
        let is_declared = !of.undeclared.contains(&row.scenario);
        let is_whole = row.role == Role::Whole && is_declared;
        row.role == Role::Diagnostic || (is_same(row) && !is_whole)
    };
    let (left_out, kept): (Vec<&Row>, Vec<&Row>) = of.rows.iter().partition(is_left_out);
    if left_out.is_empty() || kept.is_empty() {
        return (of.clone(), None);
    }
    let diagnostics = left_out.iter().filter(|row| row.role == Role::Diagnostic).count();
    let folded = Folded { same: left_out.len() - diagnostics, diagnostics };
    let mut shown = Comparison { rows: kept.into_iter().cloned().collect(), ..of.clone() };
    // A row with a drift was tested, and its samples differ, so it is kept.
    let kept = (0..of.rows.len()).filter(|row| !is_left_out(&&of.rows[*row]));
    let place: HashMap<usize, usize> = kept.zip(0..).collect();
    for one in &mut shown.drift.found {
        one.row = place[&one.row];
    }
    (shown, Some(folded))
}

/// Returns true if every variant has the metric, and all have the same constant value.
pub fn is_same(row: &Row) -> bool {
    let everywhere = row.base.is_some() && row.others.iter().all(Option::is_some);
    let compared = !row.others.is_empty();
    let mut summaries = row_summaries(row);
    let first = summaries.next().map(|first| (first.is_constant(), first.median));
    everywhere
        && compared
        && first.is_some_and(|(constant, value)| {
            constant && summaries.all(|other| other.is_constant() && other.median == value)
        })
}

impl Folded {
    /// Returns a line of the legend: the number of rows left out, and the option that shows them.
    pub(super) fn line(self) -> String {
        let rows = |n: usize, of: [&str; 2]| {
            let [one, many] = of;
            let text = if n == 1 { format!("1 row {one}") } else { format!("{n} rows {many}") };
            (n > 0).then_some(text)
        };
        let same =
            ["that is the same under every variant", "that are the same under every variant"];
        let about = ["about the measurement"; 2];
        let left_out = rows(self.same, same).into_iter().chain(rows(self.diagnostics, about));
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        format!("--full: fields, intervals, samples and tests; {left_out}")
    }
}
