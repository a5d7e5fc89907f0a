//! Puts folios on the LRU lists of a cgroup and takes them off.

use super::Lruvec;
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, LruFlags, MAX_NR_ZONES};
use crate::id::{FolioId, FolioNr, LruvecId, LruvecNr, MemcgId, MemcgNr};
use crate::lock::WriteGuard;
use crate::lru::lru_list::{LruList, Zones, kind_of};
use crate::lru::mglru::gen_from_seq;
use crate::lru::mglru::generation::End;
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::noted::Noted;
use crate::rank::{Rank, Ranked};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Rules};

/// The guard of a lruvec's lock, with the lruvec.
#[derive(Debug)]
pub(crate) struct LruGuard<'a> {
    pub(crate) id: LruvecNr,
    pub(crate) lruvec: &'a Lruvec,
    /// True if evictable folios join a generation, not a classic list.
    pub(in crate::lru) generations: bool,
    _lock: Ranked<'a, WriteGuard<'a>>,
}

impl MmState<'_> {
    /// Returns the number of pages on a list of a cgroup and of all below it, on all nodes.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn lru_size(&self, memcg: MemcgId, list: LruList) -> Result<u64, BadId> {
        Ok(self.lru_size_at(self.memcg_nr(memcg)?, list))
    }

    /// Returns the number of pages like `lru_size`, by the cgroup's entry.
    pub(crate) fn lru_size_at(&self, memcg: MemcgNr, list: LruList) -> u64 {
        self.lruvecs_of(memcg).map(|lruvec| lruvec.subtree_size(list)).sum()
    }

    /// Returns the number of pages on a list of a cgroup itself on a node. A cgroup alone stands
    /// for its lists on node 0.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn lru_size_own(&self, lruvec: impl Into<LruvecId>, list: LruList) -> Result<u64, BadId> {
        let lruvec = self.lruvec(self.lruvec_nr(lruvec)?);
        Ok(lruvec.size(list, ..=MAX_NR_ZONES - 1))
    }

    /// Returns the folios on a list of a cgroup itself on a node, head first. A cgroup alone stands
    /// for its lists on node 0. The caller keeps others from changing the list meanwhile.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn lru_folios(
        &self,
        lruvec: impl Into<LruvecId>,
        list: LruList,
    ) -> Result<impl Iterator<Item = FolioId>, BadId> {
        let lruvec = self.lruvec(self.lruvec_nr(lruvec)?);
        let listed = lruvec.lists[list as usize].iter(self.folios.table);
        Ok(listed.map(|nr| self.folio_id(nr)))
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Locks the lists of one cgroup on one node.
    #[inline]
    pub(crate) fn lock_lruvec(&self, id: LruvecNr) -> Noted<'e, E, LruGuard<'e>> {
        let maps = self.maps;
        let lruvec = maps.lruvec(id);
        let lock = self.lock_write(Rank::Lru, &lruvec.lock);
        let in_use = lruvec.generations.enabled.load(Relaxed);
        let generations = E::Rules::joins_generation(in_use, maps.lru_gen_switching());
        lock.map(|lock| LruGuard { id, lruvec, generations, _lock: lock })
    }

    /// Locks the lists that the folio is on or would be put on. While the lock is held, the folio
    /// stays charged to the same cgroup, and on its node.
    #[inline]
    pub(crate) fn lock_lruvec_of(&self, folio: &Folio) -> Noted<'e, E, LruGuard<'e>> {
        loop {
            let guard = self.lock_lruvec(folio.lruvec());
            if folio.lruvec() == guard.id {
                return guard;
            }
            drop(guard);
        }
    }
}

