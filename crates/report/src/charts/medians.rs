//! Medians as bars with intervals.

use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, tooltip};
use crate::text::first;
use pageout_record::compare::Row;
use serde_json::json;
use std::collections::HashMap;

/// Bars' rows in one chart.
const METRICS: usize = 24;
/// Charts of one comparison.
const CHARTS: usize = 32;

impl Drawn<'_> {
    /// A chart for each group and unit.
    pub(super) fn medians(&self, budget: &mut Budget) -> Vec<Chart> {
        let same = |one: &Row, other: &Row| {
            (&one.scenario, one.ground, one.seed) == (&other.scenario, other.ground, other.seed)
                && (&one.fields, &one.unit) == (&other.fields, &other.unit)
        };
        let mut bars: Vec<Vec<&Row>> = Vec::new();
        // Rows of one group stand together.
        for row in self.telling() {
            let near = bars.iter_mut().rev().take(16);
            match near.into_iter().find(|bars| same(bars[0], row)) {
                Some(bars) if bars.len() < METRICS => bars.push(row),
                _ => bars.push(vec![row]),
            }
        }
        // Charts of one unit side by side.
        let mut units: HashMap<&str, usize> = HashMap::new();
        for bars in &bars {
            let next = units.len();
            units.entry(&bars[0].unit).or_insert(next);
        }
        bars.sort_by_key(|bars| units[bars[0].unit.as_str()]);
        some(bars, (CHARTS, "medians"), budget, |bars, budget| self.bars(&bars, budget))
    }

    fn bars(&self, of: &[&Row], budget: &mut Budget) -> Chart {
        let mut rows = Vec::new();
        for (metric, row) in of.iter().enumerate() {
            for column in 0..self.columns.len() {
                let Some(summary) = Self::summary(row, column) else { continue };
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
            title: self.titled(axis, of[0]),
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
