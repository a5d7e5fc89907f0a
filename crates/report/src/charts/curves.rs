//! Curves along a field whose values are numbers.

use super::series::budget_note;
use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, dash, shape, tooltip};
use crate::text::{pairs, with_unit};
use pageout_record::chart::{Curve, curves, thin_with_ends};
use pageout_record::compare::Row;
use pageout_record::render::figure;
use serde_json::{Value, json};

/// The most places that each have a tick of the axis.
const TICKS: usize = 24;
/// The most charts of one comparison.
const CHARTS: usize = 32;

impl Drawn<'_> {
    /// Returns a chart for each metric along each such field.
    pub(super) fn curves(&self, budget: &mut Budget) -> Vec<Chart> {
        let all = curves(self.of, &self.labelling);
        some(all, (CHARTS, "curves"), budget, |curve, budget| self.curve(&curve, budget))
    }

    fn curve(&self, of: &Curve<'_>, budget: &mut Budget) -> Chart {
        let Curve { field, rows: all, others } = of;
        let (first, last) = (all[0], all[all.len() - 1]);
        let medians = |row: &Row| {
            let summaries = (0..self.columns.len()).filter_map(|column| row.summary(column));
            summaries.map(|summary| summary.median).sum::<f64>()
        };
        let sums: Vec<f64> = all.iter().map(|(_, row)| medians(row)).collect();
        let kept = thin_with_ends(&sums, budget.points_of_each(self.columns.len()));
        let along: Vec<(f64, &Row)> = kept.into_iter().map(|place| all[place]).collect();
        let mut rows = Vec::new();
        for (place, row) in &along {
            for column in 0..self.columns.len() {
                let Some(summary) = row.summary(column) else { continue };
                let [low, high] =
                    [summary.interval.map(|i| i.low), summary.interval.map(|i| i.high)];
                let head = [Cell::Number(*place), Cell::Number(summary.median), Cell::Word(column)];
                rows.push([&head[..], &[low.into(), high.into()]].concat());
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
        let others = pairs(others.iter().copied());
        let others = if others.is_empty() { others } else { format!(" ({others})") };
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
            ],
            rows,
            spec: self.curve_spec(&row.unit, &with_unit(field, unit), of.is_logarithmic(), &places),
        }
    }

    fn curve_spec(&self, unit: &str, title: &str, wide: bool, places: &[f64]) -> Value {
        let mut axis = json!({ "labelOverlap": true });
        if places.len() <= TICKS {
            axis["values"] = json!(places);
        }
        json!({
            "height": 180,
            "encoding": {
                "x": { "field": "place", "type": "quantitative",
                       "title": title,
                       "scale": if wide { json!({ "type": "log", "nice": false }) }
                                else { json!({ "zero": false, "nice": false, "padding": 8 }) },
                       "axis": axis },
                "color": colour(&self.columns),
            },
            "layer": [
                { "mark": { "type": "line" },
                  "encoding": {
                    "y": { "field": "median", "type": "quantitative", "title": unit },
                    "strokeDash": dash(&self.columns) } },
                { "mark": { "type": "point", "tooltip": tooltip(), "size": 36, "filled": true },
                  "encoding": {
                    "y": { "field": "median", "type": "quantitative", "title": unit },
                    "shape": shape(&self.columns) } },
                { "transform": [{ "filter": { "field": "low", "valid": true } }],
                  "mark": { "type": "rule" },
                  "encoding": {
                    "y": { "field": "low", "type": "quantitative", "title": unit },
                    "y2": { "field": "high" } } },
            ],
        })
    }
}
