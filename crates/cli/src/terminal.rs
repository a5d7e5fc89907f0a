//! The width of text that is printed.

use terminal_size::terminal_size;

/// Columns of text that goes where there is no terminal, such as a file.
pub(crate) const COLUMNS: usize = 80;

/// Columns of the terminal: as the variable COLUMNS has it, or as the terminal is; [`COLUMNS`]
/// where there is neither.
pub(crate) fn columns() -> usize {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || terminal_size().map(|(width, _)| usize::from(width.0));
    variable.filter(|columns| *columns > 0).or_else(of_terminal).unwrap_or(COLUMNS)
}
