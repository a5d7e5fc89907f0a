//! Allocation and freeing of swap slots, and the swap cache.

use super::Slot;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::id::{FolioId, FolioNr, MappingId, MappingNr, MemcgNr, NONE, SwapSlot};
use crate::lock::WriteGuard;
use crate::memory::{BadId, TableKind};
use crate::mm_state::MmState;
use crate::noted::Noted;
use crate::page_cache::cache::shadow::Shadow;
use crate::page_cache::cache::{Exists, IndexError};
use crate::rank::{Rank, Ranked};
use core::num::NonZeroU64;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

/// The reason why the entries of a swap slot were not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SlotError {
    /// A slot is out of range.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A slot is free, or no entry names it.
    #[error("a slot is free, or no entry names it")]
    Free,
    /// A slot is named by as many entries as can be counted (ENOMEM).
    #[error("the number of entries that name a swap slot is at its maximum")]
    Full,
}

impl MmState<'_> {
    /// Returns the number of free swap slots (the kernel's `get_nr_swap_pages`).
    #[inline]
    pub fn free_slots(&self) -> usize {
        self.stored.free_slots.load(Relaxed) as usize
    }

    /// Returns the cgroup that the page in a slot was charged to.
    pub(crate) fn slot_memcg(&self, slot: SwapSlot) -> MemcgNr {
        MemcgNr(self.stored.slots[slot.0 as usize].memcg.load(Relaxed))
    }

    /// Returns the number of page-table entries that name a slot, or 1 if the index of shared
    /// memory does.
    ///
    /// # Errors
    /// [`BadId`] if it is out of range.
    pub fn slot_entries(&self, slot: SwapSlot) -> Result<u32, BadId> {
        self.check_slots(slot, 1)?;
        Ok(self.nr_slot_entries(slot))
    }

    #[inline]
    pub(crate) fn nr_slot_entries(&self, slot: SwapSlot) -> u32 {
        self.slot(slot).entries.load(Relaxed).into()
    }

    /// Returns the page of shared memory that is in a slot, if one is.
    ///
    /// # Errors
    /// [`BadId`] if it is out of range.
    pub fn slot_shmem(&self, slot: SwapSlot) -> Result<Option<(MappingId, u64)>, BadId> {
        self.check_slots(slot, 1)?;
        let slot = self.slot(slot);
        let mapping = slot.mapping.load(Relaxed);
        let page = || (self.mapping_id(MappingNr(mapping)), slot.index.load(Relaxed));
        Ok((mapping != NONE).then(page))
    }

    /// Checks that a caller's slots are in the table.
    fn check_slots(&self, first: SwapSlot, nr: usize) -> Result<(), BadId> {
        let left = self.stored.slots.len().checked_sub(first.0 as usize);
        let there = left.is_some_and(|left| nr <= left && left > 0);
        there.then_some(()).ok_or(BadId(TableKind::Slots))
    }

    #[inline]
    pub(in crate::page_cache) fn slot(&self, slot: SwapSlot) -> &Slot {
        &self.stored.slots[slot.0 as usize]
    }

    #[inline]
    pub(in crate::page_cache) fn slots_at(&self, slot: SwapSlot, nr: usize) -> &[Slot] {
        &self.stored.slots[slot.0 as usize..][..nr]
    }

    /// Charges the slots of a cgroup to another one.
    pub(crate) fn move_slots(&self, from: MemcgNr, to: MemcgNr) {
        for slot in self.stored.slots {
            let _ = slot.memcg.compare_exchange(from.0, to.0, Relaxed, Relaxed);
        }
    }

    /// Returns true if anonymous folios can be swapped out.
    pub(crate) fn can_reclaim_anon(&self) -> bool {
        self.free_slots() > 0
    }

    /// Returns true if there is swap at all, so that anonymous folios are worth aging.
    pub(crate) fn can_age_anon(&self) -> bool {
        !self.stored.slots.is_empty()
    }

    fn release_slot(&self, slot: &Slot) {
        slot.shadow.store(0, Relaxed);
        self.stored.free_slots.store(self.stored.free_slots.load(Relaxed) + 1, Relaxed);
    }
}

/// The lock of the swap cache and the swap slots, held.
#[derive(Debug)]
pub(crate) struct SwapLocked<'e> {
    _lock: Ranked<'e, WriteGuard<'e>>,
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the lock of the swap cache and the swap slots.
    #[inline]
    pub(crate) fn lock_swap(&self) -> Noted<'e, E, SwapLocked<'e>> {
        let lock = self.lock_write(Rank::Swap, &self.maps.stored.swap);
        lock.map(|lock| SwapLocked { _lock: lock })
    }
}

