//! The parts of a whole, one behind the other, with a bar for each variant.

use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, tooltip};
use crate::text::first;
use pageout_record::compare::{Role, Row};
use pageout_record::render::figure;
use serde_json::json;

/// The most charts of one comparison.
const CHARTS: usize = 32;

impl Drawn<'_> {
    /// Returns a chart for each cell that has parts.
    pub(super) fn parts(&self, budget: &mut Budget) -> Vec<Chart> {
        let of_parts = self.of.rows.iter().filter(|row| row.role == Role::Part);
        let of_parts: Vec<&Row> = of_parts.collect();
        let cells = of_parts.chunk_by(|one, next| {
            (&one.scenario, one.ground, one.seed) == (&next.scenario, next.ground, next.seed)
                && (&one.fields, &one.axes, &one.unit) == (&next.fields, &next.axes, &next.unit)
        });
        some(cells, (CHARTS, "parts"), budget, |rows, budget| self.stacked(rows, budget))
    }

    fn stacked(&self, of: &[&Row], budget: &mut Budget) -> Chart {
        let mut rows = Vec::new();
        for (part, row) in of.iter().enumerate() {
            for column in 0..self.columns.len() {
                let Some(summary) = row.summary(column) else { continue };
                let words = [Cell::Word(part), Cell::Word(column)];
                rows.push([words[0], words[1], Cell::Number(summary.median)].to_vec());
            }
        }
        budget.took_points(rows.len());
        let unit = &of[0].unit;
        let names: Vec<String> = of.iter().map(|row| row.metric.clone()).collect();
        let said = self.columns.iter().enumerate().map(|(column, title)| {
            let parts = of.iter().filter_map(|row| {
                let median = row.summary(column)?.median;
                Some(format!("{} {}", row.metric, figure(row.basis, median)))
            });
            format!("{title}: {}", parts.collect::<Vec<_>>().join(", "))
        });
        Chart {
            title: self.labelling.titled(&format!("parts of the whole, {unit}"), of[0]),
            sentence: first(&said.collect::<Vec<_>>(), 4, "; ") + ".",
            note: None,
            columns: vec![
                Column::words("part", "part", names.clone()),
                Column::words("variant", "variant", self.columns.clone()),
                Column::numbers("median", format!("median, {unit}")),
            ],
            rows,
            spec: json!({
                "height": 26 * self.columns.len().max(2),
                "mark": { "type": "bar", "tooltip": tooltip() },
                "encoding": {
                    "y": { "field": "variant", "type": "nominal", "sort": null, "title": null },
                    "x": { "field": "median", "type": "quantitative", "title": unit,
                           "stack": "zero" },
                    "color": { "field": "part", "type": "nominal", "sort": null,
                               "scale": { "domain": names },
                               "legend": { "orient": "bottom", "title": null, "columns": 4 } },
                },
            }),
        }
    }
}
