//! Curves along a field whose values are numbers.

use super::order::thin_with_ends;
use super::series::budget_note;
use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, dash, shape, tooltip};
use crate::quantity;
use crate::text::{pairs, with_unit};
use pageout_record::compare::Row;
use pageout_record::render::{Label, figure};
use pageout_record::schema::{Ground, Labels};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Fewer places make no curve.
const PLACES: usize = 3;
/// With more places than these, not each is a tick of the axis.
const TICKS: usize = 24;
/// Charts of one comparison.
const CHARTS: usize = 32;

/// Names and values of fields.
type Fields<'a> = Vec<(&'a String, &'a String)>;

/// What rows of one curve share.
type Key<'a> = (&'a str, Ground, u64, Fields<'a>, &'a Labels, &'a str);

/// Rows of one curve, by their places.
struct Curve<'a> {
    field: &'a str,
    rows: Vec<(f64, &'a Row)>,
    /// The other fields that vary.
    others: Fields<'a>,
}

impl<'a> Drawn<'a> {
    /// A chart for each metric along each such field.
    pub(super) fn curves(&'a self, budget: &mut Budget) -> Vec<Chart> {
        let mut curves = Vec::new();
        for label in &self.labelling.varying {
            if let Label::Field(field) = label {
                curves.extend(self.along(field));
            }
        }
        some(curves, (CHARTS, "curves"), budget, |curve, budget| self.curve(&curve, budget))
    }

    fn along(&'a self, field: &'a str) -> Vec<Curve<'a>> {
        let mut curves: Vec<Curve<'a>> = Vec::new();
        let mut curve_of: HashMap<Key<'a>, usize> = HashMap::new();
        let varying = &self.labelling.varying;
        let varies =
            |name: &str| varying.iter().any(|of| matches!(of, Label::Field(f) if f == name));
        for row in self.telling() {
            let Some(place) = row.fields.get(field).and_then(|value| quantity::of(value)) else {
                continue;
            };
            let rest: Fields<'a> = row.fields.iter().filter(|(name, _)| *name != field).collect();
            let others = rest.iter().copied().filter(|(name, _)| varies(name)).collect();
            let key = (&*row.scenario, row.ground, row.seed, rest, &row.axes, &*row.metric);
            let at = *curve_of.entry(key).or_insert(curves.len());
            if at == curves.len() {
                curves.push(Curve { field, rows: Vec::new(), others });
            }
            curves[at].rows.push((place, row));
        }
        for curve in &mut curves {
            curve.rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        curves.retain(|curve| curve.rows.len() >= PLACES);
        curves
    }

    fn curve(&self, of: &Curve<'_>, budget: &mut Budget) -> Chart {
        let Curve { field, rows: all, others } = of;
        let (first, last) = (all[0], all[all.len() - 1]);
        let medians = |row: &Row| {
            let summaries = (0..self.columns.len()).filter_map(|column| Self::summary(row, column));
            summaries.map(|summary| summary.median).sum::<f64>()
        };
        let sums: Vec<f64> = all.iter().map(|(_, row)| medians(row)).collect();
        let kept = thin_with_ends(&sums, budget.points_of_each(self.columns.len()));
        let along: Vec<(f64, &Row)> = kept.into_iter().map(|place| all[place]).collect();
        let mut rows = Vec::new();
        for (place, row) in &along {
            for column in 0..self.columns.len() {
                let Some(summary) = Self::summary(row, column) else { continue };
                let [low, high] =
                    [summary.interval.map(|i| i.low), summary.interval.map(|i| i.high)];
                let head = [Cell::Number(*place), Cell::Number(summary.median), Cell::Word(column)];
                rows.push([&head[..], &[low.into(), high.into()]].concat());
            }
        }
        budget.took_points(rows.len());
        let row = first.1;
        let said = self.columns.iter().enumerate().filter_map(|(column, name)| {
            let [from, to] = [first.1, last.1].map(|row| Self::summary(row, column));
            let number = |median| figure(row.basis, median);
            Some(format!("{name} from {} to {}", number(from?.median), number(to?.median)))
        });
        let said = said.collect::<Vec<_>>().join("; ");
        let value = |row: &Row| row.fields.get(*field).cloned().unwrap_or_default();
        let others = pairs(others.iter().copied());
        let others = if others.is_empty() { others } else { format!(" ({others})") };
        let name = with_unit(&row.metric, &row.unit);
        let unit = quantity::unit(&value(row));
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
                value(first.1),
                value(last.1)
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
            spec: self.curve_spec(&row.unit, &with_unit(field, unit), &places),
        }
    }

    fn curve_spec(&self, unit: &str, title: &str, places: &[f64]) -> Value {
        let (first, last) = (places[0], places[places.len() - 1]);
        let wide = first > 0.0 && last / first >= 64.0;
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
