//! The metrics of `trace`.

use super::machine::{self, HIDDEN, MISSES, SECOND_LEVEL_HITS};
use super::{AGED, EXAMINED, RECLAIMED, REFAULTS, TABLES};
use crate::metrics::{MetricSpec, metrics};
use pageout_record::schema::Better;

metrics! {
    /// Counts of agings when all folios are resident.
    pub AGINGS = {
        /// times that all resident folios were aged
        NR_AGINGS: "agings", "agings", Counted, Neither;
        /// pages of the folios aged, over all agings
        PAGES_AGED: "pages aged", "4K pages", Counted, Neither;
    }
}

metrics! {
    /// Counts of a program whose memory has a limit.
    pub DECISIONS = {
        /// pages that the program may use
        LIMIT: "limit", "4K pages", Counted, Neither;
        /// different pages that it uses, told apart by what backs them
        PAGES: "different pages", "4K pages", Counted, Neither;
        /// faults that read from storage
        MAJOR_FAULTS: "major faults", "faults", Counted, Lower;
        /// all other faults
        MINOR_FAULTS: "minor faults", "faults", Counted, Lower;
        /// pages of files that came back after they were reclaimed
        FILE_REFAULTS: "refaults, files", "4K pages", Counted, Lower;
        /// anonymous pages that came back after they were reclaimed
        ANON_REFAULTS: "refaults, anonymous", "4K pages", Counted, Lower;
        /// pages reclaimed that the program used again in the same epoch or the next
        MISTAKES: "hot pages reclaimed", "4K pages", Counted, Lower;
        /// pages made active because they came back soon
        ACTIVATED: "activated", "4K pages", Counted, Neither;
        /// of which pages that had been a working set before
        RESTORED: "restored", "4K pages", Counted, Neither;
        /// pages read from storage
        READ: "pages read", "4K pages", Counted, Lower;
        /// pages written to storage
        WRITTEN: "pages written", "4K pages", Counted, Lower;
    }
}

/// Pages that reclaim took: the fewer, the better.
pub const TAKEN: MetricSpec = RECLAIMED.being(Better::Lower);

metrics! {
    /// Counts of demand MIN, which knows the future, with the same number of pages.
    pub MIN = {
        /// refaults of demand MIN: with single pages no policy has fewer
        BOUND: "bound: demand MIN, refaults", "4K pages", Counted, Neither;
        /// the same where folios are larger, so that it is no bound
        OF_SINGLE: "demand MIN of single pages, refaults", "4K pages", Counted, Neither;
        /// pages that demand MIN brings in
        BROUGHT_IN: "demand MIN, pages brought in", "4K pages", Counted, Neither;
        /// refaults, over those of demand MIN
        OVER_MIN: "refaults / demand MIN's", "times", Counted, Lower;
    }
}

metrics! {
    /// Metrics of a point of a miss-ratio curve, besides refaults and sizes.
    pub CURVE = {
        /// accesses whose page was not in memory, over all that the trace has
        MISS_RATIO: "miss ratio", "", Counted, Lower, whole;
        /// accesses whose page was not in memory: first uses and refaults
        PAGE_MISSES: "misses", "accesses", Counted, Lower;
        /// accesses that the trace has
        IN_TRACE: "accesses of the trace", "", Counted, Neither;
    }
}

metrics! {
    /// The history of a program's memory from epoch to epoch.
    pub HISTORY = {
        /// pages on each list at the ends of epochs
        BY_LIST: "pages by list", "4K pages", Counted, Neither;
        /// pages used, by epoch and address
        USED: "pages used", "4K pages", Counted, Neither;
        /// pages reclaimed, by epoch and address
        RECLAIMED_AT: "pages reclaimed, by place", "4K pages", Counted, Neither;
        /// pages that came back after they were reclaimed, by epoch and address
        USED_AGAIN: "pages used again after reclaim", "4K pages", Counted, Neither;
    }
}

metrics! {
    /// Times on a modelled machine, per access of the program.
    pub TIMED = {
        /// time of the program, all that it takes included
        TIME: "time", "ns/access", Modelled, Lower, whole;
        /// time in page faults
        IN_FAULTS: "in faults", "ns/access", Modelled, Lower;
        /// time in which no core had work, because a page was being read
        STORAGE: "waiting for storage", "ns/access", Modelled, Lower;
        /// time in walks of page tables
        IN_WALKS: "in table walks", "ns/access", Modelled, Lower;
    }
}

metrics! {
    /// Counts on a modelled machine.
    pub ACCESSES = {
        /// accesses that the program made
        MADE: "accesses of the program", "", Counted, Neither;
        /// accesses that the machine saw; the trace leaves out the others, which hit
        SIMULATED: "accesses simulated", "", Counted, Neither;
        /// page faults
        FAULTS: "faults", PER_MILLION, Counted, Lower;
        /// stale TLB entries that hid accesses
        STALE: "stale entries that hid any", "", Counted, Lower;
    }
}

metrics! {
    /// The time for which a stale TLB entry hid accesses; no value if none did.
    pub HID_FOR = {
        /// median time for which a stale TLB entry hid accesses
        HID_P50: "hid for, P50", "ns", Modelled, Lower;
        /// 90th percentile of it
        HID_P90: "hid for, P90", "ns", Modelled, Lower;
        /// 99th percentile of it
        HID_P99: "hid for, P99", "ns", Modelled, Lower;
        /// the longest
        HID_MAX: "hid for, max", "ns", Modelled, Lower;
    }
}

const PER_MILLION: &str = "per million accesses";

/// Returns the metrics on ground `host` without a limit.
pub fn aged() -> Vec<MetricSpec> {
    [&AGED[..1], TABLES, AGINGS, &AGED[1..]].concat()
}

fn decisions() -> Vec<MetricSpec> {
    [DECISIONS, &[EXAMINED, TAKEN], HISTORY].concat()
}

/// Returns the metrics on ground `host` with a limit. Operations on tables are per page reclaimed.
pub fn limited() -> Vec<MetricSpec> {
    [&[REFAULTS.whole()], &decisions()[..], MIN, TABLES].concat()
}

/// Hits in the second level of a TLB.
pub const L2_HITS: MetricSpec = SECOND_LEVEL_HITS.per(PER_MILLION);

/// Misses of a TLB.
pub const TLB_MISSES: MetricSpec = MISSES.per(PER_MILLION);

/// Simulated accesses that aging does not see.
pub const HIDDEN_ACCESSES: MetricSpec = HIDDEN.per("simulated");

/// Returns the metrics on ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    let tlb = [HIDDEN_ACCESSES, L2_HITS, TLB_MISSES];
    let machine = [&machine::RECLAIM[..], machine::FIRST_RUN].concat();
    [TIMED, ACCESSES, &[REFAULTS], &decisions()[..], HID_FOR, &tlb, &machine].concat()
}
