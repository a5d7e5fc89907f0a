//! The order of locks, and guards that enforce it on a CPU in debug builds.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// The locks, in the order in which they may be taken; see docs/lock-order.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rank {
    /// The mmap lock of an address space.
    Mmap,
    /// The tree of cgroups, for as long as one pass of reclaim walks it.
    Memcgs,
    /// The list of a cgroup's address spaces.
    MmList,
    /// The lock of a folio.
    Folio,
    /// The reverse map of a mapping.
    Rmap,
    /// The reverse map of a VMA's anonymous pages, while its file's is held too.
    RmapOfAnon,
    /// The lock of a page table.
    PageTable,
    /// The places of a file's pages, while some enter the index or move between it and swap.
    Places,
    /// The swap cache and the swap slots.
    Swap,
    /// A bucket of the file index, held for a few steps.
    Index,
    /// The LRU lists of one cgroup on one node.
    Lru,
    /// The order in which reclaim of a whole node visits cgroups.
    MemcgLru,
    /// A free list, or the list of page tables in reserve: innermost, held for a few stores.
    FreeList,
}

impl Rank {
    /// Returns the rank's name in lock events.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mmap => "mmap",
            Self::Memcgs => "memcgs",
            Self::MmList => "mm-list",
            Self::Folio => "folio",
            Self::Rmap => "rmap",
            Self::RmapOfAnon => "rmap-of-anon",
            Self::PageTable => "page-table",
            Self::Places => "places",
            Self::Swap => "swap",
            Self::Index => "index",
            Self::Lru => "lru",
            Self::MemcgLru => "memcg-lru",
            Self::FreeList => "free-list",
        }
    }
}

/// The ranks of the locks that a CPU holds, in debug builds: one bit for each [`Rank`].
#[derive(Debug, Default)]
pub(crate) struct HeldRanks(Cell<u16>);

impl HeldRanks {
    /// Returns true if none is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    /// Enters a rank, before a lock of that rank is taken or tried.
    ///
    /// # Panics
    /// In debug builds, if a lock of this rank or a later one is held.
    #[inline]
    pub(crate) fn enter(&self, rank: Rank) -> HeldRank<'_> {
        if cfg!(debug_assertions) {
            let (held, bit) = (self.0.get(), 1 << rank as u16);
            assert!(held < bit, "lock order: {rank:?} after {held:#b}");
            self.0.set(held | bit);
        }
        HeldRank {
            #[cfg(debug_assertions)]
            rank,
            #[cfg(debug_assertions)]
            of: self,
            _of: PhantomData,
        }
    }
}

/// A rank that is held until this is dropped.
#[derive(Debug)]
#[must_use = "the rank is left when this is dropped"]
pub(crate) struct HeldRank<'e> {
    #[cfg(debug_assertions)]
    rank: Rank,
    #[cfg(debug_assertions)]
    of: &'e HeldRanks,
    _of: PhantomData<&'e HeldRanks>,
}

#[cfg(debug_assertions)]
impl Drop for HeldRank<'_> {
    fn drop(&mut self) {
        self.of.0.set(self.of.0.get() & !(1 << self.rank as u16));
    }
}

impl<'e> HeldRank<'e> {
    /// Combines the rank with the guard of a lock of it. Dropping the result releases both.
    #[inline]
    pub(crate) fn with<G>(self, guard: G) -> Ranked<'e, G> {
        Ranked { guard, _rank: self }
    }
}

/// The guard of a lock, with the lock's rank. Dropping it releases both.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub(crate) struct Ranked<'e, G> {
    // In this order: the lock is released before its rank.
    guard: G,
    _rank: HeldRank<'e>,
}

impl<G> Deref for Ranked<'_, G> {
    type Target = G;

    #[inline]
    fn deref(&self) -> &G {
        &self.guard
    }
}

impl<G> DerefMut for Ranked<'_, G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G {
        &mut self.guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_taken_in_order_are_accepted() {
        let ranks = HeldRanks::default();
        let _folio = ranks.enter(Rank::Folio);
        let _rmap = ranks.enter(Rank::Rmap);
        drop(ranks.enter(Rank::PageTable));
        let _again = ranks.enter(Rank::PageTable);
    }

    #[test]
    fn a_rank_that_is_dropped_is_left() {
        let ranks = HeldRanks::default();
        drop((ranks.enter(Rank::Mmap), ranks.enter(Rank::FreeList)));
        assert!(ranks.is_empty());
    }

    #[test]
    #[should_panic(expected = "lock order")]
    #[cfg(debug_assertions)]
    fn a_second_lock_of_one_rank_panics() {
        let ranks = HeldRanks::default();
        let _first = ranks.enter(Rank::PageTable);
        let _second = ranks.enter(Rank::PageTable);
    }

    #[test]
    #[should_panic(expected = "lock order")]
    #[cfg(debug_assertions)]
    fn a_folio_lock_inside_the_rmap_lock_panics() {
        let ranks = HeldRanks::default();
        let _rmap = ranks.enter(Rank::Rmap);
        let _folio = ranks.enter(Rank::Folio);
    }
}
