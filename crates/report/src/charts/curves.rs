//! Curves along a field whose values are numbers.

use super::series::budget_note;
use super::{Drawn, Key, Panel, best, in_words, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, dash, shape, tooltip};
use crate::text::with_unit;
use pageout_record::chart::{Curve, curves, thin_with_ends};
use pageout_record::compare::{Role, Row};
use pageout_record::render::figure;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// The maximum number of places that each have a tick of the axis.
const TICKS: usize = 24;
/// The maximum number of charts of one comparison.
const CHARTS: usize = 32;

/// The pixels of a curve's height.
const HEIGHT: f64 = 260.0;
/// The pixels between labels of lines.
const APART: f64 = 14.0;
/// The maximum width of a letter of a label, in pixels.
const LETTER: usize = 7;
/// The maximum number of letters of a label.
const LETTERS: usize = 18;

/// The curves of a comparison.
pub(super) struct Curves<'a> {
    /// The curves of wholes.
    wholes: Vec<Curve<'a>>,
    others: Vec<Curve<'a>>,
    /// True if all wholes lie on curves, so that curves are their best picture.
    pub(super) are_complete: bool,
}

impl<'a> Curves<'a> {
    pub(super) fn of(drawn: &'a Drawn<'_>) -> Self {
        let all = curves(drawn.of, &drawn.labelling);
        let is_whole = |curve: &Curve<'_>| curve.rows[0].1.role == Role::Whole;
        let (wholes, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_whole);
        let on_curves: usize = wholes.iter().map(|curve| curve.rows.len()).sum();
        let judged = drawn.of.rows.iter().filter(|row| row.is_judged()).count();
        Self { are_complete: on_curves >= judged, wholes, others }
    }

    /// Returns all rows on curves.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        let all = self.wholes.iter().chain(&self.others);
        all.flat_map(|curve| &curve.rows).map(|(_, row)| *row)
    }
}

