//! A number for each cell of two quantities, as a heat map.

use super::series::budget_note;
use crate::budget::Budget;
use crate::chart::{Cell, Chart, Column, tooltip};
use crate::text::{count, with_unit};
use pageout_record::chart::{bands, largest, parts};
use pageout_record::render::{exact, figure};
use pageout_record::schema::{Edges, Matrix, Metric};
use serde_json::json;

/// The maximum number of columns and rows that are drawn, if there is room.
const DRAWN: [usize; 2] = [120, 80];

/// Draws a heat map, with a given range of colours. If it has too many cells, each drawn cell shows
/// the largest of those that it stands for.
pub(crate) fn matrix(
    title: String,
    metric: &Metric,
    of: &Matrix,
    range: Option<[f64; 2]>,
    budget: &mut Budget,
) -> Chart {
    // With less room, there are proportionally fewer columns and rows.
    let room = budget.cells_of_a_map() as f64 / (DRAWN[0] * DRAWN[1]) as f64;
    let [columns, rows] = [(&of.x, DRAWN[0]), (&of.y, DRAWN[1])]
        .map(|(edges, most)| bands(edges, (most as f64 * room.sqrt().min(1.0)) as usize));
    let mut cells = Vec::new();
    // The largest row is on top, as on any axis that goes up.
    let rows: Vec<_> = rows.into_iter().rev().collect();
    for (row, of_row) in rows.iter().enumerate() {
        for column in &columns {
            let Some(largest) = largest(of, of_row.clone(), column.clone()) else { continue };
            let ends =
                [of.x.edges[column.start], of.x.edges[column.end], largest].map(Cell::Number);
            cells.push([&[Cell::Word(row)], &ends[..]].concat());
        }
    }
    budget.took_points(cells.len());
    let note = thinned(of, [columns.len(), rows.len()]);
    budget_note(&title, note.as_deref(), budget);
    let [x, y] = [&of.x, &of.y].map(|edges| with_unit(&edges.name, &edges.unit));
    let names = parts(&of.y, &rows).into_iter().zip(&rows).map(|(part, row)| {
        let from = exact(of.y.edges[row.start]);
        part.map_or(from.clone(), |part| format!("{part} {from}"))
    });
    let names = names.collect();
    let value = with_unit(&metric.name, &metric.unit);
    let mut colours = json!({ "scheme": "cividis" });
    if let Some(range) = range {
        colours["domain"] = json!(range);
    }
    Chart {
        title,
        sentence: sentence(metric, of, [&x, &y]),
        note,
        columns: vec![
            Column::words("row", &format!("{y} from"), names),
            Column::numbers("from", format!("{x} from")),
            Column::numbers("to", "to"),
            Column::numbers("value", &value),
        ],
        rows: cells,
        spec: json!({
            "height": rows.len() * (320 / rows.len().max(1)).clamp(4, 18),
            "mark": { "type": "rect", "tooltip": tooltip() },
            "encoding": {
                "x": { "field": "from", "type": "quantitative", "title": x,
                       "scale": { "zero": false, "nice": false } },
                "x2": { "field": "to" },
                "y": { "field": "row", "type": "nominal", "sort": null, "title": y,
                       "axis": { "labelOverlap": true, "ticks": false } },
                "color": { "field": "value", "type": "quantitative", "title": metric.unit,
                           "scale": colours,
                           "legend": { "orient": "bottom" } },
            },
        }),
    }
}

/// Returns a note if fewer columns and rows are drawn than there are.
fn thinned(of: &Matrix, [columns, rows]: [usize; 2]) -> Option<String> {
    let [x, y] = [&of.x, &of.y].map(Edges::ranges);
    (columns < x || rows < y).then(|| {
        format!(
            "{columns} by {rows} cells are drawn of {x} by {y}: each shows the largest of those \
             that it stands for."
        )
    })
}

/// Returns the number of cells with a value, and the largest value, as a sentence.
fn sentence(metric: &Metric, of: &Matrix, [x, y]: [&str; 2]) -> String {
    let mut cells = 0_usize;
    let mut largest: Option<(f64, usize, usize)> = None;
    for (row, of_row) in of.rows.iter().enumerate() {
        for (column, value) in of_row.iter().enumerate() {
            let Some(value) = *value else { continue };
            cells += 1;
            if largest.is_none_or(|(most, ..)| value > most) {
                largest = Some((value, row, column));
            }
        }
    }
    let all = of.x.ranges() * of.y.ranges();
    let what =
        format!("{} by {x} and {y}: {} of {all} have a value", metric.name, count(cells, "cell"));
    match largest {
        None => format!("{what}."),
        Some((most, row, column)) => format!(
            "{what}; the largest is {} at {x} {} and {y} {}.",
            figure(metric.basis, most),
            exact(of.x.edges[column]),
            exact(of.y.edges[row])
        ),
    }
}
