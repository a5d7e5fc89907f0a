//! Drawings of comparisons, and of metrics with more than samples.

mod curves;
mod distribution;
mod dots;
mod functions;
mod matrix;
mod order;
mod parts;
mod score;
mod series;

pub(crate) use matrix::matrix;
pub(crate) use series::series;

use self::curves::Curves;
use crate::budget::Budget;
use crate::chart::{Chart, Charts, colours, key};
use crate::lookup::Lookup;
use maud::{Markup, html};
use pageout_record::compare::{Comparison, Role, Row};
use pageout_record::render::{Label, Labelling, figure};
use pageout_record::schema::Better;

/// The maximum number of charts of a panel that is not folded.
const FEW: usize = 4;

/// A comparison that is drawn.
pub(crate) struct Drawn<'a> {
    pub(crate) of: &'a Comparison,
    /// The columns of the comparison, the base first.
    pub(crate) columns: Vec<String>,
    pub(crate) labelling: Labelling,
    lookup: &'a Lookup<'a>,
}

/// The charts that answer one question about a comparison.
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    /// A line on how to read the charts.
    reading: String,
    key: Key,
    charts: Vec<Chart>,
}

/// The panels of a comparison.
pub(crate) struct Panels {
    /// The one that shows the answer, if there is any.
    pub(crate) lead: Option<Panel>,
    pub(crate) open: Vec<Panel>,
    /// Details, and all samples.
    pub(crate) folded: Vec<Panel>,
}

/// The meaning of the colours of a panel.
enum Key {
    /// The charts themselves name what they show.
    Labels,
    Variants(Vec<String>),
    Parts(Vec<String>),
}

impl Panel {
    /// Returns the line on how to read the charts, the key and the charts.
    pub(crate) fn markup(self, charts: &mut Charts) -> Markup {
        let wide = self.charts.len() == 1;
        html! {
            p.reading { (self.reading) }
            @match &self.key {
                Key::Labels => {}
                Key::Variants(columns) => (key(columns)),
                Key::Parts(parts) => (colours(parts)),
            }
            div.grid[!wide] { @for chart in self.charts { (charts.figure(chart)) } }
        }
    }
}

impl<'a> Drawn<'a> {
    pub(crate) fn new(of: &'a Comparison, lookup: &'a Lookup<'a>) -> Self {
        Self { of, columns: of.columns(), labelling: Labelling::of(&of.rows), lookup }
    }

    /// Returns the panels of the comparison.
    pub(crate) fn panels(&self, budget: &mut Budget) -> Panels {
        let parts = self.parts(budget);
        let curves = Curves::of(self);
        let [wholes, others] = self.curves(&curves, budget);
        let functions = self.functions(budget);
        let [marks, counts] = self.dots(&curves, budget);
        let mut panels = Panels { lead: None, open: Vec::new(), folded: Vec::new() };
        for panel in [self.score(budget), parts, wholes, functions, marks] {
            match panels.lead {
                _ if panel.charts.is_empty() => {}
                _ if panel.charts.len() > FEW => panels.folded.push(panel),
                None => panels.lead = Some(panel),
                Some(_) => panels.open.push(panel),
            }
        }
        let filled = |panel: &Panel| !panel.charts.is_empty();
        panels.open.extend(Some(counts).filter(filled));
        let order = self.order(budget);
        let folded = [others, order, self.distributions(budget)];
        panels.folded.extend(folded.into_iter().filter(filled));
        panels
    }

    /// Returns the key of the variants; none if there is only one.
    fn variants(&self) -> Key {
        if self.columns.len() > 1 { Key::Variants(self.columns.clone()) } else { Key::Labels }
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

    /// Returns the row whose parts others are: the whole of the same cell and unit.
    fn whole_of(&self, part: &Row) -> Option<&'a Row> {
        let same = |row: &&Row| {
            (&row.scenario, row.ground, row.seed) == (&part.scenario, part.ground, part.seed)
                && (&row.fields, &row.axes, &row.unit) == (&part.fields, &part.axes, &part.unit)
        };
        self.of.rows.iter().filter(|row| row.role == Role::Whole).find(same)
    }
}

/// Returns a row's values of labels as words: `x86-64, order 4`.
fn in_words(row: &Row, labels: &[Label]) -> String {
    let told = labels.iter().map(|label| (label.name(), label.of(row)));
    let told = told.filter(|(_, value)| !value.is_empty()).map(|(name, value)| {
        let is_word = value.starts_with(char::is_alphabetic) && !["no", "yes"].contains(&&*value);
        if is_word { value.into_owned() } else { format!("{name} {value}") }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Says which direction is better, as the end of a sentence; empty if that is not the same for all.
fn best<'r>(rows: impl IntoIterator<Item = &'r Row>, lower: &str, higher: &str) -> String {
    let mut rows = rows.into_iter().map(|row| row.better);
    let Some(first) = rows.next() else { return String::new() };
    let word = match first {
        Better::Lower => lower,
        Better::Higher => higher,
        Better::Neither => return String::new(),
    };
    if rows.all(|other| other == first) { format!(" {word} is better.") } else { String::new() }
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
