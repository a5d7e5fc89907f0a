//! A heatmap: a number for each cell of two quantities, by shades of characters.

use crate::chart::{bands, largest, parts};
use crate::render::number::short;
use crate::render::text::{cut, lines, width};
use crate::render::words::with_unit;
use crate::schema::{Basis, Matrix, Metric};

/// The shades from least to most.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// The number of rows of characters.
const ROWS: usize = 24;
/// The number of columns of the name of a part.
const PART: usize = 14;

/// Returns the cells in lines of at most `columns` columns. If there are too many, each character
/// is the largest of the cells that it stands for.
pub(super) fn heatmap(title: &str, metric: &Metric, of: &Matrix, columns: usize) -> Vec<String> {
    let number = |value| short(Basis::Counted, value);
    let mut rows = bands(&of.y, ROWS);
    // The largest is on top, as on any axis that goes up.
    rows.reverse();
    let names = parts(&of.y, &rows).into_iter().zip(&rows).map(|(part, row)| {
        let part = part.map(|part| cut(part, PART) + " ").unwrap_or_default();
        part + &number(of.y.edges[row.start])
    });
    let names: Vec<String> = names.collect();
    let label = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let across = bands(&of.x, columns.saturating_sub(label + 2).max(1));
    let cell = |row: &std::ops::Range<usize>, column: &std::ops::Range<usize>| {
        largest(of, row.clone(), column.clone())
    };
    let values = of.rows.iter().flatten().flatten();
    let (low, high) = values.fold((0.0_f64, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let [x, y] = [&of.x, &of.y].map(|edges| with_unit(&edges.name, &edges.unit));
    let mut text = vec![cut(title, columns), cut(&format!("{y}, from"), columns)];
    for (row, name) in rows.iter().zip(&names) {
        let cells = across.iter().map(|column| shade(cell(row, column), low, high));
        let blank = " ".repeat(label - width(name));
        text.push(format!("{blank}{name} │{}", cells.collect::<String>()).trim_end().to_owned());
    }
    text.push(format!("{:label$} └{}", "", "─".repeat(across.len())));
    let ends = [0, of.x.ranges()].map(|edge| number(of.x.edges[edge]));
    text.extend(lines(&format!("{x}, from {} to {}", ends[0], ends[1]), columns));
    text.extend(lines(&legend(metric, low, high), columns));
    let [all, drawn] = [[of.x.ranges(), of.y.ranges()], [across.len(), rows.len()]];
    if all != drawn {
        let [[all_x, all_y], [x, y]] = [all, drawn];
        let note =
            format!("{x} by {y} characters for {all_x} by {all_y} cells: each is its largest");
        text.extend(lines(&note, columns));
    }
    text
}

/// Returns the shade of a value; a blank for no value, or for the least.
fn shade(value: Option<f64>, low: f64, high: f64) -> char {
    let share = value.map_or(0.0, |value| (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0));
    let step = (share * SHADES.len() as f64).ceil() as usize;
    match step.checked_sub(1) {
        Some(step) => SHADES[step.min(SHADES.len() - 1)],
        None => ' ',
    }
}

/// Returns the highest value of each shade.
fn legend(metric: &Metric, low: f64, high: f64) -> String {
    let figure = |value| short(metric.basis, value);
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    if high <= low {
        return format!("blank: nothing, or {}{unit}", figure(low));
    }
    let ends = SHADES.iter().enumerate().map(|(step, shade)| {
        let share = (step + 1) as f64 / SHADES.len() as f64;
        format!("{shade} to {}", figure(low * (1.0 - share) + high * share))
    });
    let ends = ends.collect::<Vec<_>>().join(", ");
    format!("blank: nothing, or {}; {ends}{unit}", figure(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_rise_with_the_value() {
        let drawn = [None, Some(0.0), Some(0.1), Some(1.0), Some(1.1), Some(2.5), Some(4.0)];
        assert_eq!(drawn.map(|value| shade(value, 0.0, 4.0)), [' ', ' ', '░', '░', '▒', '▓', '█']);
        assert_eq!(shade(Some(0.0), 0.0, 0.0), ' ', "all the same");
    }
}