impl<E: Env> Engine<'_, E> {
    /// Allocates slots for a locked anonymous folio and puts it into the swap cache, where it is
    /// not yet. The cache takes a reference, and the folio is dirty, since its slots have no
    /// content yet. Returns false if there are not enough free slots in a row.
    pub(crate) fn add_to_swap(&mut self, guard: &FolioGuard<'_>, id: FolioNr) -> bool {
        let locked = self.lock_swap();
        let first = alloc_slots(self.maps, &locked, guard, id);
        if first.is_some() {
            guard.folio().get(1);
        }
        drop(locked);
        first.is_some()
    }
}

/// Puts a locked folio into the swap cache, with newly allocated slots. The caller gives the cache
/// a reference (Linux 7.3.4, folio_alloc_swap).
pub(in crate::page_cache) fn alloc_slots(
    maps: &MmState<'_>,
    _: &SwapLocked<'_>,
    guard: &FolioGuard<'_>,
    id: FolioNr,
) -> Option<SwapSlot> {
    let folio = guard.folio();
    debug_assert!(!folio.flags().contains(FolioFlags::SWAPCACHE), "in the swap cache once");
    let nr = folio.nr_pages();
    let first = find_free(maps, nr)?;
    for slot in maps.slots_at(first, nr) {
        slot.memcg.store(folio.memcg().0, Relaxed);
        slot.folio.store(id.0, Relaxed);
    }
    let left = maps.stored.free_slots.load(Relaxed) - nr as u32;
    maps.stored.free_slots.store(left, Relaxed);
    folio.set_swap(first);
    guard.set(FolioFlags::SWAPCACHE | FolioFlags::DIRTY);
    Some(first)
}

/// Finds `nr` free slots in a row, aligned to their number. The search begins where the last one
/// ended.
fn find_free(maps: &MmState<'_>, nr: usize) -> Option<SwapSlot> {
    if (maps.stored.free_slots.load(Relaxed) as usize) < nr {
        return None;
    }
    let runs = maps.stored.slots.len() / nr;
    let cursor = maps.stored.slot_cursor.load(Relaxed) as usize / nr;
    let free = |run: &usize| maps.stored.slots[run * nr..(run + 1) * nr].iter().all(Slot::is_free);
    let first = (cursor..runs).chain(0..cursor.min(runs)).find(free)? * nr;
    maps.stored.slot_cursor.store((first + nr) as u32, Relaxed);
    Some(SwapSlot(first as u32))
}

