//! The sequence numbers of generations: opening the next youngest, and retiring the oldest.

use super::generation::End;
use super::lrugen::LruGen;
use super::tier::{is_lazily_promoted, reset_ctrl_pos, tier_of};
use super::{MAX_LRU_BATCH, MAX_NR_GENS, MIN_NR_GENS, PerGeneration, gen_from_seq};
use crate::engine::Engine;
use crate::id::{FolioNr, LruvecNr};
use crate::lru::lru_list::{ANON, FILE, LruList, Zones};
use crate::lru::lruvec::place::LruGuard;
use crate::mm_state::MmState;
use crate::world::World;
use core::array;
use core::ops::RangeInclusive;
use core::sync::atomic::Ordering::Relaxed;
use pageout_uapi::MAX_SWAPPINESS;

/// Returns the types that may be evicted: at swappiness 0 only files' pages, at 201 only anonymous
/// memory (`for_each_evictable_type`).
pub(crate) fn evictable_types(swappiness: u8) -> RangeInclusive<usize> {
    let first = if swappiness == 0 { FILE } else { ANON };
    let last = if swappiness > MAX_SWAPPINESS { ANON } else { FILE };
    first..=last
}

impl LruGen {
    /// Returns true if no folio is on the lists of a generation. Folios in it may still be on
    /// another's list.
    fn is_unlisted(&self, seq: u64, kind: usize) -> bool {
        self.lists[gen_from_seq(seq)][kind].iter().all(|list| list.tail().is_none())
    }

    /// Returns the counted pages of a generation. They may be negative while a walk keeps changes
    /// back.
    fn counted(&self, generation: usize, kind: usize) -> Zones {
        array::from_fn(|zone| self.nr_pages[generation][kind][zone].load(Relaxed))
    }

    /// Makes `seq` the oldest generation of a type.
    fn retire_below(&self, seq: u64, kind: usize) {
        reset_ctrl_pos(self, kind);
        self.min_seq[kind].store(seq, Relaxed);
    }

    /// Checks that every type has two to four generations (`seq_is_valid`).
    fn assert_valid(&self) {
        for kind in [ANON, FILE] {
            let (min, max) = (self.min_seq(kind), self.max_seq());
            debug_assert!(
                (MIN_NR_GENS..=MAX_NR_GENS as u64).contains(&(max + 1 - min)),
                "two to four generations: {min} to {max}"
            );
        }
    }
}

impl MmState<'_> {
    /// Returns the oldest generation of the evictable types (`evictable_min_seq`).
    #[inline]
    pub(crate) fn evictable_min_seq(&self, lruvec: LruvecNr, swappiness: u8) -> u64 {
        let lrugen = self.lru_gen(lruvec);
        let oldest = evictable_types(swappiness).map(|kind| lrugen.min_seq(kind)).min();
        oldest.expect("one type can always be evicted")
    }
}

impl<W: World> Engine<'_, W> {
    /// Opens the generation after `seq`, if that is still the youngest; returns true if it did. A
    /// type that has four generations retires its oldest, 4096 folios under each hold of the lock.
    /// If the type may not be evicted, its oldest folios stay where they are and become the
    /// youngest (Linux 7.3.4, `inc_max_seq`).
    pub(crate) fn inc_max_seq(&mut self, lruvec: LruvecNr, seq: u64, swappiness: u8) -> bool {
        let world = self.world;
        loop {
            let now = world.now_ms();
            let guard = self.lock_lruvec(lruvec);
            let opened = self.maps.try_to_open(&guard, seq, swappiness, now);
            drop(guard);
            if let Some(opened) = opened {
                return opened;
            }
            world.relax();
        }
    }
}

