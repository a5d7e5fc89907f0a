//! Drawings of comparisons, and of metrics with more than samples.

mod curves;
mod distribution;
mod functions;
mod matrix;
mod medians;
mod order;
mod parts;
mod series;

pub(crate) use matrix::matrix;
pub(crate) use series::series;

use crate::budget::Budget;
use crate::chart::{Chart, Charts, key};
use crate::lookup::Lookup;
use maud::{Markup, html};
use pageout_record::compare::{Comparison, Row};
use pageout_record::render::{Labelling, figure};

/// A comparison that is drawn.
pub(crate) struct Drawn<'a> {
    pub(crate) of: &'a Comparison,
    /// The columns of the comparison, the base first.
    pub(crate) columns: Vec<String>,
    pub(crate) labelling: Labelling,
    lookup: &'a Lookup<'a>,
}

impl<'a> Drawn<'a> {
    pub(crate) fn new(of: &'a Comparison, lookup: &'a Lookup<'a>) -> Self {
        Self { of, columns: of.columns(), labelling: Labelling::of(&of.rows), lookup }
    }

    /// Returns all charts of the comparison.
    pub(crate) fn markup(&self, charts: &mut Charts, budget: &mut Budget) -> Markup {
        let parts = [
            ("Medians, with their intervals", self.medians(budget)),
            ("Parts of the whole: what moves between them is no change", self.parts(budget)),
            ("Along a field", self.curves(budget)),
            ("Functions that grew and shrank", self.functions(budget)),
            ("Every sample, in the order taken", self.order(budget)),
            ("Distributions", self.distributions(budget)),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|(_, of_part)| !of_part.is_empty()).collect();
        html! {
            @if !parts.is_empty() && self.columns.len() > 1 { (key(&self.columns)) }
            @for (title, of_part) in parts {
                details.charts open {
                    summary { h3 { (title) } }
                    div.grid { @for chart in of_part { (charts.figure(chart)) } }
                }
            }
        }
    }

    /// Returns the medians of a row: `per-entry 50.1, line 31.7`.
    fn medians_of(&self, row: &Row) -> String {
        let told = self.columns.iter().enumerate().filter_map(|(column, name)| {
            let median = row.summary(column)?.median;
            Some(format!("{name} {}", figure(row.basis, median)))
        });
        told.collect::<Vec<_>>().join(", ")
    }

    /// Returns the row's samples by column.
    fn samples(&self, row: &Row) -> Vec<Vec<f64>> {
        let columns = self.columns.iter();
        columns.map(|column| self.lookup.samples(self.of, row, column)).collect()
    }
}

/// Draws the first `most` charts, as far as there is room, and notes the number of the others.
fn some<T>(
    all: impl IntoIterator<Item = T>,
    (most, what): (usize, &str),
    budget: &mut Budget,
    mut draw: impl FnMut(T, &mut Budget) -> Chart,
) -> Vec<Chart> {
    let mut drawn = Vec::new();
    let mut left = 0_usize;
    for one in all {
        if drawn.len() < most && budget.chart() {
            drawn.push(draw(one, budget));
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let all = left + drawn.len();
        budget.note(format!("{left} of {all} charts of {what} are not drawn; the table has them."));
    }
    drawn
}
