//! The generations of one cgroup: their lists and sizes.

use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::list::Ends;
use crate::lru_list::{LruList, kind_of};
use crate::mglru::{MAX_NR_GENS, MAX_NR_TIERS, MIN_NR_GENS, PerGeneration, gen_from_seq};
use crate::recency::Recency;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// Pages refaulted, or examined, of each type and tier.
pub(crate) type PerTier = [[AtomicU64; MAX_NR_TIERS]; 2];

/// The generations of a cgroup (the kernel's `lru_gen_folio`). Everything changes under the
/// lruvec's lock but `refaulted` and `evicted`, which are counted at any time.
#[derive(Debug, Default)]
pub(crate) struct LruGen {
    /// New folios go to a generation's list; otherwise to the classic ones.
    pub(crate) enabled: AtomicBool,
    /// The youngest generation's sequence number.
    pub(crate) max_seq: AtomicU64,
    /// The oldest generation's, of each type.
    pub(crate) min_seq: [AtomicU64; 2],
    /// When each generation was born, in milliseconds of the world's clock.
    pub(crate) timestamps: [AtomicU64; MAX_NR_GENS],
    pub(crate) lists: PerGeneration<Ends>,
    /// Pages in each generation, wherever they are listed. A walk that has not handed in its
    /// changes may leave a number negative.
    pub(crate) nr_pages: PerGeneration<AtomicI64>,
    /// Moving averages over generations gone by.
    pub(crate) avg_refaulted: PerTier,
    pub(crate) avg_total: PerTier,
    /// Of the oldest generation: pages kept because their tier refaults more, evicted, and come
    /// back since.
    pub(crate) protected: PerTier,
    pub(crate) evicted: PerTier,
    pub(crate) refaulted: PerTier,
    /// How often a size of a list or a generation was changed.
    #[cfg(test)]
    pub(crate) size_updates: AtomicU64,
}

impl LruGen {
    /// Four generations, all empty, born `now`.
    pub(crate) fn init(&self, enabled: bool, now: u64) {
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

    /// Generations of a type, 2 to 4 (`get_nr_gens`).
    pub(crate) fn nr_gens(&self, kind: usize) -> u64 {
        self.max_seq() - self.min_seq(kind) + 1
    }

    /// Whether a generation is one of the two youngest, which count as active
    /// (`lru_gen_is_active`).
    #[inline]
    pub(crate) fn is_active(&self, generation: usize) -> bool {
        let max = self.max_seq();
        generation == gen_from_seq(max) || generation == gen_from_seq(max - 1)
    }

    /// Changes the size of a generation by pages of a type and zone.
    #[inline]
    pub(crate) fn grow(&self, generation: usize, kind: usize, zone: usize, by: i64) {
        #[cfg(test)]
        self.size_updates.fetch_add(1, Relaxed);
        let size = &self.nr_pages[generation][kind][zone];
        size.store(size.load(Relaxed) + by, Relaxed);
    }

    /// Pages of a type in the generation of a sequence number, in all zones.
    pub(crate) fn size(&self, seq: u64, kind: usize) -> u64 {
        let zones = &self.nr_pages[gen_from_seq(seq)][kind];
        zones.iter().map(|n| n.load(Relaxed).max(0) as u64).sum()
    }

    #[inline]
    pub(crate) fn list_of(&self, generation: usize, kind: usize) -> LruList {
        LruList::of_kind(kind, self.is_active(generation))
    }

    /// Where a folio belongs that joins (`lru_gen_folio_seq`): the younger, the likelier it is to
    /// be used again; one that is `reclaiming` in the oldest generation.
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
