//! The figures of a row.

use crate::compare::{Row, Summary};

/// Returns the base's summary of a row, then the others'.
pub fn row_summaries(row: &Row) -> impl Iterator<Item = &Summary> {
    row.base.iter().chain(row.others.iter().flatten().map(|change| &change.summary))
}
