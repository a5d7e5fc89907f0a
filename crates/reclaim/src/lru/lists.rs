//! Moves of folios among the LRU lists: adding, isolating, putting back, activating.

use super::lru_list::{LruList, SWAP_CLUSTER_MAX, Zones};
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard, LruFlags};
use crate::folio_list::FolioList;
use crate::id::{FolioId, FolioNr, LruvecNr};
use crate::lru::lruvec::place::LruGuard;
use crate::lru::mglru::generation::lru_gen_inc_refs;
use crate::memory::BadId;
use crate::recency::Recency;
use crate::vmstat::Counter;
use crate::world::World;
use pageout_paging::Env;

/// The limit of folios of too high a zone that [`Engine::isolate`] sets aside. Beyond it, such
/// folios are taken too (`SWAP_CLUSTER_MAX_SKIPPED`).
const MAX_SKIPPED: u64 = SWAP_CLUSTER_MAX << 10;

/// The reason why a folio was not put on a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LruAddError {
    /// The folio is on a list already (EEXIST).
    #[error("the folio is on a list already")]
    Listed,
    /// The folio was freed.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// The task of [`Engine::isolate`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Isolate {
    /// The lists whose folios to take.
    pub(crate) lruvec: LruvecNr,
    /// The list to take them from.
    pub(crate) list: LruList,
    /// The number of pages to examine.
    pub(crate) nr_to_scan: u64,
    /// The highest zone to take from.
    pub(crate) reclaim_idx: usize,
}

/// The result of [`Engine::isolate`], in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scanned {
    /// The number of pages examined.
    pub(crate) scanned: u64,
    /// The number of pages taken off their list.
    pub(crate) taken: u64,
}

impl<E: Env> Engine<'_, E> {
    /// Puts a folio that was never on a list on one by its flags. An evictable folio goes to the
    /// inactive list of its type, or to the active one if it refaulted soon enough. An mlocked
    /// folio goes to the unevictable list. In the multi-generational LRU, a fault's folio counts as
    /// used at once (Linux 7.3.4, `folio_add_lru`). It becomes active if it was part of a working
    /// set, and is marked as referenced otherwise.
    ///
    /// # Errors
    /// [`LruAddError`] if it is on a list, or was freed.
    pub fn lru_add(&mut self, id: FolioId) -> Result<(), LruAddError> {
        let id = self.maps.folio_nr(id)?;
        if self.maps.folio_at(id).lru().contains(LruFlags::LRU) {
            return Err(LruAddError::Listed);
        }
        self.lru_add_at(id);
        Ok(())
    }

    /// Puts a folio on a list, by its entry.
    pub(crate) fn lru_add_at(&mut self, id: FolioNr) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let guard = self.lock_lruvec_of(folio);
        let evictable = !folio.flags().contains(FolioFlags::MLOCKED);
        // This is no direct reclaim inside the fault, since reclaim adds no folios.
        if evictable && self.cpu.in_fault && maps.lru_gen_enabled() {
            if folio.recency().contains(Recency::WORKINGSET) {
                folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
            } else if !folio.recency().contains(Recency::REFERENCED) {
                lru_gen_inc_refs(folio);
            }
        }
        maps.lru_link(&guard, id);
        drop(guard);
    }

    /// Takes a folio that no one can find any more off its list, if it is on one.
    pub(crate) fn lru_del(&mut self, id: FolioNr) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        // Isolating takes a reference, and the folio has none left to take it by.
        if !folio.lru().contains(LruFlags::LRU) {
            return;
        }
        let guard = self.lock_lruvec_of(folio);
        maps.lru_unlink(&guard, id);
        drop(guard);
    }

    /// Takes folios from the tail of a list, with a reference to each, until `nr_to_scan` pages
    /// were examined or the list is empty. A folio that is being freed goes to the head. At the
    /// end, so do folios of too high a zone; they count as examined, but not towards `nr_to_scan`
    /// (Linux 7.3.4, `isolate_lru_folios`).
    pub(crate) fn isolate(&mut self, what: Isolate, out: &mut FolioList) -> Scanned {
        let maps = self.maps;
        let Isolate { lruvec, list, nr_to_scan, reclaim_idx } = what;
        let guard = self.lock_lruvec(lruvec);
        let ends = &guard.lruvec.lists[list as usize];
        let (mut seen, mut skipped, mut nr_skipped) = (Scanned::default(), FolioList::default(), 0);
        let mut left = Zones::default();
        while seen.scanned - nr_skipped < nr_to_scan {
            let Some(id) = ends.pop_tail(maps.folios.table) else {
                break;
            };
            let folio = maps.folio_at(id);
            let zone = maps.zone_of(folio);
            seen.scanned += folio.nr_pages() as u64;
            if zone > reclaim_idx && (skipped.len as u64) < MAX_SKIPPED {
                nr_skipped += folio.nr_pages() as u64;
                skipped.push(maps, id);
            } else if folio.try_get() {
                folio.update_lru(LruFlags::empty(), LruFlags::LRU);
                seen.taken += folio.nr_pages() as u64;
                left[zone] -= folio.nr_pages() as i64;
                out.push(maps, id);
            } else {
                ends.push_head(maps.folios.table, id);
            }
        }
        while let Some(id) = skipped.pop(maps) {
            ends.push_head(maps.folios.table, id);
        }
        if seen.taken > 0 {
            maps.resize(&guard, list, &left);
        }
        drop(guard);
        seen
    }

    /// Takes one folio off its list, with a reference. Returns false if it is on none.
    pub(crate) fn isolate_one(&mut self, id: FolioNr) -> bool {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let guard = self.lock_lruvec_of(folio);
        let taken = folio.lru().contains(LruFlags::LRU) && folio.try_get();
        if taken {
            maps.lru_unlink(&guard, id);
        }
        drop(guard);
        taken
    }
}

