//! The parts of a whole, one behind the other, with a bar for each variant on one axis.

use super::{Drawn, Key, Panel, best, in_words, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, tooltip};
use crate::text::{first, with_unit};
use pageout_record::compare::{Role, Row};
use pageout_record::render::{Label, figure};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The maximum number of charts of one comparison.
const CHARTS: usize = 32;
/// The room behind the longest bar, for its figure, as a share of it.
const ROOM: f64 = 1.15;

impl Drawn<'_> {
    /// Returns a chart for each cell that has parts, all on the same axis.
    pub(super) fn parts(&self, budget: &mut Budget) -> Panel {
        // Parts that are zero throughout are in the table only.
        let zero = |row: &Row| {
            (0..self.columns.len()).all(|c| row.summary(c).is_none_or(|of| of.most == 0.0))
        };
        let parts = || self.of.rows.iter().filter(|row| row.role == Role::Part);
        let told: HashSet<&str> =
            parts().filter(|row| !zero(row)).map(|row| &*row.metric).collect();
        let of_parts: Vec<&Row> = parts().filter(|row| told.contains(&*row.metric)).collect();
        let cells = of_parts.chunk_by(|one, next| {
            (&one.scenario, one.ground, one.seed) == (&next.scenario, next.ground, next.seed)
                && (&one.fields, &one.axes, &one.unit) == (&next.fields, &next.axes, &next.unit)
        });
        let cells: Vec<&[&Row]> = cells.collect();
        let firsts: Vec<&Row> = cells.iter().map(|cell| cell[0]).collect();
        let labels = self.labelling.needed(&firsts);
        let longest = |unit: &str| {
            let same = cells.iter().filter(|cell| cell[0].unit == unit);
            let ends =
                same.flat_map(|cell| (0..self.columns.len()).filter_map(|c| self.end(cell, c)));
            ends.fold(0.0, f64::max) * ROOM
        };
        // The names of the parts of all cells, so that a colour is the same part in all of them.
        let mut names: Vec<String> = Vec::new();
        for row in &of_parts {
            if !names.contains(&row.metric) {
                names.push(row.metric.clone());
            }
        }
        let alone = self.columns.len() == 1;
        let better = best(of_parts.iter().copied(), "Shorter", "Longer");
        let reading = match alone {
            true => format!("A bar is the median of a part of the whole.{better}"),
            false => format!(
                "A bar is a variant, a colour a part of it; medians, the whole's behind the bar \
                 with its interval as a line. Work that moves between parts is no change.{better}"
            ),
        };
        let draw = |cell: &[&Row], budget: &mut Budget| {
            let title = self.title_of_whole(cell[0], &labels);
            match alone {
                true => bars(title, cell, budget),
                false => self.stacked(title, cell, (&names, longest(&cell[0].unit)), budget),
            }
        };
        let charts = some(cells.iter().copied(), (CHARTS, "parts"), budget, draw);
        let key = if alone { Key::Labels } else { Key::Parts(names.clone()) };
        Panel { title: "Parts of the whole", reading, key, charts }
    }

    fn title_of_whole(&self, part: &Row, labels: &[Label]) -> String {
        let name = self.whole_of(part).map_or("parts of the whole", |whole| &whole.metric);
        let group = in_words(part, labels);
        let name = with_unit(name, &part.unit);
        if group.is_empty() { name } else { format!("{name}: {group}") }
    }

    /// Returns the end of a bar: the sum of its parts, or that of the whole's interval.
    fn end(&self, cell: &[&Row], column: usize) -> Option<f64> {
        let medians = cell.iter().filter_map(|row| Some(row.summary(column)?.median));
        let sum: f64 = medians.sum();
        let whole = self.whole_of(cell[0]).and_then(|whole| whole.summary(column));
        let high = whole.and_then(|whole| whole.interval).map_or(0.0, |interval| interval.high);
        cell.iter().any(|row| row.summary(column).is_some()).then_some(sum.max(high))
    }

    fn stacked(
        &self,
        title: String,
        of: &[&Row],
        (names, longest): (&[String], f64),
        budget: &mut Budget,
    ) -> Chart {
        let whole = self.whole_of(of[0]);
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for column in 0..self.columns.len() {
            let mut told = false;
            for row in of {
                let Some(summary) = row.summary(column) else { continue };
                let part = names.iter().position(|name| *name == row.metric).unwrap_or(0);
                let mut cells =
                    vec![Cell::Word(part), Cell::Word(column), Cell::Number(summary.median)];
                // Once a bar: its end, its figure and its interval.
                let whole = whole.and_then(|whole| Some((whole, whole.summary(column)?)));
                match whole.filter(|_| !told) {
                    Some((whole, summary)) => {
                        let interval = summary.interval;
                        let ends = [interval.map(|i| i.low), interval.map(|i| i.high)];
                        cells.extend([self.end(of, column), ends[0], ends[1]].map(Cell::from));
                        cells.push(Cell::Word(labels.len()));
                        labels.push(figure(whole.basis, summary.median));
                    }
                    None => cells.extend([Cell::Nothing; 4]),
                }
                told = true;
                cells.push(Cell::Number(part as f64));
                rows.push(cells);
            }
        }
        budget.took_points(rows.len());
        let unit = &of[0].unit;
        let said = self.columns.iter().enumerate().map(|(column, title)| {
            let parts = whole.into_iter().chain(of.iter().copied()).filter_map(|row| {
                let median = row.summary(column)?.median;
                Some(format!("{} {}", row.metric, figure(row.basis, median)))
            });
            format!("{title}: {}", parts.collect::<Vec<_>>().join(", "))
        });
        Chart {
            title,
            sentence: first(&said.collect::<Vec<_>>(), 4, "; ") + ".",
            note: None,
            columns: vec![
                Column::words("part", "part", names.to_vec()),
                Column::words("variant", "variant", self.columns.clone()),
                Column::numbers("median", with_unit("median", unit)),
                Column::hidden("end"),
                Column::numbers("low", "interval of the whole from"),
                Column::numbers("high", "to"),
                Column::words("whole", "median of the whole", labels),
                Column::hidden("level"),
            ],
            rows,
            spec: stacked_spec(unit, names, self.columns.len(), longest),
        }
    }
}

