//! Shared memory (shmem): like files' pages, its pages are in the index of a mapping; like
//! anonymous pages, they are backed by swap.
//!
//! A page is in one of three places. It is in a folio that the index leads to. Or the index leads
//! to a swap slot, and the content is in the slot or still in the swap cache. Or nothing is in the
//! index, and the page is zeros. It changes its place under the locks of its mapping's places, of
//! swap and of its folio. Page tables do not depend on the place: they map the folio while the
//! index has it, or are empty.

use super::swap::cache::delete_from_swap_cache;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::id::{FolioNr, MappingNr, SwapSlot};
use crate::page_cache::cache::index::{Found, unlink};
use crate::page_cache::swap::cache::alloc_slots;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Rules};

impl<E: Env> Engine<'_, E> {
    /// Returns the index's entry for a page. A folio comes with a reference that the caller drops
    /// (Linux 7.3.4).
    pub(crate) fn filemap_get_entry(&mut self, mapping: MappingNr, index: u64) -> Option<Found> {
        let maps = self.maps;
        loop {
            // A page that changes its place may be missed without the lock.
            let found = self.find(mapping, index).or_else(|| {
                let _locked = self.lock_places(mapping);
                self.find(mapping, index)
            });
            let (found, bucket) = found?;
            // A folio in the index without references is moving to other frames.
            let moving = matches!(found, Found::Folio(id) if !maps.folio_at(id).try_get());
            drop(bucket);
            if !moving {
                return Some(found);
            }
            self.world.relax();
        }
    }

    /// Replaces a locked folio in the index by slots, and puts it into the swap cache, to be
    /// written there. No entry maps it. The index's reference becomes the cache's. Returns false if
    /// there are not enough free slots in a row (Linux 7.3.4, shmem_writeout and
    /// shmem_delete_from_page_cache).
    pub(crate) fn shmem_writeout(&mut self, guard: &FolioGuard<'_>, id: FolioNr) -> bool {
        let maps = self.maps;
        let folio = guard.folio();
        debug_assert_eq!(folio.mapcount(), 0, "what is swapped out is mapped nowhere");
        let (places, swap) = (self.lock_places(folio.mapping()), self.lock_swap());
        let slot = alloc_slots(maps, &swap, guard, id);
        if let Some(first) = slot {
            unlink(maps, &mut self.lock_bucket_of(folio), id, None);
            for k in 0..E::Rules::slots_indexed(folio.nr_pages()) {
                let slot = first.nth(k);
                maps.slot(slot).entries.store(E::Rules::entries_of_index(), Relaxed);
                let place = (folio.mapping(), folio.index() + k as u64);
                self.link_slot((&places, &swap), slot, place);
            }
        }
        drop((swap, places));
        slot.is_some()
    }

    /// Takes a locked folio out of the swap cache and puts it into the index in place of its slots.
    /// Its content is there, and it is not being written. It becomes dirty, since the slots are
    /// freed. The cache's reference becomes the index's. Returns false if the index no longer has
    /// the slots (Linux 7.3.4, shmem_swapin_folio).
    pub(crate) fn shmem_take_back(&mut self, guard: &FolioGuard<'_>, id: FolioNr) -> bool {
        let maps = self.maps;
        let (folio, flags) = (guard.folio(), guard.folio().flags());
        let shmem = FolioFlags::SWAPCACHE | FolioFlags::SWAPBACKED;
        if flags & (shmem | FolioFlags::ANON) != shmem {
            return false;
        }
        debug_assert!(
            flags.contains(FolioFlags::UPTODATE)
                && !flags.intersects(FolioFlags::READING | FolioFlags::WRITEBACK),
            "no transfer goes on"
        );
        let (first, nr) = (folio.swap(), folio.nr_pages());
        let (places, swap) = (self.lock_places(folio.mapping()), self.lock_swap());
        let mut slots = maps.slots_at(first, nr).iter().enumerate();
        let ours = slots.all(|(k, slot)| slot.is_of(folio, k));
        if ours {
            for k in 0..nr {
                let slot = first.nth(k);
                self.unlink_slot((&places, &swap), slot);
                maps.slot(slot).entries.store(E::Rules::slot_entries_left(), Relaxed);
            }
            delete_from_swap_cache(maps, &swap, guard, None);
            self.link(&places, id);
            if E::Rules::taken_back_dirty() {
                guard.set(FolioFlags::DIRTY);
            }
        }
        drop((swap, places));
        ours
    }

    /// Takes the slot of a page that was swapped out out of the index; the caller frees the slot
    /// (Linux 7.3.4, shmem_free_swap). Returns false if the index no longer has it.
    pub(crate) fn shmem_forget_slot(
        &mut self,
        slot: SwapSlot,
        (mapping, index): (MappingNr, u64),
    ) -> bool {
        let (places, swap) = (self.lock_places(mapping), self.lock_swap());
        let there = self.find(mapping, index).is_some_and(|(found, _)| found == Found::Slot(slot));
        if there {
            self.unlink_slot((&places, &swap), slot);
        }
        drop((swap, places));
        there
    }
}
