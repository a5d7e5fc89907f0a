//! A text table with aligned columns.

use crate::schema::shown;
use std::fmt;

use unicode_width::UnicodeWidthStr;

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A text table: headers, a rule, rows; two spaces between columns, none at line ends.
///
/// ```
/// use pageout_record::render::{Align, Grid};
///
/// let mut grid = Grid::new([("order", Align::Left), ("ns/page", Align::Right)]);
/// grid.row(["0", "2.890"]);
/// grid.row(["4", "0.280"]);
/// let text = grid.to_string();
/// assert_eq!(text, "order  ns/page\n--------------\n0        2.890\n4        0.280\n");
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Column {
    header: String,
    align: Align,
    /// Columns of text of the widest cell.
    width: usize,
}

#[derive(Debug, Clone)]
enum Line {
    Cells(Vec<String>),
    Heading(String),
    Rule,
}

const GAP: &str = "  ";

impl Grid {
    /// A table without rows. A grid whose headers are all empty prints none.
    pub fn new<H: Into<String>>(columns: impl IntoIterator<Item = (H, Align)>) -> Self {
        let column = |(header, align): (H, Align)| {
            let header = header.into();
            Column { width: width(&header), header, align }
        };
        Self { columns: columns.into_iter().map(column).collect(), lines: Vec::new() }
    }

    /// Adds a row. What a cell has of characters that act on the display is escaped.
    ///
    /// # Panics
    /// When the number of cells is not the number of columns.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = cells.into_iter().map(|cell| shown(&cell.into()).into_owned());
        let cells: Vec<String> = cells.collect();
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            column.width = column.width.max(width(cell));
        }
        self.lines.push(Line::Cells(cells));
    }

    /// Adds a line of text across all columns, which makes none of them wider.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Heading(text.into()));
    }

    /// Adds a horizontal rule.
    pub fn rule(&mut self) {
        self.lines.push(Line::Rule);
    }

    /// Columns of text of the longest possible line.
    pub fn width(&self) -> usize {
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        self.columns.iter().map(|column| column.width).sum::<usize>() + gaps
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let pad = |(column, cell): (&Column, &str)| {
            let blank = " ".repeat(column.width.saturating_sub(width(cell)));
            match column.align {
                Align::Left => format!("{cell}{blank}"),
                Align::Right => format!("{blank}{cell}"),
            }
        };
        let cells: Vec<String> = self.columns.iter().zip(cells).map(pad).collect();
        cells.join(GAP).trim_end().to_owned()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = "-".repeat(self.width());
        if self.columns.iter().any(|column| !column.header.is_empty()) {
            let headers = self.columns.iter().map(|column| column.header.as_str());
            writeln!(f, "{}\n{rule}", self.line(headers))?;
        }
        for line in &self.lines {
            match line {
                Line::Cells(cells) => {
                    writeln!(f, "{}", self.line(cells.iter().map(String::as_str)))?;
                }
                Line::Heading(text) => writeln!(f, "{}", text.trim_end())?,
                Line::Rule => writeln!(f, "{rule}")?,
            }
        }
        Ok(())
    }
}

fn width(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_with_its_cells_and_trims_line_ends() {
        let mut grid = Grid::new([("a", Align::Right), ("b", Align::Left)]);
        grid.row(["µs", ""]);
        grid.rule();
        grid.row(["", "long"]);
        assert_eq!(grid.to_string(), " a  b\n--------\nµs\n--------\n    long\n");
        assert_eq!(grid.width(), 8);
    }

    #[test]
    fn without_headers_there_is_no_rule() {
        let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
        grid.row(["cpu", "Example"]);
        assert_eq!(grid.to_string(), "cpu  Example\n");
    }
}
