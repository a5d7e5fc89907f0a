//! Every sample as a point, in the order taken: drift and outliers are seen.

use super::{Drawn, some};
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, colour, shape, tooltip};
use crate::text::with_unit;
use pageout_record::compare::Row;
use pageout_record::render::figure;
use serde_json::json;

/// Charts of one comparison.
const CHARTS: usize = 48;

impl Drawn<'_> {
    /// Rows of which samples differ.
    pub(super) fn spread(&self) -> impl Iterator<Item = &Row> {
        let columns = 0..self.columns.len();
        self.telling().filter(move |row| {
            let mut summaries = columns.clone().filter_map(|column| Self::summary(row, column));
            summaries.any(|summary| summary.n > 1 && !summary.is_constant())
        })
    }

    /// A chart for each row of which samples differ.
    pub(super) fn order(&self, budget: &mut Budget) -> Vec<Chart> {
        some(self.spread(), (CHARTS, "samples"), budget, |row, budget| self.points(row, budget))
    }

    fn points(&self, row: &Row, budget: &mut Budget) -> Chart {
        let samples = self.samples(row);
        let most = budget.points_of_each(self.columns.len());
        let (mut rows, mut said, mut taken) = (Vec::new(), Vec::new(), 0);
        for (column, samples) in samples.iter().enumerate() {
            let Some(summary) = Self::summary(row, column) else { continue };
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
        let title = self.titled(&value, row);
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

/// The indices of at most about `most` samples: all, or of each of equal stretches the least and
/// the largest, so that no extreme is lost.
pub(super) fn thin(samples: &[f64], most: usize) -> Vec<usize> {
    if samples.len() <= most {
        return (0..samples.len()).collect();
    }
    let stretch = samples.len().div_ceil((most / 2).max(1));
    let mut kept = Vec::new();
    for start in (0..samples.len()).step_by(stretch) {
        let all = start..samples.len().min(start + stretch);
        let by_value = |one: &usize, other: &usize| samples[*one].total_cmp(&samples[*other]);
        let ends = [all.clone().min_by(by_value), all.max_by(by_value)];
        let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

/// The same with the first and the last, so that an axis keeps its ends.
pub(super) fn thin_with_ends(samples: &[f64], most: usize) -> Vec<usize> {
    let mut kept = thin(samples, most);
    kept.extend([0, samples.len().saturating_sub(1)].iter().filter(|_| !samples.is_empty()));
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_samples_keep_their_order_and_extremes() {
        let samples: Vec<f64> = (0..10_000).map(|i| f64::from(i * 7919 % 10_007)).collect();
        let kept = thin(&samples, 200);
        assert!((100..=200).contains(&kept.len()), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
        };
        let all = ends(&mut samples.iter().copied());
        assert_eq!(ends(&mut kept.iter().map(|index| samples[*index])), all);
        assert_eq!(thin(&samples[..200], 200).len(), 200);
        assert_eq!(thin(&[], 200), [0; 0]);
    }
}
