//! Of `access-patterns`.

use super::machine::{
    BARRIERS, BROADCASTS, FIRST_RUN, HIDDEN, HIDDEN_MAX, HIDDEN_P50, HIDDEN_P90, HIDDEN_P99,
    INTERRUPTS,
};
use super::{EXAMINED, RECLAIMED, REFAULTS};
use crate::metrics::{MetricSpec, metrics};
use pageout_record::schema::Better;

const EACH: &str = "per use";
const OF_TIME: &str = "% of time";

metrics! {
    /// Its own.
    pub OWN = {
        /// time of a use of a page
        TIME: "time", "ns/use", Modelled, Lower, whole, drawn;
        /// time of all uses
        WHOLE_TIME: "whole time", "ms", Modelled, Lower;
        /// time of background reclaim
        BACKGROUND: "background reclaim", OF_TIME, Modelled, Lower;
        /// of which it invalidates, or waits until others have
        BACKGROUND_FLUSHING:
            "background reclaim, invalidating and waiting", OF_TIME, Modelled, Lower;
        /// time in which the program reclaims itself
        DIRECT: "direct reclaim", OF_TIME, Modelled, Lower;
        /// time of the flusher, which writes out what was stored
        FLUSHER: "flusher", OF_TIME, Modelled, Lower;
        /// time that interrupts and invalidations take from the program's core
        STOLEN: "taken from the program's core", OF_TIME, Modelled, Lower;
        /// stale TLB entries that hid accesses
        STALE: "entries that hid accesses", "", Counted, Lower;
        /// pages reclaimed whose last use went through a stale entry, and that came back
        MISTAKES: "hot pages reclaimed by mistake", "4K pages", Counted, Lower;
        /// page faults
        FAULTS: "faults", EACH, Counted, Lower;
        /// pages read from storage
        READ: "pages read", EACH, Counted, Lower;
        /// pages written to storage
        WRITTEN: "pages written", EACH, Counted, Lower;
        /// of the pages reclaimed, those that the program reclaimed itself
        DIRECTLY: "of which directly", EACH, Counted, Lower;
        /// invalidations that later ones pushed out of the buffers of cores
        PUSHED_OUT: "invalidations pushed out of buffers", EACH, Counted, Lower;
        /// times that the program waited because too much was to be written back
        THROTTLED: "waits for write-back", "", Counted, Lower;
        /// times that the program waited because no page was free
        STALLS: "waits for memory", "", Counted, Lower;
    }
}

/// In the order of records.
pub const ALL: [MetricSpec; 27] = [
    TIME,
    WHOLE_TIME,
    BACKGROUND,
    BACKGROUND_FLUSHING,
    DIRECT,
    FLUSHER,
    STOLEN,
    HIDDEN_P50,
    HIDDEN_P90,
    HIDDEN_P99,
    HIDDEN_MAX,
    STALE,
    HIDDEN,
    MISTAKES,
    FAULTS,
    READ,
    WRITTEN,
    REFAULTS.per(EACH),
    EXAMINED.per(EACH),
    RECLAIMED.per(EACH).being(Better::Lower),
    DIRECTLY,
    BROADCASTS.per(EACH),
    PUSHED_OUT,
    BARRIERS.per(EACH),
    INTERRUPTS.per(EACH),
    THROTTLED,
    STALLS,
];

/// On ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    [&ALL[..], FIRST_RUN].concat()
}
