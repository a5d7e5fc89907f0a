//! The generations of one cgroup on a node: their lists and sizes.

use super::{MAX_NR_GENS, MAX_NR_TIERS, MIN_NR_GENS, PerGeneration, gen_from_seq};
use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::list::Ends;
use crate::lru::lru_list::{LruList, kind_of};
use crate::recency::Recency;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// The numbers of pages refaulted, or examined, by type and tier.
pub(super) type PerTier = [[AtomicU64; MAX_NR_TIERS]; 2];

/// The generations of a cgroup on a node (the kernel's `lru_gen_folio`). Everything changes under
/// the lruvec's lock, except `refaulted` and `evicted`, which are counted at any time.
#[derive(Debug, Default)]
pub(crate) struct LruGen {
    /// True if new folios go to a generation's list, false if they go to the classic ones.
    pub(in crate::lru) enabled: AtomicBool,
    /// The sequence number of the youngest generation.
    pub(crate) max_seq: AtomicU64,
    /// The sequence number of the oldest generation of each type.
    pub(crate) min_seq: [AtomicU64; 2],
    /// The time at which each generation was opened, in milliseconds of the world's clock.
    pub(crate) timestamps: [AtomicU64; MAX_NR_GENS],
    pub(crate) lists: PerGeneration<Ends>,
    /// The pages in each generation, whatever list they are on. A walk that has not handed in its
    /// changes may leave a number negative.
    pub(crate) nr_pages: PerGeneration<AtomicI64>,
    /// The moving averages over past generations.
    pub(super) avg_refaulted: PerTier,
    pub(super) avg_total: PerTier,
    /// For the oldest generation: the pages protected because their tier refaults more, the pages
    /// evicted, and the pages refaulted since.
    pub(crate) protected: PerTier,
    pub(super) evicted: PerTier,
    pub(super) refaulted: PerTier,
    /// The number of changes to the size of a list or a generation.
    #[cfg(test)]
    pub(crate) size_updates: AtomicU64,
}

impl LruGen {
    /// Begins with four generations, all empty, opened at `now`.
    pub(in crate::lru) fn init(&self, enabled: bool, now: u64) {
        self.enabled.store(enabled, Relaxed);
        self.max_seq.store(MIN_NR_GENS + 1, Relaxed);
        self.min_seq.iter().for_each(|seq| seq.store(0, Relaxed));
        self.timestamps.iter().for_each(|at| at.store(now, Relaxed));
        self.lists.iter().flatten().flatten().for_each(Ends::clear);
        self.nr_pages.iter().flatten().flatten().for_each(|n| n.store(0, Relaxed));
        let tiers = [&self.avg_refaulted, &self.avg_total, &self.protected];
        let tiers = tiers.into_iter().chain([&self.evicted, &self.refaulted]);
        tiers.flatten().flatten().for_each(|n| n.store(0, Relaxed));
    }

    #[inline]
    pub(crate) fn max_seq(&self) -> u64 {
        self.max_seq.load(Relaxed)
    }

    #[inline]
    pub(crate) fn min_seq(&self, kind: usize) -> u64 {
        self.min_seq[kind].load(Relaxed)
    }

    /// Returns the number of generations of a type, 2 to 4 (`get_nr_gens`).
    pub(crate) fn nr_gens(&self, kind: usize) -> u64 {
        self.max_seq() - self.min_seq(kind) + 1
    }

    /// Returns true if a generation is one of the two youngest, which count as active
    /// (`lru_gen_is_active`).
    #[inline]
    pub(super) fn is_active(&self, generation: usize) -> bool {
        let max = self.max_seq();
        generation == gen_from_seq(max) || generation == gen_from_seq(max - 1)
    }

    /// Changes the size of a generation by a number of pages of a type and zone.
    #[inline]
    pub(super) fn grow(&self, generation: usize, kind: usize, zone: usize, by: i64) {
        #[cfg(test)]
        self.size_updates.fetch_add(1, Relaxed);
        let size = &self.nr_pages[generation][kind][zone];
        size.store(size.load(Relaxed) + by, Relaxed);
    }

    /// Returns the number of pages of a type in the generation of a sequence number, in all zones.
    pub(crate) fn size(&self, seq: u64, kind: usize) -> u64 {
        let zones = &self.nr_pages[gen_from_seq(seq)][kind];
        zones.iter().map(|n| n.load(Relaxed).max(0) as u64).sum()
    }

    #[inline]
    pub(crate) fn list_of(&self, generation: usize, kind: usize) -> LruList {
        LruList::of_kind(kind, self.is_active(generation))
    }

    /// Returns the generation that a folio is to join (`lru_gen_folio_seq`). It is the younger, the
    /// likelier the folio is to be used again, and the oldest for a folio that is `reclaiming`.
    #[inline]
    pub(crate) fn folio_seq(&self, folio: &Folio, reclaiming: bool) -> u64 {
        let (flags, recency) = (folio.flags(), folio.recency());
        let workingset = u64::from(recency.contains(Recency::WORKINGSET));
        let used = recency.intersects(Recency::WORKINGSET.union(Recency::REFERENCED));
        let unwritten = flags.intersects(FolioFlags::DIRTY | FolioFlags::WRITEBACK)
            && recency.contains(Recency::RECLAIM);
        let anon = flags & (FolioFlags::SWAPBACKED | FolioFlags::SWAPCACHE);
        let from_youngest = if folio.lru().contains(LruFlags::ACTIVE) {
            MIN_NR_GENS - workingset
        } else if reclaiming {
            MAX_NR_GENS as u64
        } else if anon == FolioFlags::SWAPBACKED || unwritten {
            MIN_NR_GENS
        } else {
            MAX_NR_GENS as u64 - u64::from(used)
        };
        (self.max_seq() + 1).saturating_sub(from_youngest).max(self.min_seq(kind_of(folio)))
    }
}
