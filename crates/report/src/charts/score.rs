//! Predictions over the figures of others: a row for each, beside a line at 1.

use super::{Drawn, Key, Panel};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, tooltip};
use pageout_record::compare::Row;
use pageout_record::render::rounded;
use serde_json::json;

/// The metric that is drawn.
const FACTOR: &str = "ours / theirs";
/// The field that names a row.
const FIGURE: &str = "figure";

impl Drawn<'_> {
    pub(super) fn score(&self, budget: &mut Budget) -> Panel {
        let is_drawn = |row: &&Row| row.metric == FACTOR && row.base.is_some();
        let rows: Vec<&Row> = self.of.rows.iter().filter(is_drawn).collect();
        let charts =
            if rows.is_empty() || !budget.chart() { Vec::new() } else { vec![draw(&rows)] };
        let reading = "A row is a figure, a mark what the model predicts over what was measured, \
                       with its interval. On the line at 1 both are equal."
            .to_owned();
        Panel { title: "Predictions", reading, key: Key::Labels, charts }
    }
}

fn draw(rows: &[&Row]) -> Chart {
    let names: Vec<String> = rows.iter().map(|row| row.fields[FIGURE].clone()).collect();
    let bases = || rows.iter().filter_map(|row| row.base);
    let said = names.iter().zip(bases());
    let said: Vec<_> =
        said.map(|(name, base)| format!("{name} {}", rounded(base.median))).collect();
    let cells = bases().enumerate().map(|(index, base)| {
        let ends = [base.interval.map(|of| of.low), base.interval.map(|of| of.high)];
        let [low, high] = ends.map(Cell::from);
        vec![Cell::Word(index), Cell::Word(0), Cell::Number(base.median), low, high]
    });
    let spec = |height: usize, labels: bool| {
        let scale = json!({ "type": "log", "nice": false, "padding": 12 });
        let x = json!({ "field": "factor", "type": "quantitative", "title": FACTOR, "scale": scale,
                        "axis": { "values": [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4], "format": "~g",
                                  "orient": "top" } });
        let y = json!({ "field": "row", "type": "nominal", "sort": null, "title": null,
                        "axis": { "grid": true, "ticks": false, "domain": false,
                                  "labelPadding": 8, "labels": labels } });
        let mut layers = vec![
            json!({ "mark": { "type": "rule", "strokeDash": [4, 3] },
                    "encoding": { "x": { "datum": 1, "type": "quantitative", "scale": scale } } }),
            json!({ "mark": { "type": "rule", "strokeWidth": 5, "opacity": 0.35 },
                    "encoding": { "x": { "field": "low", "type": "quantitative" },
                                  "x2": { "field": "high" }, "y": y,
                                  "color": colour(&[FACTOR.to_owned()]) } }),
            json!({ "mark": { "type": "point", "tooltip": tooltip(), "size": 70, "filled": true },
                    "encoding": { "x": x, "y": y, "color": colour(&[FACTOR.to_owned()]) } }),
        ];
        if !labels {
            // Without room beside the rows, their names stand on them.
            layers.push(json!({
                "mark": { "type": "text", "align": "left", "dy": -12, "x": 0 },
                "encoding": { "y": y, "text": { "field": "row", "type": "nominal" } } }));
        }
        json!({ "height": rows.len() * height, "layer": layers })
    };
    let mut wide = spec(22, true);
    wide["usermeta"] = json!({ "narrow": spec(38, false) });
    Chart {
        title: "Predictions over the figures that threads give".to_owned(),
        sentence: said.join("; ") + ".",
        note: None,
        columns: vec![
            Column::words("row", "figure", names),
            Column::words("variant", "", vec![FACTOR.to_owned()]),
            Column::numbers("factor", FACTOR),
            Column::numbers("low", "interval from"),
            Column::numbers("high", "to"),
        ],
        rows: cells.collect(),
        spec: wide,
    }
}
