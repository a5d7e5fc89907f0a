//! A number for each pair of a row and a column, on a ground that is darker by its
//! logarithm.

use super::axis::number;
use super::svg::{EDGE, LINE, Svg, WIDTH, width};

const ROW: f64 = 30.0;
const DARKEST: f64 = 0.45;

/// Draws the numbers that there are, below a text about the columns and their names.
pub(super) fn draw(
    svg: &mut Svg,
    (columns, names): (&str, &[&str]),
    rows: &[(String, Vec<Option<f64>>)],
) {
    let left = EDGE + rows.iter().map(|(name, _)| width("", name)).fold(0.0, f64::max) + 10.0;
    let step = (WIDTH - EDGE - left) / names.len() as f64;
    let middle = |column: usize| left + step * (column as f64 + 0.5);
    svg.text("quiet", (left, svg.bottom + LINE - 4.0), columns);
    svg.bottom += 2.0 * LINE;
    for (column, name) in names.iter().enumerate() {
        svg.text("quiet middle", (middle(column), svg.bottom - 4.0), name);
    }
    let most = rows.iter().flat_map(|(_, values)| values).flatten().copied().fold(1.0, f64::max);
    for (name, values) in rows {
        let y = svg.bottom;
        svg.text("end", (left - 10.0, y + 19.0), name);
        for (column, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let room = [left + step * column as f64 + 1.0, y + 1.0, step - 2.0, ROW - 2.0];
            svg.cells("b", DARKEST * value.ln_1p() / f64::ln_1p(most), &[room]);
            svg.text("middle", (middle(column), y + 19.0), &number(*value));
        }
        svg.bottom += ROW;
    }
}
