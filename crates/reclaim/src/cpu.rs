//! What belongs to one CPU: its events, what reclaim on it batches, and in debug builds the ranks
//! of the locks it holds.

use crate::mglru::batch::MmWalk;
use crate::rank::HeldRanks;

/// What happened on this CPU and is no state of any folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// `folio_referenced` found the folio locked by someone else.
    pub folio_lock_failed: u64,
    /// `folio_referenced` found the reverse map locked by someone else.
    pub rmap_lock_failed: u64,
    /// VMAs whose accesses say nothing about the future, skipped.
    pub vma_skipped: u64,
    /// Reclaim met nothing but dirty folios that no one writes out: the flushers are to be woken.
    pub wakeup_flusher: u64,
    /// Background reclaim found nothing but memory used within the time that is to be kept: some of
    /// it has to be given up, by ending a process (`min_ttl_ms`).
    pub out_of_memory: u64,
}

/// The context of the CPU that makes a call.
#[derive(Debug, Default)]
pub struct CpuCtx {
    pub(crate) state: CpuState,
    pub(crate) ranks: HeldRanks,
}

/// What calls change of a CPU's context.
#[derive(Debug, Default)]
pub(crate) struct CpuState {
    pub(crate) events: Events,
    /// What page-table walks of the reclaim that runs here keep.
    pub(crate) walk: Option<MmWalk>,
    /// A page fault on a mapping whose accesses say something about the next runs here
    /// (`lru_gen_in_fault`): what is added to a list meanwhile was used.
    pub(crate) in_fault: bool,
}

impl CpuCtx {
    /// A context that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Events since the context was made.
    pub fn events(&self) -> Events {
        self.state.events
    }

    /// Whether no call goes on: nothing is kept for later, and, as far as debug builds know, no
    /// lock is held.
    pub fn is_idle(&self) -> bool {
        self.ranks.is_empty() && self.state.walk.is_none() && !self.state.in_fault
    }
}
