//! Of `fork-heavy`.

use super::machine::{WRITTEN_TO_SWAP, between};
use crate::metrics::{MetricSpec, metrics};

/// What counts are told by.
pub const EACH: &str = "per loop";

metrics! {
    /// What is told of loops.
    pub LOOPS = {
        /// from a shell's own work before it forks to its child's end, on average
        LOOP: "loop", "us", Modelled, Lower, whole, drawn;
        /// median of it
        LOOP_P50: "loop, P50", "us", Modelled, Lower;
        /// 90th percentile of it
        LOOP_P90: "loop, P90", "us", Modelled, Lower;
        /// 99th percentile of it
        LOOP_P99: "loop, P99", "us", Modelled, Lower;
        /// the longest
        LOOP_LONGEST: "loop, longest", "us", Modelled, Lower;
        /// time of shells in fork
        FORK: "fork", "us", Modelled, Lower;
        /// time of shells and children in page faults
        FAULT: "fault", "us", Modelled, Lower;
        /// time of children in mprotect
        MPROTECT: "mprotect", "us", Modelled, Lower;
        /// time of children in munmap
        MUNMAP: "munmap", "us", Modelled, Lower;
        /// time of children in exit
        EXIT: "exit", "us", Modelled, Lower;
        /// time in which shells and children invalidate, or wait until others have
        FLUSHING: "invalidating and waiting", "us", Modelled, Lower;
        /// of which in fork
        OF_FORK: "of which forking", "us", Modelled, Lower;
        /// of which in page faults
        OF_FAULT: "of which in faults", "us", Modelled, Lower;
        /// of which in exit
        OF_EXIT: "of which exiting", "us", Modelled, Lower;
        /// time that interrupts and invalidations take from cores
        STOLEN: "taken from cores by others", "us", Modelled, Lower;
    }
}

/// Pages written to swap.
pub const WRITTEN: MetricSpec = WRITTEN_TO_SWAP.per(EACH);

/// On ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    [LOOPS, &between(EACH), &[WRITTEN]].concat()
}