impl MmState<'_> {
    /// Puts a folio that is on no list at the head of the list of its flags.
    #[inline]
    pub(in crate::lru) fn lru_link(&self, guard: &LruGuard<'_>, id: FolioNr) {
        let list = self.lru_place(guard, id);
        self.resize(guard, list, &self.in_zones(self.folio_at(id)));
    }

    /// Places a folio like `lru_link`, but leaves the list's sizes to the caller.
    #[inline]
    pub(in crate::lru) fn lru_place(&self, guard: &LruGuard<'_>, id: FolioNr) -> LruList {
        let folio = self.folio_at(id);
        self.settle(folio);
        let list = self.lru_gen_add(guard, id, false);
        list.unwrap_or_else(|| self.lru_place_classic(guard, id))
    }

    #[inline]
    fn lru_place_classic(&self, guard: &LruGuard<'_>, id: FolioNr) -> LruList {
        let list = LruList::of(self.folio_at(id));
        guard.lruvec.lists[list as usize].push_head(self.folios.table, id);
        list
    }

    /// Places a folio of a generation, like `lru_place`. It joins the generation that is `age`
    /// before the youngest, or the oldest one, at the tail.
    #[inline]
    pub(crate) fn lru_place_aged(&self, guard: &LruGuard<'_>, id: FolioNr, age: u64) -> LruList {
        let folio = self.folio_at(id);
        self.settle(folio);
        if folio.lru().contains(LruFlags::UNEVICTABLE) {
            return self.lru_place_classic(guard, id);
        }
        let lrugen = &guard.lruvec.generations;
        let seq = (lrugen.max_seq() - age).max(lrugen.min_seq(kind_of(folio)));
        self.lru_gen_join(guard, id, gen_from_seq(seq), End::Tail)
    }

    /// Puts a folio that is on no list at the tail of the list of its flags, where reclaim takes it
    /// next.
    #[inline]
    pub(in crate::lru) fn lru_link_tail(&self, guard: &LruGuard<'_>, id: FolioNr) {
        let folio = self.folio_at(id);
        self.settle(folio);
        let list = self.lru_gen_add(guard, id, true).unwrap_or_else(|| {
            let list = LruList::of(folio);
            guard.lruvec.lists[list as usize].push_tail(self.folios.table, id);
            list
        });
        self.resize(guard, list, &self.in_zones(folio));
    }

    /// Marks the folio as being on a list; as unevictable if it is mlocked.
    #[inline]
    fn settle(&self, folio: &Folio) {
        debug_assert!(!folio.lru().contains(LruFlags::LRU), "a folio is on one list");
        if folio.flags().contains(FolioFlags::MLOCKED) {
            folio.update_lru(LruFlags::LRU | LruFlags::UNEVICTABLE, LruFlags::ACTIVE);
        } else {
            folio.update_lru(LruFlags::LRU, LruFlags::UNEVICTABLE);
        }
    }

    /// Takes a folio off the list it is on.
    #[inline]
    pub(in crate::lru) fn lru_unlink(&self, guard: &LruGuard<'_>, id: FolioNr) {
        let list = self.lru_displace(guard, id);
        self.resize(guard, list, &self.in_zones(self.folio_at(id)).map(|nr| -nr));
    }

    /// Takes a folio off like `lru_unlink`, but leaves the list's sizes to the caller.
    #[inline]
    pub(in crate::lru) fn lru_displace(&self, guard: &LruGuard<'_>, id: FolioNr) -> LruList {
        let folio = self.folio_at(id);
        debug_assert!(folio.lru().contains(LruFlags::LRU), "a folio to take off is on a list");
        let list = self.lru_gen_del(guard, id).unwrap_or_else(|| {
            let list = LruList::of(folio);
            guard.lruvec.lists[list as usize].remove(self.folios.table, id);
            list
        });
        folio.update_lru(LruFlags::empty(), LruFlags::LRU);
        list
    }

    /// Returns the pages of a folio, in its zone.
    #[inline]
    pub(crate) fn in_zones(&self, folio: &Folio) -> Zones {
        let mut zones = Zones::default();
        zones[self.zone_of(folio)] = folio.nr_pages() as i64;
        zones
    }

    /// Adds to the sizes of each list that changes.
    #[inline]
    pub(in crate::lru) fn resize_all(&self, guard: &LruGuard<'_>, lists: &[Zones; 5]) {
        for (list, by) in LruList::ALL.into_iter().zip(lists) {
            if *by != Zones::default() {
                self.resize(guard, list, by);
            }
        }
    }

    /// Adds to a list's sizes. A negative size wraps around.
    #[inline]
    pub(crate) fn resize(&self, guard: &LruGuard<'_>, list: LruList, by: &Zones) {
        #[cfg(test)]
        guard.lruvec.generations.size_updates.fetch_add(1, Relaxed);
        let own = &guard.lruvec.nr_pages[list as usize];
        for (own, by) in own.iter().zip(by) {
            own.store(own.load(Relaxed).wrapping_add_signed(*by), Relaxed);
        }
        let all: i64 = by.iter().sum();
        for lruvec in self.lruvecs_up(guard.id) {
            lruvec.subtree[list as usize].fetch_add(all as u64, Relaxed);
        }
    }
}
