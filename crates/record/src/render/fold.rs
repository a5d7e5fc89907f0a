//! Rows that say nothing about the variants, left out of a table.

use std::collections::HashMap;

use super::comparison::row_summaries;
use crate::compare::{Comparison, Row};

/// Rows left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Folded {
    /// All of them.
    rows: usize,
    /// Those that are zero.
    zero: usize,
}

/// The comparison without the rows that are the same under every variant, and how many those were;
/// with all of them where no other is left.
pub(super) fn fold(of: &Comparison) -> (Comparison, Option<Folded>) {
    let (same, differing): (Vec<&Row>, Vec<&Row>) = of.rows.iter().partition(|row| is_same(row));
    if same.is_empty() || differing.is_empty() {
        return (of.clone(), None);
    }
    let zero = |row: &&&Row| row_summaries(row).all(|summary| summary.median == 0.0);
    let folded = Folded { rows: same.len(), zero: same.iter().filter(zero).count() };
    let mut shown = Comparison { rows: differing.into_iter().cloned().collect(), ..of.clone() };
    // What drifts is not the same throughout, so its row is shown.
    let kept = (0..of.rows.len()).filter(|row| !is_same(&of.rows[*row]));
    let place: HashMap<usize, usize> = kept.zip(0..).collect();
    for one in &mut shown.drift.found {
        one.row = place[&one.row];
    }
    (shown, Some(folded))
}

/// Whether every variant has the metric, and all of them have one and the same value throughout.
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
    /// How many there are and what shows them, as a line of the legend.
    pub(super) fn line(self) -> String {
        let Self { rows, zero } = self;
        let subject = if rows == 1 { "1 row is" } else { &format!("{rows} rows are") };
        let zero = match (rows, zero) {
            (_, 0) => String::new(),
            (1, _) => " (zero)".to_owned(),
            (_, zero) => format!(" ({zero} of them zero)"),
        };
        format!("{subject} the same under every variant{zero} and not shown: --full shows all")
    }
}