fn stacked_spec(unit: &str, names: &[String], columns: usize, longest: f64) -> Value {
    let valid = |field: &str| json!([{ "filter": { "field": field, "valid": true } }]);
    json!({
        "height": columns * 26,
        "encoding": {
            "y": { "field": "variant", "type": "nominal", "sort": null, "title": null,
                   "axis": { "ticks": false, "domain": false } },
        },
        "layer": [
            { "mark": { "type": "bar", "tooltip": tooltip() },
              "encoding": {
                "x": { "field": "median", "type": "quantitative", "title": unit, "stack": "zero",
                       "scale": { "domain": [0, longest], "nice": false } },
                "order": { "field": "level", "type": "quantitative" },
                "color": { "field": "part", "type": "nominal", "sort": null, "legend": null,
                           "scale": { "domain": names } } } },
            { "transform": valid("low"),
              "mark": { "type": "rule", "strokeWidth": 1.5 },
              "encoding": { "x": { "field": "low", "type": "quantitative" },
                            "x2": { "field": "high" } } },
            { "transform": valid("end"),
              "mark": { "type": "text", "align": "left", "dx": 5, "fontWeight": "bold" },
              "encoding": { "x": { "field": "end", "type": "quantitative" },
                            "text": { "field": "whole", "type": "nominal" } } },
        ],
    })
}

/// Draws the parts of the only variant below each other.
fn bars(title: String, of: &[&Row], budget: &mut Budget) -> Chart {
    let of: Vec<(&&Row, f64)> =
        of.iter().filter_map(|row| Some((row, row.summary(0)?.median))).collect();
    let labels: Vec<String> = of.iter().map(|(row, median)| figure(row.basis, *median)).collect();
    let rows = of
        .iter()
        .enumerate()
        .map(|(part, (_, median))| vec![Cell::Word(part), Cell::Number(*median), Cell::Word(part)]);
    let rows: Vec<_> = rows.collect();
    budget.took_points(rows.len());
    let names: Vec<String> = of.iter().map(|(row, _)| row.metric.clone()).collect();
    let said: Vec<String> =
        names.iter().zip(&labels).map(|(name, label)| format!("{name} {label}")).collect();
    let longest = of.iter().map(|(_, median)| *median).fold(0.0, f64::max) * ROOM;
    let unit = of.first().map_or("", |(row, _)| &row.unit);
    let height = of.len() * 22;
    let y = json!({ "field": "part", "type": "nominal", "sort": null, "title": null,
                    "axis": { "ticks": false, "domain": false } });
    let x = json!({ "field": "median", "type": "quantitative", "title": unit,
                    "scale": { "domain": [0, longest], "nice": false } });
    Chart {
        title,
        sentence: said.join(", ") + ".",
        note: None,
        columns: vec![
            Column::words("part", "part", names),
            Column::numbers("median", with_unit("median", unit)),
            Column::words("figure", "as printed", labels),
        ],
        rows,
        spec: json!({
            "height": height,
            "encoding": { "x": x, "y": y },
            "layer": [
                { "mark": { "type": "bar", "tooltip": tooltip() } },
                { "mark": { "type": "text", "align": "left", "dx": 5 },
                  "encoding": { "text": { "field": "figure", "type": "nominal" } } },
            ],
        }),
    }
}
