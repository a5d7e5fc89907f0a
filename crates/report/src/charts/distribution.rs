//! Distributions: the share of the samples that is at or below a value.

use super::{Drawn, Panel, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, dash, tooltip};
use crate::text::with_unit;
use pageout_record::compare::Row;
use pageout_record::render::figure;
use pageout_record::stats::quantile;
use serde_json::json;

/// The minimum number of samples that have a shape.
const SAMPLES: usize = 5;
/// The maximum number of charts of one comparison.
const CHARTS: usize = 48;

impl Drawn<'_> {
    /// Returns a chart for each row with enough samples that differ.
    pub(super) fn distributions(&self, budget: &mut Budget) -> Panel {
        let many = |row: &&Row| {
            let mut summaries = (0..self.columns.len()).filter_map(|c| row.summary(c));
            summaries.any(|summary| summary.n >= SAMPLES)
        };
        let rows = self.spread().filter(many);
        let draw = |row, budget: &mut Budget| self.steps(row, budget);
        let charts = some(rows, (CHARTS, "distributions"), budget, draw);
        Panel {
            title: "Distributions",
            reading: "A line is a variant: the share of its samples at or below a value."
                .to_owned(),
            key: self.variants(),
            charts,
        }
    }

    fn steps(&self, row: &Row, budget: &mut Budget) -> Chart {
        let most = budget.points_of_each(self.columns.len());
        let (mut rows, mut said, mut thinned) = (Vec::new(), Vec::new(), false);
        for (column, samples) in self.samples(row).iter().enumerate() {
            if samples.is_empty() {
                continue;
            }
            let of =
                |part| quantile(samples, part).map_or_else(String::new, |v| figure(row.basis, v));
            let quartiles = [0.25, 0.5, 0.75].map(of).join(", ");
            said.push(format!("{} {quartiles}", self.columns[column]));
            let steps = steps(samples, most);
            thinned |= steps.len() < samples.len();
            rows.extend(steps.into_iter().map(|(value, share)| {
                vec![Cell::Number(value), Cell::Number(share), Cell::Word(column)]
            }));
        }
        budget.took_points(rows.len());
        let value = with_unit(&row.metric, &row.unit);
        let note = format!("Of all samples, drawn at {most} shares at most.");
        Chart {
            title: self.labelling.titled(&value, row),
            sentence: format!("Quartiles: {}.", said.join("; ")),
            note: thinned.then_some(note),
            columns: vec![
                Column::numbers("value", &value),
                Column::numbers("share", "% of samples at or below"),
                Column::words("variant", "variant", self.columns.clone()),
            ],
            rows,
            spec: json!({
                "height": 150,
                "mark": { "type": "line", "interpolate": "step-after", "tooltip": tooltip() },
                "encoding": {
                    "x": { "field": "value", "type": "quantitative", "title": row.unit,
                           "scale": { "zero": false } },
                    "y": { "field": "share", "type": "quantitative", "title": "% at or below",
                           "scale": { "domain": [0, 100] } },
                    "color": colour(&self.columns),
                    "strokeDash": dash(&self.columns),
                },
            }),
        }
    }
}

/// Returns values with the share of samples, in per cent, that are at or below them: of every
/// sample, or at `most` evenly spaced shares, with the least sample and the largest.
fn steps(samples: &[f64], most: usize) -> Vec<(f64, f64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let kept = n.min(most.max(2));
    let last = (kept - 1).max(1);
    let index = |step: usize| if n == 1 { 0 } else { step * (n - 1) / last };
    let steps = (0..kept).map(index);
    steps.map(|index| (sorted[index], (index + 1) as f64 / n as f64 * 100.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_are_steps_of_their_own_and_many_keep_their_ends() {
        assert_eq!(steps(&[3.0, 1.0], 10), [(1.0, 50.0), (3.0, 100.0)]);
        assert_eq!(steps(&[5.0], 10), [(5.0, 100.0)]);
        let many: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let steps = steps(&many, 50);
        assert_eq!((steps.len(), steps[0], steps[49]), (50, (1.0, 0.1), (1000.0, 100.0)));
    }
}
