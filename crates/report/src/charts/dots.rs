//! Medians as dots with intervals: a row for each setting, a mark for each variant.

use super::curves::Curves;
use super::{Drawn, Panel, best, in_words, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, shape, tooltip};
use crate::text::{first, with_unit};
use pageout_record::chart::telling;
use pageout_record::compare::{Role, Row};
use pageout_record::render::grown;
use pageout_record::schema::Ground;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ptr;

/// The maximum number of charts of one comparison.
const CHARTS: usize = 24;
/// The maximum number of rows of a chart.
const ROWS: usize = 48;
/// Rows are drawn as changes if their bases differ by more than this factor.
const FAR: f64 = 12.0;
/// The number of rows up to which the axis below them is still in sight.
const LOW: usize = 16;

impl Drawn<'_> {
    /// Returns a chart for each metric that no other chart shows; with one cell only, for each
    /// unit: of wholes, and of the others.
    pub(super) fn dots(&self, curves: &Curves<'_>, budget: &mut Budget) -> [Panel; 2] {
        let mut groups: Vec<Vec<&Row>> = Vec::new();
        let one_cell = self.labelling.varying.is_empty();
        for row in self.undrawn(curves) {
            let same = |group: &&mut Vec<&Row>| {
                let first = group[0];
                (&first.unit, first.role) == (&row.unit, row.role)
                    && (one_cell || first.metric == row.metric)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        // A single mark shows nothing that its figure does not.
        groups.retain(|group| group.len() * self.columns.len() > 1);
        let (wholes, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group[0].role == Role::Whole);
        let mut panel = |title: &'static str, groups: Vec<Vec<&Row>>| {
            let better = best(groups.iter().flatten().copied(), "Left", "Right");
            let reading = format!(
                "A row is a setting, a mark a variant's median, or its change where the axis says \
                 so, with its interval where it has one.{better}"
            );
            let draw = |group: Vec<&Row>, budget: &mut Budget| self.rows_of_dots(&group, budget);
            let charts = some(groups, (CHARTS, "medians"), budget, draw);
            Panel { title, reading, key: self.variants(), charts }
        };
        [panel("Medians", wholes), panel("Other figures", others)]
    }

    /// Returns the rows worth a picture that neither curves nor stacks of parts show.
    fn undrawn<'a>(&'a self, curves: &Curves<'a>) -> Vec<&'a Row> {
        let on_curves = curves.rows().filter(|row| curves.are_complete || row.role != Role::Whole);
        let parts = self.of.rows.iter().filter(|row| row.role == Role::Part);
        let stacked = parts.filter_map(|part| self.whole_of(part));
        let drawn: HashSet<*const Row> = on_curves.chain(stacked).map(ptr::from_ref).collect();
        let mut rows: Vec<&Row> = telling(self.of).filter(|row| row.role != Role::Part).collect();
        // Beside wholes that differ, those that do not say where nothing changes.
        let wholes = || self.of.rows.iter().filter(|row| row.is_judged());
        let any = rows.iter().any(|row| row.is_judged()) && !self.of.others.is_empty();
        if any && wholes().count() <= ROWS {
            rows.retain(|row| !row.is_judged());
            rows.splice(0..0, wholes());
        }
        let rows = rows.into_iter();
        // The steps of a counterexample say more than its number of failures.
        let rows = rows.filter(|row| row.ground != Ground::Check);
        rows.filter(|row| !drawn.contains(&ptr::from_ref(*row))).collect()
    }

    fn rows_of_dots(&self, all: &[&Row], budget: &mut Budget) -> Chart {
        let shown = &all[..all.len().min(ROWS)];
        let bases = shown.iter().filter_map(|row| row.base).map(|base| base.median);
        let (least, most) = bases
            .filter(|median| *median > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), of| (low.min(of), high.max(of)));
        let has_change = |row: &&Row| row.others.iter().flatten().any(|of| of.percent.is_some());
        let as_changes =
            most > least * FAR && !all[0].unit.starts_with('%') && shown.iter().any(has_change);
        let (rows, axis) = if as_changes {
            (self.changes(shown), format!("change against {}, %", self.columns[0]))
        } else {
            (self.places(shown), with_unit("median", &shown[0].unit))
        };
        budget.took_points(rows.len());
        let several = all.iter().any(|row| row.metric != all[0].metric);
        // The names are those that tell all rows of the metric apart, drawn or not.
        let alike = self.of.rows.iter().filter(|row| row.metric == all[0].metric);
        let labels = self.labelling.needed(&alike.collect::<Vec<_>>());
        let name = |row: &Row| {
            let group = in_words(row, &labels);
            if several || group.is_empty() { row.metric.clone() } else { group }
        };
        let said = |row: &&Row| format!("{}: {}", name(row), self.medians_of(row));
        let said: Vec<String> = shown.iter().map(said).collect();
        let title =
            if several { shown[0].unit.clone() } else { with_unit(&all[0].metric, &all[0].unit) };
        let note = (shown.len() < all.len())
            .then(|| format!("{} of {} rows are drawn.", shown.len(), all.len()));
        let names = shown.iter().map(|row| name(row)).collect();
        let place = if as_changes { "change" } else { "median" };
        Chart {
            title: if as_changes { format!("{title}: {axis}") } else { title },
            sentence: first(&said, 4, "; ") + ".",
            note,
            columns: vec![
                Column::words("row", "setting", names),
                Column::words("variant", "variant", self.columns.clone()),
                Column::numbers(place, axis.clone()),
                Column::numbers("low", "interval from"),
                Column::numbers("high", "to"),
            ],
            rows,
            spec: self.dots_spec(place, &axis, shown.len()),
        }
    }

    /// Returns the medians of a row by column.
    fn medians<'r>(&'r self, row: &'r Row) -> impl Iterator<Item = (usize, f64)> + 'r {
        (0..self.columns.len()).filter_map(|column| Some((column, row.summary(column)?.median)))
    }

    fn places(&self, of: &[&Row]) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (index, row) in of.iter().enumerate() {
            for (column, median) in self.medians(row) {
                let interval = row.summary(column).and_then(|summary| summary.interval);
                let [low, high] = [interval.map(|i| i.low), interval.map(|i| i.high)];
                let words = [Cell::Word(index), Cell::Word(column), Cell::Number(median)];
                rows.push([&words[..], &[low.into(), high.into()]].concat());
            }
        }
        rows
    }

    fn changes(&self, of: &[&Row]) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for (index, row) in of.iter().enumerate() {
            let others = row.others.iter().map(|change| change.as_ref()?.percent);
            for (column, percent) in [Some(0.0)].into_iter().chain(others).enumerate() {
                let Some(percent) = percent else { continue };
                let percent = Cell::Number(grown(row.better, percent));
                let words = [Cell::Word(index), Cell::Word(column), percent];
                rows.push([&words[..], &[Cell::Nothing; 2]].concat());
            }
        }
        rows
    }

    fn dots_spec(&self, place: &str, axis: &str, rows: usize) -> Value {
        // The only row is that of its title: its variants are below each other.
        let (row, rows) = if rows == 1 { ("variant", self.columns.len()) } else { ("row", rows) };
        let orient = if rows > LOW { "top" } else { "bottom" };
        let x = json!({ "field": place, "type": "quantitative", "title": axis,
                        "axis": { "orient": orient } });
        let layer = json!([
            { "transform": [{ "filter": { "field": "low", "valid": true } }],
              "mark": { "type": "rule", "strokeWidth": 5, "opacity": 0.35 },
              "encoding": {
                "x": { "field": "low", "type": "quantitative", "title": axis },
                "x2": { "field": "high" },
                "color": colour(&self.columns) } },
            { "mark": { "type": "point", "tooltip": tooltip(), "size": 70, "filled": true,
                        "opacity": 0.9 },
              "encoding": { "x": x, "color": colour(&self.columns),
                            "shape": shape(&self.columns) } },
        ]);
        let spec = |height: usize, labels: bool, layer: &Value| {
            json!({
                "height": rows * height,
                "encoding": {
                    "y": { "field": row, "type": "nominal", "sort": null, "title": null,
                           "axis": { "grid": true, "ticks": false, "domain": false,
                                     "labelPadding": 8, "labels": labels } },
                },
                "layer": layer,
            })
        };
        let mut wide = spec(22, true, &layer);
        if row == "row" {
            // Without room beside the rows, their names stand on them.
            let mut layers = layer;
            layers.as_array_mut().expect("layers").push(json!({
                "transform": [{ "aggregate": [{ "op": "count", "as": "marks" }],
                                "groupby": ["row"] }],
                "mark": { "type": "text", "align": "left", "dy": -12, "x": 0 },
                "encoding": { "text": { "field": "row", "type": "nominal" } } }));
            wide["usermeta"] = json!({ "narrow": spec(38, false, &layers) });
        }
        wide
    }
}
