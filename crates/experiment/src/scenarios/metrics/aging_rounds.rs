//! The metrics of `aging-rounds`: sums over all rounds, in pages of the entry format.

use crate::metrics::{MetricSpec, metrics};

metrics! {
    /// Counts of walks, eviction and refaults.
    pub COUNTED = {
        /// bits set in the filter that the next walk asks, at the ends of rounds that leave one
        FILTER_BITS: "bits in the filter, mean", "bits", Counted, Neither;
        /// rounds at whose end the next walk has no filter to ask
        UNFILTERED: "rounds that left no filter", "rounds", Counted, Neither;
        /// generations opened
        GENERATIONS: "generations opened", "generations", Counted, Neither;
        /// page tables that walks entered
        TABLES_ENTERED: "tables entered", "tables", Counted, Neither;
        /// page tables that walks added to the next walk's filter
        TABLES_ADDED: "tables added to the filter by walks", "tables", Counted, Neither;
        /// leaf entries of the tables that walks entered
        ENTRIES_ENTERED: "entries of tables entered", "entries", Counted, Neither;
        /// of which young
        ENTRIES_YOUNG: "entries counted young", "entries", Counted, Neither;
        /// pages in a younger generation after memory.reclaim than before
        PROMOTED: "pages promoted", "pages", Counted, Neither;
        /// pages that eviction looked at
        EXAMINED: "pages examined", "pages", Counted, Lower;
        /// pages that eviction met on an old list and moved to another generation
        MOVED: "pages moved when met", "pages", Counted, Neither;
        /// pages that eviction took
        RECLAIMED: "pages reclaimed", "pages", Counted, Lower;
        /// pages in use out of memory at the ends of rounds, as far as others were in memory
        MISTAKES: "hot pages out while cold ones stayed", "pages", Counted, Lower;
        /// pages in use that had to be read again
        HOT_READ: "hot pages read again", "pages", Counted, Lower;
        /// pages that came back after they were reclaimed
        REFAULTS: "refaults", "pages", Counted, Lower, whole;
        /// writes to memory.reclaim that got less than they asked for
        SHORT: "requests that fell short", "requests", Counted, Lower;
    }
}

/// Page-table entries read, over all rounds.
pub const ENTRIES_VISITED: MetricSpec = super::ENTRIES_VISITED.per("entries");

/// Locked read-modify-writes of entries, over all rounds.
pub const ATOMICS: MetricSpec = super::ATOMICS.per("atomics");

/// Returns the metrics on ground `host`.
pub fn on_host() -> Vec<MetricSpec> {
    [COUNTED, &[ENTRIES_VISITED, ATOMICS]].concat()
}
