//! Rows of a table under headings.

use std::collections::BTreeSet;

use super::labelling::Labelling;
use super::words::with_unit;
use crate::compare::{Comparison, Role, Row};
use crate::schema::{Basis, Better};

/// Rows under headings, each with its name.
pub(super) struct Group<'a> {
    /// The headings, the outer one first, each with its depth.
    pub(super) headings: Vec<(usize, String)>,
    pub(super) lines: Vec<(String, &'a Row)>,
}

/// The properties that a metric has in every row.
type Metric<'a> = (&'a str, &'a str, Basis, Better);

/// Groups rows by metric, or by cell and unit, whichever needs fewer headings. `name` returns the
/// name of a row's metric.
pub(super) fn groups<'a>(
    of: &'a Comparison,
    labels: &Labelling,
    mut name: impl FnMut(&Row) -> String,
) -> Vec<Group<'a>> {
    let cells: BTreeSet<String> = of.rows.iter().map(|row| labels.group(row)).collect();
    let mut metrics: Vec<Metric<'a>> = Vec::new();
    for metric in of.rows.iter().map(metric) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    if metrics.len() < cells.len() {
        let group = |one: &Metric<'a>| {
            let rows: Vec<&Row> = of.rows.iter().filter(|row| metric(row) == *one).collect();
            let headings = vec![(0, with_unit(&name(rows[0]), &rows[0].unit))];
            let lines = rows.iter().map(|row| (labels.group(row), *row)).collect();
            Group { headings, lines }
        };
        return metrics.iter().map(group).collect();
    }
    let mut groups = Vec::new();
    for rows in of.rows.chunk_by(|one, next| labels.group(one) == labels.group(next)) {
        let cell = (cells.len() > 1).then(|| labels.group(&rows[0]));
        let mut units: Vec<&str> = Vec::new();
        for row in rows {
            if !units.contains(&&*row.unit) {
                units.push(&row.unit);
            }
        }
        for (place, unit) in units.iter().enumerate() {
            let of_unit = rows.iter().filter(|row| row.unit == *unit);
            let line = |row: &'a Row| {
                let indent = if row.role == Role::Part { "  " } else { "" };
                (format!("{indent}{}", name(row)), row)
            };
            let lines = of_unit.map(line).collect();
            let cell = cell.clone().filter(|_| place == 0);
            let unit = if unit.is_empty() { "number" } else { unit };
            let depth = usize::from(cells.len() > 1);
            let of_cell = cell.map(|cell| (0, cell)).into_iter();
            let headings = of_cell.chain([(depth, unit.to_owned())]).collect();
            groups.push(Group { headings, lines });
        }
    }
    groups
}

/// Returns the name of a row's metric, with a note if more is better.
pub(super) fn metric_name(row: &Row) -> String {
    match row.better {
        Better::Higher => format!("{} (more is better)", row.metric),
        Better::Lower | Better::Neither => row.metric.clone(),
    }
}

fn metric(row: &Row) -> Metric<'_> {
    (&row.metric, &row.unit, row.basis, row.better)
}
