//! The metrics of `faults`.

use super::RECLAIMED;
use super::machine::{between, decisive};
use super::reclaim_file::{INSTRUCTIONS, TABLE_OPERATIONS};
use crate::metrics::{MetricSpec, metrics};

/// The unit of counts.
pub const EACH: &str = "per fault";

metrics! {
    /// Times of faults, and their number in a time.
    pub FAULTING = {
        /// time from one fault of a task to its next: access, trap, fault, and the access again
        FAULT: "fault", "ns", Modelled, Lower, whole, drawn;
        /// faults of all tasks, over the time from the first task's start to the last one's end
        THROUGHPUT: "throughput", "faults/s", Modelled, Higher;
        /// the same, divided by the tasks
        THROUGHPUT_OF_CORE: "throughput of a core", "faults/s", Modelled, Higher;
    }
}

metrics! {
    /// Time in which tasks that fault wait for locks: for one that is held, or for its word's line,
    /// which moves between two other cores.
    pub WAITS = {
        /// waiting for mmap locks
        WAIT_MMAP: "waiting, mmap", "ns", Modelled, Lower;
        /// waiting for locks of page tables
        WAIT_PAGE_TABLE: "waiting, page-table", "ns", Modelled, Lower;
        /// waiting for buckets of the file index
        WAIT_INDEX: "waiting, index", "ns", Modelled, Lower;
        /// waiting for the lock of the cgroup's LRU lists
        WAIT_LRU: "waiting, lru", "ns", Modelled, Lower;
        /// waiting for the lock of the free lists
        WAIT_FREE_LIST: "waiting, free-list", "ns", Modelled, Lower;
        /// waiting for all other locks but those of folios
        WAIT_OTHER: "waiting, other locks", "ns", Modelled, Lower;
    }
}

metrics! {
    /// Time of atomics on locks' words, of which most is the way of a word's line from the core
    /// that had it last.
    pub WORDS = {
        /// atomics on mmap locks
        WORD_MMAP: "atomics, mmap", "ns", Modelled, Lower;
        /// atomics on locks of page tables
        WORD_PAGE_TABLE: "atomics, page-table", "ns", Modelled, Lower;
        /// atomics on buckets of the file index
        WORD_INDEX: "atomics, index", "ns", Modelled, Lower;
        /// atomics on the lock of the cgroup's LRU lists
        WORD_LRU: "atomics, lru", "ns", Modelled, Lower;
        /// atomics on the lock of the free lists
        WORD_FREE_LIST: "atomics, free-list", "ns", Modelled, Lower;
        /// atomics on all other locks but those of folios
        WORD_OTHER: "atomics, other locks", "ns", Modelled, Lower;
    }
}

metrics! {
    /// Counts of locks.
    pub LOCKS = {
        /// locks taken, except those of folios
        TAKEN: "locks taken", "per fault", Counted, Lower;
        /// tries to take them
        TRIES: "tries to take locks", "per fault", Counted, Lower;
        /// lines of locks' words that another core gave up or shared
        LINES_MOVED: "lock lines moved", "per fault", Counted, Lower;
    }
}

metrics! {
    /// The reclaim beside the faults.
    pub BESIDE = {
        /// time in which the task that reclaims takes a page
        RECLAIM_OF_PAGE: "reclaim beside", "ns/4K page", Modelled, Lower;
    }
}

/// The ranks of the locks of [`WAITS`] and [`WORDS`], in their order. The last is all others.
pub const RANKS: [&str; 5] = ["mmap", "page-table", "index", "lru", "free-list"];

/// Returns the metrics on ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    let counted = [INSTRUCTIONS.per(EACH), TABLE_OPERATIONS.per(EACH), RECLAIMED];
    let times = [FAULTING, WAITS, WORDS, LOCKS, BESIDE].concat();
    [&times, &between(EACH)[..], &counted, &decisive(FAULT.unit)].concat()
}