impl Drawn<'_> {
    /// Returns a chart of each curve: of wholes, and of the others.
    pub(super) fn curves(&self, of: &Curves<'_>, budget: &mut Budget) -> [Panel; 2] {
        let mut panel = |title: &'static str, of: &[&Curve<'_>]| {
            let firsts: Vec<&Row> = of.iter().map(|curve| curve.rows[0].1).collect();
            let reading = format!(
                "A line is a variant: its medians, with intervals as bars.{}",
                best(firsts.iter().copied(), "Lower", "Higher")
            );
            let draw = |curve: &Curve<'_>, budget: &mut Budget| {
                let row = curve.rows[0].1;
                // Curves of the same metric share their axis.
                let same = of.iter().filter(|curve| curve.rows[0].1.metric == row.metric);
                let rows = same.flat_map(|curve| &curve.rows).map(|(_, row)| self.highest(row));
                let highest = rows.fold(0.0, f64::max);
                let alike = firsts.iter().copied().filter(|other| other.metric == row.metric);
                let labels = self.labelling.needed(&alike.collect::<Vec<_>>());
                let labels = labels.into_iter().filter(|label| label.name() != curve.field);
                let others = in_words(row, &labels.collect::<Vec<_>>());
                self.curve(curve, (highest, &others), budget)
            };
            let charts = some(of.iter().copied(), (CHARTS, "curves"), budget, draw);
            Panel { title, reading, key: Key::Labels, charts }
        };
        let all = of.others.iter().chain(of.wholes.iter().filter(|_| !of.are_complete));
        let wholes = of.wholes.iter().filter(|_| of.are_complete);
        [
            panel("Along a field", &wholes.collect::<Vec<_>>()),
            panel("Figures along a field", &all.collect::<Vec<_>>()),
        ]
    }

    /// Returns the highest point of a row: a median, or the end of an interval.
    fn highest(&self, row: &Row) -> f64 {
        let summaries = (0..self.columns.len()).filter_map(|column| row.summary(column));
        let highs = summaries.map(|of| of.interval.map_or(of.median, |i| i.high.max(of.median)));
        highs.fold(0.0, f64::max)
    }

    fn curve(&self, of: &Curve<'_>, (highest, others): (f64, &str), budget: &mut Budget) -> Chart {
        let Curve { field, rows: all, .. } = of;
        let (first, last) = (all[0], all[all.len() - 1]);
        let medians = |row: &Row| {
            let summaries = (0..self.columns.len()).filter_map(|column| row.summary(column));
            summaries.map(|summary| summary.median).sum::<f64>()
        };
        let sums: Vec<f64> = all.iter().map(|(_, row)| medians(row)).collect();
        let kept = thin_with_ends(&sums, budget.points_of_each(self.columns.len()));
        let along: Vec<(f64, &Row)> = kept.into_iter().map(|place| all[place]).collect();
        let labels = self.labels(&along, highest);
        let mut rows = Vec::new();
        for (index, (place, row)) in along.iter().enumerate() {
            for (column, label) in labels.iter().enumerate() {
                let Some(summary) = row.summary(column) else { continue };
                let [low, high] =
                    [summary.interval.map(|i| i.low), summary.interval.map(|i| i.high)];
                let head = [Cell::Number(*place), Cell::Number(summary.median), Cell::Word(column)];
                let label = label.filter(|_| index == along.len() - 1);
                rows.push([&head[..], &[low.into(), high.into(), label.into()]].concat());
            }
        }
        budget.took_points(rows.len());
        let row = first.1;
        let said = self.columns.iter().enumerate().filter_map(|(column, name)| {
            let [from, to] = [first.1, last.1].map(|row| row.summary(column));
            let number = |median| figure(row.basis, median);
            Some(format!("{name} from {} to {}", number(from?.median), number(to?.median)))
        });
        let said = said.collect::<Vec<_>>().join("; ");
        let others = if others.is_empty() { String::new() } else { format!(": {others}") };
        let name = with_unit(&row.metric, &row.unit);
        let unit = of.unit();
        let places: Vec<f64> = along.iter().map(|(place, _)| *place).collect();
        let title = format!("{name}, by {field}{others}");
        let note = (along.len() < all.len()).then(|| {
            format!(
                "{} of {} places are drawn: of each of equal stretches those with the least and \
                 the largest medians.",
                along.len(),
                all.len()
            )
        });
        budget_note(&title, note.as_deref(), budget);
        Chart {
            title,
            sentence: format!(
                "Medians, {field} from {} to {}: {said}.",
                of.value(first.1),
                of.value(last.1)
            ),
            note,
            columns: vec![
                Column::numbers("place", with_unit(field, unit)),
                Column::numbers("median", &name),
                Column::words("variant", "variant", self.columns.clone()),
                Column::numbers("low", "interval from"),
                Column::numbers("high", "to"),
                Column::hidden("label"),
            ],
            rows,
            spec: self.curve_spec(
                (&with_unit(field, unit), of.is_logarithmic(), &places),
                (&row.unit, highest),
            ),
        }
    }

    /// Returns the height of each line's label, at its end: labels of lines that meet are kept
    /// apart, in the order of the lines.
    fn labels(&self, along: &[(f64, &Row)], highest: f64) -> Vec<Option<f64>> {
        let median = |row: &Row, column| row.summary(column).map(|summary| summary.median);
        let Some((_, last)) = along.last() else { return vec![None; self.columns.len()] };
        let mut lines: Vec<usize> =
            (0..self.columns.len()).filter(|column| median(last, *column).is_some()).collect();
        // From below; lines with the same end by the places before it.
        lines.sort_by(|one, other| {
            let orders = along.iter().rev().map(|(_, row)| {
                let [one, other] = [one, other].map(|column| median(row, *column).unwrap_or(0.0));
                one.total_cmp(&other)
            });
            orders.fold(Ordering::Equal, Ordering::then)
        });
        let apart = highest * APART / HEIGHT;
        let mut labels = vec![None; self.columns.len()];
        let mut least = 0.0;
        for (below, column) in lines.iter().enumerate() {
            // The labels above have to fit below the highest point.
            let most = highest - (lines.len() - 1 - below) as f64 * apart;
            let at = median(last, *column).unwrap_or(0.0).min(most).max(least);
            labels[*column] = Some(at);
            least = at + apart;
        }
        labels
    }

    fn curve_spec(
        &self,
        (title, wide, places): (&str, bool, &[f64]),
        (unit, highest): (&str, f64),
    ) -> Value {
        let mut axis = json!({ "labelOverlap": true });
        if places.len() <= TICKS {
            axis["values"] = json!(places);
        }
        let y = json!({ "field": "median", "type": "quantitative", "title": unit,
                        "scale": if highest > 0.0 {
                            json!({ "domainMin": 0, "domainMax": highest, "nice": false })
                        } else {
                            json!({})
                        } });
        let letters = self.columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let room = letters.min(LETTERS) * LETTER + 14;
        let alone = self.columns.len() == 1;
        let mut layers = vec![
            json!({ "mark": { "type": "line" },
                    "encoding": { "y": y, "strokeDash": dash(&self.columns) } }),
            json!({ "mark": { "type": "point", "tooltip": tooltip(), "size": 36, "filled": true },
                    "encoding": { "y": y, "shape": shape(&self.columns) } }),
            json!({ "transform": [{ "filter": { "field": "low", "valid": true } }],
                    "mark": { "type": "rule", "opacity": 0.6 },
                    "encoding": {
                      "y": { "field": "low", "type": "quantitative", "title": unit },
                      "y2": { "field": "high" } } }),
        ];
        if !alone {
            layers.push(json!({
                "transform": [{ "filter": { "field": "label", "valid": true } }],
                "mark": { "type": "text", "align": "left", "dx": 10, "baseline": "middle",
                          "limit": LETTERS * LETTER },
                "encoding": { "y": { "field": "label", "type": "quantitative", "title": unit },
                              "text": { "field": "variant", "type": "nominal" } } }));
        }
        json!({
            "height": HEIGHT,
            "padding": { "left": 5, "top": 5, "bottom": 5, "right": if alone { 5 } else { room } },
            "encoding": {
                "x": { "field": "place", "type": "quantitative",
                       "title": title,
                       "scale": if wide { json!({ "type": "log", "nice": false }) }
                                else { json!({ "zero": false, "nice": false, "padding": 8 }) },
                       "axis": axis },
                "color": colour(&self.columns),
            },
            "layer": layers,
        })
    }
}
