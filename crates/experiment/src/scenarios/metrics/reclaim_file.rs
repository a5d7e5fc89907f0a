//! The metrics of `reclaim-file`, `reclaim-shmem` and `madv-free`.

use super::{STAGES, TABLES, machine};
use crate::metrics::{MetricSpec, NS_PER_PAGE, PER_PAGE, metrics};
use pageout_record::schema::{Basis, Better};

metrics! {
    /// Times of whole reclaims, and the error of sampling.
    pub TIMED = {
        /// time of memory.reclaim, from the request to its end, a page reclaimed
        WHOLE: "whole reclaim", NS_PER_PAGE, Measured, Lower, whole;
        /// the same while the sampler looks: what looking costs
        WHILE_SAMPLED: "whole reclaim while sampled", NS_PER_PAGE, Measured, Lower, diagnostic;
        /// standard error of the stage that has the largest
        SAMPLING_ERROR: "sampling error", NS_PER_PAGE, Measured, Lower, diagnostic;
    }
}

metrics! {
    /// The cgroup's counters, besides those that several scenarios have.
    pub COUNTED = {
        /// pages of files that reclaim took
        RECLAIMED_FILES: "pages reclaimed, files", "4K pages", Counted, Neither;
        /// anonymous pages that reclaim took
        RECLAIMED_ANON: "pages reclaimed, anonymous", "4K pages", Counted, Neither;
        /// pages moved to the active list
        ACTIVATED: "pages activated", "4K pages", Counted, Neither;
    }
}

metrics! {
    /// Counts of the walks of page tables for generations, under the lab's names.
    pub WALKS = {
        /// leaf entries that walks saw
        WALK_ENTRIES: "walk: entries", "entries", Counted, Neither;
        /// of which young
        WALK_YOUNG: "walk: young", "entries", Counted, Neither;
        /// page tables that walks found
        WALK_TABLES: "walk: tables", "tables", Counted, Neither;
        /// page tables that walks added to the next walk's filter
        WALK_ADDED: "walk: tables added", "tables", Counted, Neither;
    }
}

metrics! {
    /// Metrics that only a modelled machine has.
    pub MODELLED = {
        /// time in which the reclaiming core invalidates, or waits until others have
        FLUSHING: "invalidating and waiting", NS_PER_PAGE, Modelled, Lower;
        /// time that interrupts and invalidations take from other cores
        STOLEN: "taken from other cores", NS_PER_PAGE, Modelled, Lower;
        /// time in notifiers of secondary MMUs, which is part of the stages too
        NOTIFYING: "in notifiers", NS_PER_PAGE, Modelled, Lower;
        /// instructions of the kernel: Linux 7.3's where the lab counted them, else fitted
        INSTRUCTIONS: "instructions", PER_PAGE, Fitted, Lower;
        /// reads and changes of entries
        TABLE_OPERATIONS: "table operations", PER_PAGE, Counted, Lower;
        /// accesses of processes and the kernel
        ACCESSES: "accesses", "", Counted, Neither;
    }
}

metrics! {
    /// Counts of virtual machines, in the order of the model's counters.
    pub SECONDARY = {
        /// notifier calls that clear young bits and may flush
        CLEAR_FLUSH_YOUNG: "calls of clear_flush_young", PER_PAGE, Counted, Lower;
        /// notifier calls that clear young bits without a flush
        CLEAR_YOUNG: "calls of clear_young", PER_PAGE, Counted, Lower;
        /// notifier calls that look at a young bit
        TEST_YOUNG: "calls of test_young", PER_PAGE, Counted, Lower;
        /// notifier calls that take entries out
        INVALIDATE: "calls of invalidate", PER_PAGE, Counted, Lower;
        /// entries of secondary tables that calls looked at
        SECONDARY_READ: "secondary entries read", PER_PAGE, Counted, Lower;
        /// young bits cleared in secondary tables
        SECONDARY_CLEARED: "secondary entries made old", PER_PAGE, Counted, Lower;
        /// entries taken out of secondary tables
        SECONDARY_TAKEN: "secondary entries taken out", PER_PAGE, Counted, Lower;
        /// flushes of all translations of a virtual machine
        VM_FLUSHES: "flushes of a VM", PER_PAGE, Counted, Lower;
        /// faults of guests, which end in the host
        GUEST_EXITS: "exits of guests", PER_PAGE, Counted, Lower;
    }
}

/// Returns the metrics on ground `host`.
pub fn on_host() -> Vec<MetricSpec> {
    let counted = [super::RECLAIMED, super::EXAMINED, super::SWAPPED_OUT];
    [&TIMED[..1], &STAGES, &TIMED[1..], TABLES, &counted, COUNTED, WALKS].concat()
}

/// Returns the metrics on ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    let whole = WHOLE.on(Basis::Modelled).drawn();
    let stages = STAGES.map(|stage| stage.on(Basis::Modelled));
    let counted = machine::RECLAIM.map(|metric| metric.per(PER_PAGE));
    let others = [
        machine::CORES_INTERRUPTED,
        machine::SECOND_LEVEL_HITS,
        machine::MISSES,
        machine::HIDDEN,
        super::REFAULTS.per(""),
        super::RECLAIMED,
    ];
    let decisive = machine::decisive(NS_PER_PAGE);
    let machine = machine::FIRST_RUN;
    [&[whole], MODELLED, &stages, &counted, &others, machine, SECONDARY, &decisive].concat()
}

/// Returns the metrics of `reclaim-shmem` on ground `host`.
pub fn of_reclaim_shmem() -> Vec<MetricSpec> {
    let counted = [super::EXAMINED, super::RECLAIMED, super::SWAPPED_OUT, ACTIVATED];
    [&[WHOLE], TABLES, &counted].concat()
}

/// Returns the metrics of `reclaim-shmem` on ground `model`.
pub fn of_shmem_on_model() -> Vec<MetricSpec> {
    [on_model(), vec![super::EXAMINED, super::SWAPPED_OUT, ACTIVATED]].concat()
}

/// Returns the metrics of `madv-free`.
pub fn of_madv_free() -> Vec<MetricSpec> {
    let counted = [super::EXAMINED, SWAPPED_OUT];
    [&[WHOLE], TABLES, &[FREED_LAZILY], &counted].concat()
}

/// Swap that should not have been needed.
pub const SWAPPED_OUT: MetricSpec = super::SWAPPED_OUT.being(Better::Lower);

metrics! {
    /// Counts of `madv-free`.
    pub FREED = {
        /// pages freed because they were given up and not stored to again
        FREED_LAZILY: "pages freed lazily", "4K pages", Counted, Neither;
    }
}
