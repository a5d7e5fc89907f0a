//! What belongs to one CPU: its events, what reclaim on it batches, and in debug builds the locks
//! it holds.

use crate::mglru::batch::MmWalk;

/// Locks in the order they may be taken; see ARCHITECTURE.md.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// An address space's mmap lock.
    Mmap,
    /// The tree of cgroups, for as long as one pass of reclaim walks it.
    Memcgs,
    /// The list of a cgroup's address spaces.
    MmList,
    /// A folio's lock.
    Folio,
    /// A mapping's reverse map.
    Rmap,
    /// The reverse map of a VMA's anonymous pages, while its file's is held too.
    RmapOfAnon,
    /// A page table's lock.
    PageTable,
    /// The file index and the swap cache.
    Index,
    /// The LRU lists of one cgroup.
    Lru,
    /// The order in which reclaim of the whole machine visits cgroups.
    MemcgLru,
    /// A free list: innermost, held for a few stores.
    FreeList,
}

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
    /// Events since the context was made.
    pub events: Events,
    /// What page-table walks of the reclaim that runs here keep.
    pub(crate) walk: Option<MmWalk>,
    /// A page fault on a mapping whose accesses say something about the next runs here
    /// (`lru_gen_in_fault`): what is added to a list meanwhile was used.
    pub(crate) in_fault: bool,
    /// One bit a [`Rank`] held.
    held: u16,
}

impl CpuCtx {
    /// A context that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no call goes on: no lock is held, and nothing is kept for later.
    pub fn is_idle(&self) -> bool {
        self.held == 0 && self.walk.is_none() && !self.in_fault
    }

    /// Notes that a lock of `rank` is about to be taken.
    ///
    /// # Panics
    /// In debug builds, if a lock of this rank or a later one is held.
    #[inline]
    pub(crate) fn enter(&mut self, rank: Rank) {
        let bit = 1 << rank as u16;
        debug_assert!(self.held < bit, "lock order: {rank:?} after {:#b}", self.held);
        self.held |= bit;
    }

    /// Notes that the lock of `rank` was given up, or could not be had.
    #[inline]
    pub(crate) fn leave(&mut self, rank: Rank) {
        self.held &= !(1 << rank as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_taken_in_order_are_accepted() {
        let mut cpu = CpuCtx::new();
        cpu.enter(Rank::Folio);
        cpu.enter(Rank::Rmap);
        cpu.enter(Rank::PageTable);
        cpu.leave(Rank::PageTable);
        cpu.enter(Rank::PageTable);
    }

    #[test]
    #[should_panic(expected = "lock order")]
    #[cfg(debug_assertions)]
    fn a_second_lock_of_one_rank_panics() {
        let mut cpu = CpuCtx::new();
        cpu.enter(Rank::PageTable);
        cpu.enter(Rank::PageTable);
    }

    #[test]
    #[should_panic(expected = "lock order")]
    #[cfg(debug_assertions)]
    fn a_folio_lock_inside_the_rmap_lock_panics() {
        let mut cpu = CpuCtx::new();
        cpu.enter(Rank::Rmap);
        cpu.enter(Rank::Folio);
    }
}
