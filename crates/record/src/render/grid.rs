//! A text table with aligned columns, within a width.

use super::wrap::wrapped;
use crate::schema::shown;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use unicode_width::UnicodeWidthStr;

/// The side of a column at which its cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text. A cell that is too wide continues in lines below.
    Left,
    /// Numbers. A cell is never broken.
    Right,
}

/// A text table: headers, a rule, rows; two spaces between columns, none at line ends.
///
/// The first columns, as far as they are text, name the rows. If not all columns fit, the others
/// follow in tables below, each with these names. A column without any cell is left out. Rows are
/// indented if there are headings between them.
///
/// ```
/// use pageout_record::render::{Align, Grid};
///
/// let mut grid = Grid::new([("order", Align::Left), ("ns/page", Align::Right)]);
/// grid.row(["0", "2.89"]);
/// grid.row(["4", "0.280"]);
/// let text = grid.text(80);
/// assert_eq!(text, "order  ns/page\n--------------\n0         2.89\n4        0.280\n");
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
    /// The width of the widest cell, in columns of characters.
    widest: usize,
    /// The width if its cells are broken at words, in columns of characters.
    least: usize,
    /// True if a cell is not empty.
    is_used: bool,
}

#[derive(Debug, Clone)]
enum Line {
    Cells(Vec<String>),
    Heading(String),
    Rule,
}

/// The number of columns of characters between two columns.
const GAP: usize = 2;
/// The narrowest column into which text is broken.
const RIBBON: usize = 16;
/// The indentation of rows below headings.
const INDENT: usize = 2;
/// A mark for a line across all columns while a table is laid out. It is a control character, so no
/// cell has it.
const ACROSS: &str = "\u{1e}";
/// The indentation of the lines in which the name of a row continues.
const HANG: usize = 2;
/// A mark of no width for the first line of a row while a table is laid out.
const FIRST: &str = "\u{200b}";
/// A mark for a last blank of a number while a table is laid out, because the layout removes other
/// blanks.
const KEPT: &str = "\u{a0}";

impl Grid {
    /// Makes a table without rows. A grid whose headers are all empty prints none.
    pub fn new<H: Into<String>>(columns: impl IntoIterator<Item = (H, Align)>) -> Self {
        let column = |(header, align): (H, Align)| {
            let header = header.into().trim_end().to_owned();
            // Every column is at least one character wide.
            let (widest, least) = (header.width().max(1), longest_word(&header).max(1));
            Column { header, align, widest, least, is_used: false }
        };
        Self { columns: columns.into_iter().map(column).collect(), lines: Vec::new() }
    }

