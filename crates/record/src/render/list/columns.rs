//! The columns of a list: one a variant, as narrow as its figures let it be.

use super::notes::Notes;
use crate::compare::{Change, Comparison, Row, Summary, Verdict};
use crate::render::heads::{self, Head};
use crate::render::number::{grown, short, signed};
use crate::schema::Basis;

/// The longest title above a column. If one is longer, letters replace all titles.
const TITLE: usize = 16;

/// A cell: the value, the reach of its interval, the change, and a mark.
type Pieces = [String; 4];

/// The column of a variant.
pub(super) struct Column {
    /// The title above the column.
    pub(super) head: String,
    cells: Vec<Pieces>,
    /// The widths of the widest of each piece, with the space before it.
    widths: [usize; 4],
}

impl Column {
    fn new(head: String, cells: Vec<Pieces>) -> Self {
        let width = |piece: usize| cells.iter().map(|cell| cell[piece].len()).max().unwrap_or(0);
        let behind = |width: usize| if width == 0 { 0 } else { width + 1 };
        let widths = [width(0), behind(width(1)), behind(width(2)), behind(width(3))];
        Self { head, cells, widths }
    }

    pub(super) fn width(&self) -> usize {
        self.widths.iter().sum::<usize>().max(self.head.len())
    }

    /// Returns the column's cell in a row, padded to the column's width.
    pub(super) fn cell(&self, row: usize) -> String {
        let [value, reach, change, mark] = &self.cells[row];
        let [of_value, of_reach, of_change, of_mark] = self.widths;
        let mark = if mark.is_empty() { String::new() } else { format!(" {mark}") };
        let text =
            format!("{value:>of_value$}{reach:>of_reach$}{change:>of_change$}{mark:<of_mark$}");
        format!("{text:>width$}", width = self.width())
    }
}

/// Returns the heads of the columns, in ASCII.
pub(super) fn heads(of: &Comparison) -> Vec<Head> {
    heads::heads(of, TITLE, super::ascii)
}

/// Returns the columns of these rows, the base first. `reach` is true if they have the reach of
/// each interval.
pub(super) fn columns(
    of: &Comparison,
    rows: &[&Row],
    reach: bool,
    notes: &mut Notes<'_>,
) -> Vec<Column> {
    let mut cells = vec![Vec::new(); 1 + of.others.len()];
    for row in rows {
        cells[0].push(of_summary(row, row.base.as_ref()));
        for (cells, change) in cells[1..].iter_mut().zip(&row.others) {
            cells.push(of_change(row, change.as_ref(), notes));
        }
    }
    if !reach {
        cells.iter_mut().flatten().for_each(|cell| cell[1].clear());
    }
    let heads = heads(of).into_iter().map(|head| head.above);
    heads.zip(cells).map(|(head, cells)| Column::new(head, cells)).collect()
}

fn of_summary(row: &Row, summary: Option<&Summary>) -> Pieces {
    let Some(summary) = summary else { return ["-", "", "", ""].map(str::to_owned) };
    let spread = row.basis != Basis::Measured && !summary.is_constant();
    let mark = if spread { "~" } else { "" };
    let value = format!("{mark}{}", short(row.basis, summary.median));
    [value, summary.reach().map_or_else(String::new, around), String::new(), String::new()]
}

fn of_change(row: &Row, change: Option<&Change>, notes: &mut Notes<'_>) -> Pieces {
    let [value, reach, ..] = of_summary(row, change.map(|change| &change.summary));
    let Some(change) = change else { return [value, reach, String::new(), String::new()] };
    let mark = notes.of_change(row, change);
    let told = if change.verdict == Verdict::NotJudged || row.has_too_few(change) {
        String::new()
    } else {
        percent(row, change)
    };
    [value, reach, told, mark]
}

/// Writes the distance of an interval's farther end, in per cent: `+-1.5%`.
pub(super) fn around(percent: f64) -> String {
    match percent {
        _ if percent < 9.95 => format!("+-{percent:.1}%"),
        _ if percent < 999.5 => format!("+-{percent:.0}%"),
        _ => "+->999%".to_owned(),
    }
}

/// Writes the change. If it was found within pairs, the farther end of its interval follows, in
/// points.
fn percent(row: &Row, of: &Change) -> String {
    let Some(percent) = of.percent else { return "-".to_owned() };
    let number = signed(grown(row.better, percent));
    let side = of.pairs().and_then(|pairs| pairs.interval);
    let side = side.map(|[low, high]| (high - percent).max(percent - low));
    match side {
        None => format!("{number}%"),
        Some(side) if side < 9_999.5 => format!("{number}+-{side:.1}%"),
        Some(side) => format!("{number}+-{side:.0e}%"),
    }
}
