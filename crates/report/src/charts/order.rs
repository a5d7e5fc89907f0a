//! Every sample as a point, in the order taken, so that drift and outliers show.

use super::{Drawn, Panel, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, shape, tooltip};
use crate::text::with_unit;
use pageout_record::chart::{telling, thin};
use pageout_record::compare::Row;
use pageout_record::render::figure;
use serde_json::json;

/// The maximum number of charts of one comparison.
const CHARTS: usize = 48;

impl Drawn<'_> {
    /// Returns the rows whose samples differ.
    pub(super) fn spread(&self) -> impl Iterator<Item = &Row> {
        let columns = 0..self.columns.len();
        telling(self.of).filter(move |row| {
            let mut summaries = columns.clone().filter_map(|column| row.summary(column));
            summaries.any(|summary| summary.n > 1 && !summary.is_constant())
        })
    }

    /// Returns a chart for each row whose samples differ.
    pub(super) fn order(&self, budget: &mut Budget) -> Panel {
        let draw = |row, budget: &mut Budget| self.points(row, budget);
        let charts = some(self.spread(), (CHARTS, "samples"), budget, draw);
        Panel {
            title: "Every sample, in the order taken",
            reading: "A mark is a sample: a slope is drift, a far mark an outlier.".to_owned(),
            key: self.variants(),
            charts,
        }
    }

    fn points(&self, row: &Row, budget: &mut Budget) -> Chart {
        let samples = self.samples(row);
        let most = budget.points_of_each(self.columns.len());
        let (mut rows, mut said, mut taken) = (Vec::new(), Vec::new(), 0);
        for (column, samples) in samples.iter().enumerate() {
            let Some(summary) = row.summary(column) else { continue };
            taken += samples.len();
            let number = |value| figure(row.basis, value);
            said.push(format!(
                "{}: n = {} from {} to {}, median {}",
                self.columns[column],
                summary.n,
                number(summary.least),
                number(summary.most),
                number(summary.median)
            ));
            for index in thin(samples, most) {
                let place = (index + 1) as f64;
                let numbers = [Cell::Number(place), Cell::Number(samples[index])];
                rows.push([numbers[0], numbers[1], Cell::Word(column)].to_vec());
            }
        }
        budget.took_points(rows.len());
        let value = with_unit(&row.metric, &row.unit);
        let title = self.labelling.titled(&value, row);
        let note = (rows.len() < taken).then(|| {
            let note = format!(
                "{} of {taken} samples are drawn: of each of equal stretches the least and the \
                 largest.",
                rows.len()
            );
            budget.note(format!("{title}: {note}"));
            note
        });
        Chart {
            title,
            sentence: said.join("; ") + ".",
            note,
            columns: vec![
                Column::numbers("sample", "sample"),
                Column::numbers("value", &value),
                Column::words("variant", "variant", self.columns.clone()),
            ],
            rows,
            spec: json!({
                "height": 150,
                "mark": { "type": "point", "tooltip": tooltip(), "size": 34, "filled": true,
                          "opacity": 0.85 },
                "encoding": {
                    "x": { "field": "sample", "type": "quantitative", "title": "sample",
                           "scale": { "zero": false, "nice": false, "padding": 8 },
                           "axis": { "tickMinStep": 1, "format": "d" } },
                    "y": { "field": "value", "type": "quantitative", "title": row.unit,
                           "scale": { "zero": false } },
                    "color": colour(&self.columns),
                    "shape": shape(&self.columns),
                },
            }),
        }
    }
}