impl<W: World> Engine<'_, W> {
    /// Puts isolated folios on lists by their flags, and drops the references that isolating took.
    /// Folios without other references are freed. Active ones advance the clock of refaults (Linux
    /// 7.3.4, `move_folios_to_lru`).
    pub(crate) fn putback(&mut self, list: &mut FolioList) {
        let maps = self.maps;
        self.putback_where(list, |guard, id| maps.lru_place(guard, id));
    }

    /// Puts folios back like `putback`, but `place` puts each on a list. The sizes of lists are
    /// updated here.
    pub(super) fn putback_where(
        &mut self,
        list: &mut FolioList,
        place: impl Fn(&LruGuard<'_>, FolioNr) -> LruList,
    ) {
        let maps = self.maps;
        let mut dead = FolioList::default();
        while let Some(first) = list.tail() {
            let guard = self.lock_lruvec_of(maps.folio_at(first));
            let (mut active, mut grown) = (0, [Zones::default(); 5]);
            while let Some(id) = list.tail().filter(|id| maps.folio_at(*id).lruvec() == guard.id) {
                list.pop(maps);
                let folio = maps.folio_at(id);
                let on = place(&guard, id);
                if folio.put(1) {
                    maps.lru_displace(&guard, id);
                    dead.push(maps, id);
                    continue;
                }
                let nr = folio.nr_pages() as u64;
                grown[on as usize][maps.zone_of(folio)] += nr as i64;
                // No folio of a generation has the flag.
                active += if folio.lru().contains(LruFlags::ACTIVE) { nr } else { 0 };
            }
            maps.resize_all(&guard, &grown);
            if active > 0 {
                maps.age_nonresident(guard.id, active);
            }
            drop(guard);
        }
        self.free_folios(dead);
    }
}

