//! The metrics of each scenario's records. They are declared once, here, for the code that makes
//! them and the code that looks for them. Each module has the metrics of one scenario; this one has
//! those that several share.

pub mod age_file;
pub mod aging_rounds;
pub mod faults;
pub mod machine;
pub mod pageout_shared;
pub mod reclaim_file;
pub mod trace;

use crate::metrics::{MetricSpec, NS_PER_PAGE, PER_PAGE, metrics};
use pageout_paging::Stage;
use pageout_record::compare::Role;
use pageout_record::schema::{Basis, Better};

metrics! {
    /// Operations on tables and TLBs, per page.
    pub TABLES = {
        /// page-table entries read
        ENTRIES_VISITED: "entries visited", PER_PAGE, Counted, Lower;
        /// locked read-modify-writes of entries
        ATOMICS: "atomics", PER_PAGE, Counted, Lower;
        /// TLB invalidations
        INVALIDATIONS: "invalidations", PER_PAGE, Counted, Lower;
        /// waits for the completion of invalidations
        BARRIERS: "barriers", PER_PAGE, Counted, Lower;
    }
}

metrics! {
    /// Counts of reclaim that several scenarios have.
    pub RECLAIM = {
        /// pages that reclaim looked at
        EXAMINED: "pages examined", "4K pages", Counted, Lower;
        /// pages that reclaim took
        RECLAIMED: "pages reclaimed", "4K pages", Counted, Neither;
        /// pages written to swap
        SWAPPED_OUT: "pages swapped out", "4K pages", Counted, Neither;
        /// pages that came back after they were reclaimed
        REFAULTS: "refaults", "4K pages", Counted, Lower;
    }
}

metrics! {
    /// The time and the result of an aging pass.
    pub AGED = {
        /// time to ask every folio: rmap walk and young check of its entries
        FOLIO_REFERENCED: "folio_referenced", NS_PER_PAGE, Measured, Lower, whole;
        /// folios found young
        FOLIOS_REFERENCED: "folios referenced", "folios", Counted, Neither;
    }
}

/// The time of each stage: parts of a whole.
pub const STAGES: [MetricSpec; Stage::ALL.len()] = [
    stage(Stage::Isolate, "time of taking folios off the lists"),
    stage(Stage::RmapWalk, "time of walking reverse maps and page tables to ask for young bits"),
    stage(Stage::Young, "time of reading and clearing young bits, and the flush that follows"),
    stage(Stage::Aging, "time of walking address spaces for generations, and opening those"),
    stage(Stage::Unmap, "time of taking entries out, the walk to them included"),
    stage(Stage::Flush, "time of completing the invalidations that unmapping owes"),
    stage(Stage::CacheRemoval, "time of taking folios out of the page cache or swap cache"),
    stage(Stage::Free, "time of giving frames back"),
    stage(Stage::Other, "time of everything else"),
];

const fn stage(stage: Stage, about: &'static str) -> MetricSpec {
    MetricSpec {
        name: stage.name(),
        unit: NS_PER_PAGE,
        basis: Basis::Measured,
        better: Better::Lower,
        role: Role::Part,
        about,
        drawn: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_in_the_engine_s_order() {
        let names = STAGES.map(|stage| stage.name);
        assert_eq!(names, Stage::ALL.map(Stage::name));
    }
}
