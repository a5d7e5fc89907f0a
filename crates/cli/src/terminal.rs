//! The width of text that is printed.

use terminal_size::terminal_size;

/// The number of columns of text that does not go to a terminal, but for example to a file.
pub(crate) const COLUMNS: usize = 80;

/// Returns the number of columns of the terminal: that of the variable COLUMNS, or the terminal's
/// own; [`COLUMNS`] if there is neither.
pub(crate) fn columns() -> usize {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || terminal_size().map(|(width, _)| usize::from(width.0));
    variable.filter(|columns| *columns > 0).or_else(of_terminal).unwrap_or(COLUMNS)
}
