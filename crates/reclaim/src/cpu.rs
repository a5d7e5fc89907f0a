//! The context of one CPU. It has its events, the batches of reclaim that runs on it, and in debug
//! builds the ranks of the locks it holds.

use crate::lru::mglru::MmWalk;
use crate::rank::HeldRanks;

/// The number of events on this CPU that change no folio's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// The number of times that `folio_referenced` found the folio locked by someone else.
    pub folio_lock_failed: u64,
    /// The number of times that `folio_referenced` found the reverse map locked by someone else.
    pub rmap_lock_failed: u64,
    /// The number of VMAs that were skipped because their accesses say nothing about the future.
    pub vma_skipped: u64,
    /// The number of times that reclaim met only dirty folios that are not being written out. The
    /// caller should wake the flushers.
    pub wakeup_flusher: u64,
    /// The times that background reclaim found only memory used within the time to protect
    /// (`min_ttl_ms`). The caller should free memory by ending a process.
    pub out_of_memory: u64,
}

/// The context of the CPU that makes a call.
#[derive(Debug, Default)]
pub struct CpuCtx {
    pub(crate) state: CpuState,
    pub(crate) ranks: HeldRanks,
}

/// The part of a CPU's context that calls change.
#[derive(Debug, Default)]
pub(crate) struct CpuState {
    pub(crate) events: Events,
    /// The batch of page-table walks, kept for the reclaim that runs on this CPU.
    pub(crate) walk: Option<MmWalk>,
    /// True while this CPU handles a page fault on a mapping whose accesses predict later ones
    /// (`lru_gen_in_fault`). Folios added to a list meanwhile count as used.
    pub(crate) in_fault: bool,
}

impl CpuCtx {
    /// Makes an empty context.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the events since the context was made.
    pub fn events(&self) -> Events {
        self.state.events
    }

    /// Returns true if no call is in progress: no batch is kept, and in debug builds, no lock is
    /// held.
    pub fn is_idle(&self) -> bool {
        self.ranks.is_empty() && self.state.walk.is_none() && !self.state.in_fault
    }
}
