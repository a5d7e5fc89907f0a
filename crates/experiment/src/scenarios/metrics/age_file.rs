//! The metrics of `age-file`.

use super::{AGED, TABLES};
use crate::metrics::{MetricSpec, NS_PER_PAGE, PER_PAGE, metrics};

metrics! {
    /// Metrics of the young helper, without the rmap walk.
    pub HELPER = {
        /// time of the young check alone, clear_flush_young_ptes
        HELPER_ALONE: "helper alone", NS_PER_PAGE, Measured, Lower;
        /// page-table entries that the young check alone reads
        VISITED_BY_HELPER: "entries visited by the helper alone", PER_PAGE, Counted, Lower;
    }
}

/// Returns the metrics on ground `host`.
pub fn on_host() -> Vec<MetricSpec> {
    [&[super::FOLIO_REFERENCED], HELPER, TABLES, &AGED[1..]].concat()
}