    /// Adds a row. Characters of cells that act on the display are escaped.
    ///
    /// # Panics
    /// When the number of cells is not the number of columns.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<C> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        let cell = |(column, cell): (&Column, C)| kept(&shown(&cell.into()), column.align);
        let cells: Vec<String> = self.columns.iter().zip(cells).map(cell).collect();
        for (column, cell) in self.columns.iter_mut().zip(&cells) {
            let width = cell.width();
            let least = match column.align {
                Align::Left => longest_word(cell).max(width.min(RIBBON)),
                Align::Right => width,
            };
            column.widest = column.widest.max(width);
            column.least = column.least.max(least);
            column.is_used |= !cell.trim().is_empty();
        }
        self.lines.push(Line::Cells(cells));
    }

    /// Adds a horizontal rule.
    pub fn rule(&mut self) {
        self.lines.push(Line::Rule);
    }

    /// Adds a line across all columns, for the rows below it.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Heading(text.into()));
    }

    /// Returns the number of columns of characters that the table takes if no cell is broken.
    pub fn width(&self) -> usize {
        let widths = self.used().into_iter().map(|at| self.columns[at].widest + GAP);
        self.indent() + widths.sum::<usize>().saturating_sub(GAP)
    }

    /// Returns true if the table fits in `columns` columns of characters without a second table and
    /// without broken words or numbers.
    pub fn fits(&self, columns: usize) -> bool {
        self.least(&self.used()) <= columns
    }

    /// Returns the table in lines of at most `columns` columns of characters, but at least of 40.
    pub fn text(&self, columns: usize) -> String {
        let columns = columns.max(super::LEAST_WIDTH);
        let tables = self.tables(columns).into_iter().map(|part| self.part(&part, columns));
        tables.collect::<Vec<_>>().join("\n")
    }

    /// Returns the indices of the columns that have something in a row.
    fn used(&self) -> Vec<usize> {
        let is_used = |at: &usize| self.columns[*at].is_used || self.lines.is_empty();
        (0..self.columns.len()).filter(is_used).collect()
    }

    /// Returns the number of columns of characters that these columns take if cells are broken at
    /// words.
    fn least(&self, part: &[usize]) -> usize {
        let widths = part.iter().map(|&at| self.columns[at].least + GAP);
        self.indent() + widths.sum::<usize>().saturating_sub(GAP)
    }

    fn indent(&self) -> usize {
        let is_heading = |line: &Line| matches!(line, Line::Heading(_));
        if self.lines.iter().any(is_heading) { INDENT } else { 0 }
    }

    /// Returns the columns of each table: all, or the names of rows with as many others as fit.
    fn tables(&self, columns: usize) -> Vec<Vec<usize>> {
        let used = self.used();
        let is_name = |at: &&usize| self.columns[**at].align == Align::Left;
        let (names, mut rest) = used.split_at(used.iter().take_while(is_name).count());
        if rest.is_empty() || self.least(&used) <= columns {
            return vec![used];
        }
        let mut tables = Vec::new();
        while !rest.is_empty() {
            let with = |most: usize| [names, &rest[..most]].concat();
            let fits = |most: &usize| self.least(&with(*most)) <= columns;
            let most = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
            tables.push(with(most));
            rest = &rest[most..];
        }
        tables
    }

    /// Returns a table of these columns. If a name of a row continues in a line below, it is
    /// indented there, so that it does not look like another row.
    fn part(&self, part: &[usize], columns: usize) -> String {
        let has_header = part.iter().any(|&at| !self.columns[at].header.is_empty());
        let lines = self.laid_out(part, has_header, columns, 0);
        let goes_on = |line: &&String| {
            let line = line.get(self.indent()..).unwrap_or_default();
            !line.starts_with(FIRST) && !line.starts_with(' ') && line.trim() != ACROSS
        };
        let is_name = part.len() > 1 && self.columns[part[0]].align == Align::Left;
        let has_room = self.least(part) + HANG <= columns;
        if !is_name || !has_room || !lines.iter().any(|line| goes_on(&line)) {
            return self.finished(&lines, has_header, columns);
        }
        let mut lines = self.laid_out(part, has_header, columns, HANG);
        for line in lines.iter_mut().filter(|line| goes_on(&&**line)) {
            let hung = " ".repeat(HANG);
            *line = match line.find(&" ".repeat(GAP + HANG)) {
                Some(end) => format!("{hung}{}{}", &line[..end], &line[end + HANG..]),
                None => hung + line,
            };
        }
        self.finished(&lines, has_header, columns)
    }

    /// Returns the lines of a table of these columns. A row begins with [`FIRST`], and the first
    /// column has further room of this width.
    fn laid_out(
        &self,
        part: &[usize],
        has_header: bool,
        columns: usize,
        room: usize,
    ) -> Vec<String> {
        let marked = |at: usize, text: &str| match at == part[0] {
            true => format!("{FIRST}{text}"),
            false => text.to_owned(),
        };
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(to_u16(columns));
        if has_header {
            table.add_row(part.iter().map(|&at| marked(at, &self.columns[at].header)));
            table.add_row([ACROSS]);
        }
        for line in &self.lines {
            match line {
                Line::Cells(cells) => table.add_row(part.iter().map(|&at| marked(at, &cells[at]))),
                Line::Heading(_) | Line::Rule => table.add_row([ACROSS]),
            };
        }
        // If there is too little room, words and numbers are broken.
        let fits = self.least(part) <= columns;
        for (place, &at) in part.iter().enumerate() {
            let Some(column) = table.column_mut(place) else { continue };
            let of = &self.columns[at];
            let gap = if place + 1 == part.len() { 0 } else { GAP };
            let gap = if place == 0 { gap + room } else { gap };
            let indent = if place == 0 { self.indent() } else { 0 };
            column.set_padding((to_u16(indent), to_u16(gap)));
            column.set_cell_alignment(match of.align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
            if fits {
                let least = Width::Fixed(to_u16(indent + of.least + gap));
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
        table.lines().collect()
    }

    /// Returns lines that were laid out, with the lines across them.
    fn finished(&self, lines: &[String], has_header: bool, columns: usize) -> String {
        let lines: Vec<String> = lines.iter().map(|line| line.replacen(FIRST, "", 1)).collect();
        let rule = "-".repeat(lines.iter().map(|line| line.width()).max().unwrap_or(0));
        let of_rows = self.lines.iter().filter_map(|line| match line {
            Line::Cells(_) => None,
            Line::Heading(text) => Some(wrapped(text, columns)),
            Line::Rule => Some(rule.clone()),
        });
        let mut across = has_header.then(|| rule.clone()).into_iter().chain(of_rows);
        let line = |line: &String| match line.trim() {
            ACROSS => across.next().expect("a text for each line across") + "\n",
            _ => format!("{}\n", line.replace(KEPT, " ").trim_end()),
        };
        lines.iter().map(line).collect()
    }
}

/// Prepares a cell. The last blanks of a number are kept: they leave room for a mark that others
/// have.
fn kept(cell: &str, align: Align) -> String {
    let text = cell.trim_end();
    match align {
        Align::Left => text.to_owned(),
        Align::Right => text.to_owned() + &KEPT.repeat(cell.len() - text.len()),
    }
}

fn to_u16(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grows_with_its_cells_and_trims_line_ends() {
        let mut grid = Grid::new([("a", Align::Right), ("b", Align::Left)]);
        grid.row(["µs", ""]);
        grid.rule();
        grid.row(["", "long"]);
        assert_eq!(grid.text(80), " a  b\n--------\nµs\n--------\n    long\n");
        assert_eq!(grid.width(), 8);
    }

    #[test]
    fn without_headers_there_is_no_rule() {
        let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
        grid.row(["cpu", "Example"]);
        assert_eq!(grid.text(80), "cpu  Example\n");
    }

    #[test]
    fn a_column_that_no_row_uses_is_left_out() {
        let mut grid = Grid::new([("a", Align::Left), ("none", Align::Left), ("b", Align::Right)]);
        grid.row(["x", "", "1"]);
        assert_eq!(grid.text(80), "a  b\n----\nx  1\n");
    }

    #[test]
    fn numbers_stand_below_each_other_where_some_have_a_mark() {
        let mut grid = Grid::new([("a", Align::Left), ("change", Align::Right)]);
        grid.row(["x", "-9.5%*"]);
        grid.row(["y", "-0.1% "]);
        assert_eq!(grid.text(80), "a  change\n---------\nx  -9.5%*\ny  -0.1%\n");
    }

    #[test]
    fn text_goes_on_below_and_numbers_are_whole() {
        let mut grid = Grid::new([("n", Align::Right), ("what it says", Align::Left)]);
        grid.row(["1 234", "a sentence that is longer than the width that there is"]);
        let text = "    n  what it says\n-------------------------------------\n\
                    1 234  a sentence that is longer than\n       the width that there is\n";
        assert_eq!(grid.text(40), text);
    }

    #[test]
    fn a_name_of_a_row_that_goes_on_below_is_no_other_row() {
        let mut grid = Grid::new([("metric", Align::Left), ("value", Align::Right)]);
        grid.row(["hot pages out while cold ones stayed", "288"]);
        grid.row(["refaults", "11680"]);
        let text = "metric                             value\n\
                    ----------------------------------------\n\
                    hot pages out while cold ones        288\n  stayed\n\
                    refaults                           11680\n";
        assert_eq!(grid.text(40), text);
    }

    #[test]
    fn columns_that_do_not_fit_follow_behind_the_names_of_rows() {
        let names = [("system", Align::Left), ("order", Align::Left)];
        let numbers = ["instructions", "atomics", "invalidations"].map(|name| (name, Align::Right));
        let mut grid = Grid::new(names.into_iter().chain(numbers));
        grid.row(["arm64", "4", "1061", "17", "1"]);
        let text = "system  order  instructions  atomics\n\
                    ------------------------------------\n\
                    arm64   4              1061       17\n\n\
                    system  order  invalidations\n\
                    ----------------------------\n\
                    arm64   4                  1\n";
        assert_eq!(grid.text(40), text);
    }

    #[test]
    fn headings_stand_across_the_columns_of_the_rows_below() {
        let mut grid = Grid::new([("quantity", Align::Left), ("ns", Align::Right)]);
        grid.heading("a figure of which there is more to say than the table is wide");
        grid.row(["before", "12.3"]);
        let text = "  quantity    ns\n----------------\n\
                    a figure of which there is more to say\n  than the table is wide\n\
                    \u{20} before    12.3\n";
        assert_eq!(grid.text(40), text);
        assert!(grid.fits(16) && !grid.fits(15));
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_asked_for(
            columns in prop::collection::vec(("[a-z漢 ]{0,30}", any::<bool>()), 1..9),
            cells in prop::collection::vec("[a-z漢é\u{200b} ]{0,60}", 1..40),
            width in 0..200usize,
        ) {
            let align = |right| if right { Align::Right } else { Align::Left };
            let headers = columns.iter().map(|(header, right)| (header.clone(), align(*right)));
            let mut grid = Grid::new(headers);
            for row in cells.chunks_exact(columns.len()) {
                grid.heading("heading");
                grid.row(row.to_vec());
            }
            let text = grid.text(width);
            let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
            let most = width.max(crate::render::LEAST_WIDTH);
            prop_assert!(widest <= most, "{widest} of {most}\n{text}");
        }
    }
}