impl<E: Env> Engine<'_, E> {
    /// Counts one more entry for each of `nr` slots that are in use.
    ///
    /// # Errors
    /// [`SlotError::BadId`], [`SlotError::Free`] and [`SlotError::Full`]; nothing is changed then.
    pub fn swap_dup_entries(&mut self, slot: SwapSlot, nr: usize) -> Result<(), SlotError> {
        self.maps.check_slots(slot, nr)?;
        if self.maps.slots_at(slot, nr).iter().any(Slot::is_free) {
            return Err(SlotError::Free);
        }
        self.dup_entries(slot, nr).then_some(()).ok_or(SlotError::Full)
    }

    /// Counts one more entry for each of `nr` slots. Returns false and changes nothing if one of
    /// them already has as many as can be counted (ENOMEM).
    pub(crate) fn dup_entries(&mut self, slot: SwapSlot, nr: usize) -> bool {
        let locked = self.lock_swap();
        let slots = self.maps.slots_at(slot, nr);
        let room = slots.iter().all(|slot| slot.entries.load(Relaxed) < u16::MAX);
        if room {
            for slot in slots {
                debug_assert!(!slot.is_free(), "a slot that an entry is to name is in use");
                slot.entries.store(slot.entries.load(Relaxed) + 1, Relaxed);
            }
        }
        drop(locked);
        room
    }

    /// Counts one entry less for each of `nr` slots, and frees those that are no longer used.
    ///
    /// # Errors
    /// [`SlotError::BadId`], and [`SlotError::Free`] if no entry names one of the slots; nothing is
    /// changed then.
    pub fn swap_put_entries(&mut self, slot: SwapSlot, nr: usize) -> Result<(), SlotError> {
        self.maps.check_slots(slot, nr)?;
        let named = |slot: &Slot| slot.entries.load(Relaxed) > 0;
        if !self.maps.slots_at(slot, nr).iter().all(named) {
            return Err(SlotError::Free);
        }
        self.put_entries(slot, nr);
        Ok(())
    }

    /// Counts one entry less for each of `nr` slots that entries name.
    pub(crate) fn put_entries(&mut self, slot: SwapSlot, nr: usize) {
        let maps = self.maps;
        let locked = self.lock_swap();
        for slot in maps.slots_at(slot, nr) {
            let entries = slot.entries.load(Relaxed);
            assert!(entries > 0, "an entry that is taken out was counted");
            slot.entries.store(entries - 1, Relaxed);
            if slot.is_free() {
                maps.release_slot(slot);
            }
        }
        drop(locked);
    }

    /// Returns the folio that the swap cache has for a slot, with a reference that the caller
    /// drops. The slot's page in it is at the slot's distance from
    /// [`Folio::swap`](crate::Folio::swap).
    ///
    /// # Errors
    /// [`BadId`] if the slot is out of range.
    pub fn swap_cache_get_folio(&mut self, slot: SwapSlot) -> Result<Option<FolioId>, BadId> {
        self.maps.check_slots(slot, 1)?;
        Ok(self.swap_cache_get(slot).map(|nr| self.maps.folio_id(nr)))
    }

    /// Finds a folio in the swap cache, by a slot that is in range.
    pub(crate) fn swap_cache_get(&mut self, slot: SwapSlot) -> Option<FolioNr> {
        let maps = self.maps;
        let locked = self.lock_swap();
        let id = maps.slot(slot).folio.load(Relaxed);
        let found = (id != NONE && maps.folio_at(FolioNr(id)).try_get()).then_some(FolioNr(id));
        drop(locked);
        found
    }

    /// Puts a locked folio into the swap cache, to be read from slots that entries name, or the
    /// index of shared memory. The cache takes a reference. Returns the shadow of the page that was
    /// last evicted there, and forgets it.
    ///
    /// # Errors
    /// [`IndexError::Exists`] if the cache already has a folio for one of the slots, if no entry
    /// names a slot any more, or if it now has another page; [`IndexError::BadId`] also if `id` is
    /// not the folio that `guard` has locked. Nothing is changed then.
    pub fn swap_cache_add_folio(
        &mut self,
        guard: &FolioGuard<'_>,
        id: FolioId,
        slot: SwapSlot,
    ) -> Result<Option<Shadow>, IndexError> {
        let nr = self.maps.locked_nr(guard, id)?;
        self.maps.check_slots(slot, guard.folio().nr_pages())?;
        Ok(self.swap_cache_add_at(guard, nr, slot)?)
    }

    /// Puts a locked folio into the swap cache, by its entry and by slots that are in range.
    pub(crate) fn swap_cache_add_at(
        &mut self,
        guard: &FolioGuard<'_>,
        id: FolioNr,
        slot: SwapSlot,
    ) -> Result<Option<Shadow>, Exists> {
        let folio = guard.folio();
        let slots = self.maps.slots_at(slot, folio.nr_pages());
        let locked = self.lock_swap();
        let awaited = |(k, slot): (usize, &Slot)| {
            slot.folio.load(Relaxed) == NONE && !slot.is_free() && slot.is_of(folio, k)
        };
        let done = if slots.iter().enumerate().all(awaited) {
            let mut shadow = None;
            for slot in slots {
                slot.folio.store(id.0, Relaxed);
                shadow = NonZeroU64::new(slot.shadow.load(Relaxed)).map(Shadow).or(shadow);
                slot.shadow.store(0, Relaxed);
            }
            folio.set_swap(slot);
            folio.get(1);
            guard.set(FolioFlags::SWAPCACHE);
            Ok(shadow)
        } else {
            Err(Exists)
        };
        drop(locked);
        done
    }

    /// Takes a locked folio out of the swap cache and frees its slots, unless entries name them or
    /// a transfer is in progress. The folio is dirty then, and the cache's reference is dropped.
    /// Returns true if the folio is not in the cache any more. The caller holds a reference.
    pub fn try_to_free_swap(&mut self, guard: &FolioGuard<'_>) -> bool {
        let maps = self.maps;
        let folio = guard.folio();
        if !folio.flags().contains(FolioFlags::SWAPCACHE) {
            return true;
        }
        if folio.flags().intersects(FolioFlags::WRITEBACK | FolioFlags::READING) {
            return false;
        }
        let locked = self.lock_swap();
        let slots = maps.slots_at(folio.swap(), folio.nr_pages());
        let free = slots.iter().all(|slot| slot.entries.load(Relaxed) == 0);
        if free {
            delete_from_swap_cache(maps, &locked, guard, None);
            guard.set(FolioFlags::DIRTY);
        }
        drop(locked);
        if free {
            let last = folio.put(1);
            debug_assert!(!last, "the caller holds a reference");
        }
        free
    }
}

/// Takes a locked folio out of the swap cache. Leaves a shadow in slots that entries name, and
/// frees the others. The cache's reference passes to the caller.
pub(crate) fn delete_from_swap_cache(
    maps: &MmState<'_>,
    _: &SwapLocked<'_>,
    guard: &FolioGuard<'_>,
    shadow: Option<Shadow>,
) {
    let folio = guard.folio();
    for slot in maps.slots_at(folio.swap(), folio.nr_pages()) {
        slot.folio.store(NONE, Relaxed);
        if slot.is_free() {
            maps.release_slot(slot);
        } else {
            slot.shadow.store(shadow.map_or(0, |shadow| shadow.0.get()), Relaxed);
        }
    }
    guard.test_and_clear(FolioFlags::SWAPCACHE);
}
