//! Medians as bars with intervals.

use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, tooltip};
use crate::text::first;
use pageout_record::chart::medians;
use pageout_record::compare::{Role, Row};
use serde_json::json;

/// The most charts of one comparison.
const CHARTS: usize = 32;

impl Drawn<'_> {
    /// Returns a chart for each group and unit.
    pub(super) fn medians(&self, budget: &mut Budget) -> Vec<Chart> {
        let bars = medians(self.of).into_iter().filter_map(|mut rows| {
            rows.retain(|row| row.role != Role::Part);
            (!rows.is_empty()).then_some(rows)
        });
        some(bars, (CHARTS, "medians"), budget, |bars, budget| self.bars(&bars, budget))
    }

    fn bars(&self, of: &[&Row], budget: &mut Budget) -> Chart {
        let mut rows = Vec::new();
        for (metric, row) in of.iter().enumerate() {
            for column in 0..self.columns.len() {
                let Some(summary) = row.summary(column) else { continue };
                let [low, high] =
                    [summary.interval.map(|i| i.low), summary.interval.map(|i| i.high)];
                let words = [Cell::Word(metric), Cell::Word(column), Cell::Number(summary.median)];
                rows.push([&words[..], &[low.into(), high.into()]].concat());
            }
        }
        budget.took_points(rows.len());
        let unit = &of[0].unit;
        let axis = if unit.is_empty() { "value" } else { unit };
        let said: Vec<String> =
            of.iter().map(|row| format!("{}: {}", row.metric, self.medians_of(row))).collect();
        let names = of.iter().map(|row| row.metric.clone()).collect();
        Chart {
            title: self.labelling.titled(axis, of[0]),
            sentence: first(&said, 4, "; ") + ".",
            note: None,
            columns: vec![
                Column::words("metric", "metric", names),
                Column::words("variant", "variant", self.columns.clone()),
                Column::numbers("median", format!("median, {axis}")),
                Column::numbers("low", "interval from"),
                Column::numbers("high", "to"),
            ],
            rows,
            spec: json!({
                "height": of.len() * (10 * self.columns.len().max(2) + 8),
                "encoding": {
                    "y": { "field": "metric", "type": "nominal", "sort": null, "title": null },
                    "yOffset": { "field": "variant", "sort": null,
                                 "scale": { "domain": self.columns } },
                },
                "layer": [
                    { "mark": { "type": "bar", "tooltip": tooltip() },
                      "encoding": {
                        "x": { "field": "median", "type": "quantitative", "title": axis },
                        "color": colour(&self.columns) } },
                    { "transform": [{ "filter": { "field": "low", "valid": true } }],
                      "mark": { "type": "errorbar", "ticks": { "size": 6 } },
                      "encoding": {
                        "x": { "field": "low", "type": "quantitative", "title": axis },
                        "x2": { "field": "high" } } },
                ],
            }),
        }
    }
}
