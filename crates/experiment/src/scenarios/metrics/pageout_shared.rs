//! The metrics of `pageout-shared`.

use super::machine::{WRITTEN_TO_SWAP, between, decisive};
use super::reclaim_file::{INSTRUCTIONS, TABLE_OPERATIONS};
use crate::metrics::{MetricSpec, metrics};

/// The unit of counts.
pub const EACH: &str = "per repetition";

metrics! {
    /// Times and shares of repetitions.
    pub REPETITIONS = {
        /// from reading the first page to the end of paging out
        REPETITION: "repetition", "us", Modelled, Lower, whole, drawn;
        /// time in which tasks invalidate, or wait until others have
        FLUSHING: "invalidating and waiting", "us", Modelled, Lower;
        /// time that interrupts and invalidations take from other cores
        STOLEN: "taken from other cores", "us", Modelled, Lower;
        /// share of all tasks' CPU time in which they invalidate, or wait until others have
        CPU_SHARE: "invalidating and waiting, share", "% of CPU", Modelled, Lower;
        /// the same while entries are taken out: what profiles show as ptep_clear_flush
        UNMAP_SHARE: "of which unmapping, share", "% of CPU", Modelled, Lower;
        /// the same in the flush for a batch
        BATCH_SHARE: "of which flushes for a batch, share", "% of CPU", Modelled, Lower;
        /// the same in young checks
        YOUNG_SHARE: "of which young checks, share", "% of CPU", Modelled, Lower;
    }
}

/// Pages written to swap.
pub const WRITTEN: MetricSpec = WRITTEN_TO_SWAP.per(EACH);

/// Returns the metrics on ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    let counted = [INSTRUCTIONS.per(EACH), TABLE_OPERATIONS.per(EACH), WRITTEN];
    [REPETITIONS, &between(EACH), &counted, &decisive(REPETITION.unit)].concat()
}
