//! The terminal, if there is one.

use terminal_size::terminal_size;

/// Columns of the terminal: as COLUMNS says, or as it is; 80 where there is none.
pub(crate) fn columns() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(of_terminal).unwrap_or(80)
}