impl MmState<'_> {
    /// Opens a generation at time `now`. Returns `None` if more folios must be moved first.
    fn try_to_open(
        &self,
        guard: &LruGuard<'_>,
        seq: u64,
        swappiness: u8,
        now: u64,
    ) -> Option<bool> {
        let lrugen = &guard.lruvec.generations;
        lrugen.assert_valid();
        debug_assert!(seq <= lrugen.max_seq(), "there is a generation {seq}");
        if seq != lrugen.max_seq() {
            return Some(false);
        }
        for kind in [ANON, FILE] {
            let full = lrugen.nr_gens(kind) == MAX_NR_GENS as u64;
            if full && !self.inc_min_seq(guard, kind, swappiness) {
                return None;
            }
        }
        // The youngest generation but one no longer counts as active, and the new one begins to. It
        // may already hold folios of a type that may not be evicted.
        let [prev, next] = [seq - 1, seq + 1].map(gen_from_seq);
        for kind in [ANON, FILE] {
            let (after, before) = (lrugen.counted(next, kind), lrugen.counted(prev, kind));
            let grows: Zones = array::from_fn(|zone| after[zone] - before[zone]);
            if grows != Zones::default() {
                self.resize(guard, LruList::of_kind(kind, false), &grows.map(|nr| -nr));
                self.resize(guard, LruList::of_kind(kind, true), &grows);
            }
        }
        lrugen.timestamps[next].store(now, Relaxed);
        lrugen.max_seq.store(seq + 1, Relaxed);
        Some(true)
    }

    /// Retires the oldest generation of a type, whose folios move to the next one's tail. Returns
    /// false if there are too many for one hold of the lock (Linux 7.3.4, `inc_min_seq`).
    fn inc_min_seq(&self, guard: &LruGuard<'_>, kind: usize, swappiness: u8) -> bool {
        let lrugen = &guard.lruvec.generations;
        let oldest = lrugen.min_seq(kind);
        if evictable_types(swappiness).contains(&kind) {
            let mut sizes = PerGeneration::default();
            let lists = &lrugen.lists[gen_from_seq(oldest)][kind];
            let mut listed = lists.iter().flat_map(|list| core::iter::from_fn(|| list.tail()));
            let mut left = MAX_LRU_BATCH;
            while left > 0
                && let Some(id) = listed.next()
            {
                self.carry_on(guard, id, kind, &mut sizes);
                left -= 1;
            }
            self.lru_gen_add_sizes(guard, &sizes);
            if left == 0 {
                return false;
            }
        }
        lrugen.retire_below(oldest + 1, kind);
        true
    }

    /// Moves a folio of the oldest generation's list to the generation where it then belongs.
    fn carry_on(
        &self,
        guard: &LruGuard<'_>,
        id: FolioNr,
        kind: usize,
        sizes: &mut PerGeneration<i64>,
    ) {
        let folio = self.folio_at(id);
        let recency = folio.recency();
        let to = self.folio_inc_gen(guard, id, sizes);
        self.lru_gen_move(guard, id, to, End::Tail);
        if !is_lazily_promoted(recency) {
            let protected = &guard.lruvec.generations.protected[kind][tier_of(recency)];
            protected.fetch_add(folio.nr_pages() as u64, Relaxed);
        }
    }

    /// Retires the oldest generations of the evictable types that list no folio, except the last
    /// two. While both types may be evicted, neither gets more than one generation ahead of the
    /// other's oldest that can be evicted (Linux 7.3.4, `try_to_inc_min_seq`).
    pub(crate) fn try_to_inc_min_seq(&self, guard: &LruGuard<'_>, swappiness: u8) {
        let lrugen = &guard.lruvec.generations;
        lrugen.assert_valid();
        let types = evictable_types(swappiness);
        let newest = lrugen.max_seq() - MIN_NR_GENS + 1;
        let mut oldest = [ANON, FILE].map(|kind| {
            let from = lrugen.min_seq(kind);
            let listed = |seq: &u64| !lrugen.is_unlisted(*seq, kind);
            if types.contains(&kind) { (from..newest).find(listed).unwrap_or(newest) } else { from }
        });
        if types == (ANON..=FILE) {
            // A type that can spare no more generations waits for the other, so that both can be
            // evicted.
            let [anon, file] = oldest;
            if anon == newest && file < newest - 1 {
                oldest[ANON] = newest - 1;
            } else if file == newest && anon < newest - 1 {
                oldest[FILE] = newest - 1;
            }
        }
        for kind in types.filter(|kind| oldest[*kind] > lrugen.min_seq(*kind)) {
            lrugen.retire_below(oldest[kind], kind);
        }
    }
}

#[cfg(test)]
mod tests;