impl<E: Env> Engine<'_, E> {
    /// Changes a folio's state among the lists and moves it to the head of the list it then belongs
    /// on. Does so only if it is on an evictable list and `wanted` agrees. Returns true if it did.
    fn relist(
        &mut self,
        id: FolioNr,
        wanted: impl Fn(LruFlags) -> bool,
        change: impl Fn(),
        counter: Counter,
    ) -> bool {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let guard = self.lock_lruvec_of(folio);
        let lru = folio.lru();
        let evictable = lru & (LruFlags::LRU | LruFlags::UNEVICTABLE) == LruFlags::LRU;
        let moves = evictable && wanted(lru);
        if moves {
            maps.lru_unlink(&guard, id);
            change();
            maps.lru_link(&guard, id);
            maps.memcg_at(guard.id.memcg).vmstat.add(counter, folio.nr_pages() as u64);
        }
        drop(guard);
        moves
    }

    /// Moves an inactive folio to the head of its active list. Returns true if it was on the
    /// inactive one (Linux 7.3.4, `folio_activate`).
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    pub fn activate(&mut self, id: FolioId) -> Result<bool, BadId> {
        Ok(self.activate_at(self.maps.folio_nr(id)?))
    }

    /// Activates a folio, by its entry.
    pub(crate) fn activate_at(&mut self, id: FolioNr) -> bool {
        let folio = self.maps.folio_at(id);
        let inactive = |lru: LruFlags| !lru.contains(LruFlags::ACTIVE);
        let change = || folio.update_lru(LruFlags::ACTIVE, LruFlags::empty());
        self.relist(id, inactive, change, Counter::Pgactivate)
    }

    /// Moves an active folio to the head of its inactive list. In generations, forgets the folio's
    /// uses and moves it to the generation where it belongs without them, unless it is in the
    /// oldest already. Returns true if the folio moved (Linux 7.3.4, `folio_deactivate`). The
    /// caller clears its `REFERENCED` flag.
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    pub fn deactivate(&mut self, id: FolioId) -> Result<bool, BadId> {
        Ok(self.deactivate_at(self.maps.folio_nr(id)?))
    }

    /// Deactivates a folio, by its entry.
    pub(crate) fn deactivate_at(&mut self, id: FolioNr) -> bool {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let generations = maps.lru_gen_enabled();
        if generations && maps.lru_gen_clear_refs(folio) {
            return false;
        }
        let active = |lru: LruFlags| generations || lru.contains(LruFlags::ACTIVE);
        let change = || folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
        self.relist(id, active, change, Counter::Pgdeactivate)
    }

    /// Makes a locked anonymous folio lazyfree: it loses its swap backing and joins the inactive
    /// file list. Returns false if it is on no list that reclaim takes from (Linux 7.3.4,
    /// `lru_lazyfree`).
    ///
    /// # Errors
    /// [`BadId`] if `id` is not the folio that `held` has locked.
    pub fn lazyfree(&mut self, held: &FolioGuard<'_>, id: FolioId) -> Result<bool, BadId> {
        Ok(self.lazyfree_at(held, self.maps.locked_nr(held, id)?))
    }

    /// Makes a folio lazyfree, by its entry.
    pub(crate) fn lazyfree_at(&mut self, held: &FolioGuard<'_>, id: FolioNr) -> bool {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        debug_assert!(core::ptr::eq(held.folio(), folio), "the folio's own lock");
        let backed = FolioFlags::SWAPBACKED;
        let kind = FolioFlags::ANON | backed | FolioFlags::SWAPCACHE;
        let wanted = |_| folio.flags() & kind == FolioFlags::ANON | backed;
        let change = || {
            folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
            folio.update_flags(FolioFlags::empty(), backed);
            // Generations keep the flag: kernels clear it for folios in a generation, and this one
            // was just taken off.
            if !maps.lru_gen_enabled() {
                folio.note_use(Recency::NONE, Recency::REFERENCED);
            }
        };
        self.relist(id, wanted, change, Counter::Pglazyfree)
    }

    /// Moves a folio whose write-out ended to the tail of its inactive list, where reclaim takes it
    /// next (Linux 7.3.4, `folio_rotate_reclaimable`).
    pub(crate) fn rotate(&mut self, id: FolioNr) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let guard = self.lock_lruvec_of(folio);
        let place = LruFlags::LRU | LruFlags::UNEVICTABLE;
        if folio.lru() & place == LruFlags::LRU {
            maps.lru_unlink(&guard, id);
            folio.update_lru(LruFlags::empty(), LruFlags::ACTIVE);
            maps.lru_link_tail(&guard, id);
            maps.memcg_at(guard.id.memcg).vmstat.add(Counter::Pgrotated, folio.nr_pages() as u64);
        }
        drop(guard);
    }

    /// Notes an access that leaves no young bit. The first sets `REFERENCED`, the next activates
    /// the folio. The multi-generational LRU counts the uses (Linux 7.3.4, `folio_mark_accessed`).
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    pub fn mark_accessed(&mut self, id: FolioId) -> Result<(), BadId> {
        self.mark_accessed_at(self.maps.folio_nr(id)?);
        Ok(())
    }

    /// Notes an access to a folio, by its entry.
    pub(crate) fn mark_accessed_at(&mut self, id: FolioNr) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        if maps.lru_gen_enabled() {
            lru_gen_inc_refs(folio);
        } else if !folio.recency().contains(Recency::REFERENCED) {
            folio.note_use(Recency::REFERENCED, Recency::NONE);
        } else if self.activate_at(id) {
            folio.note_use(Recency::NONE, Recency::REFERENCED);
            maps.age_nonresident(folio.lruvec(), folio.nr_pages() as u64);
        }
    }
}
