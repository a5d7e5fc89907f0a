//! Entries of the engine's tables: taking them and giving them back.

use crate::engine::Engine;
use crate::guards::Write;
use crate::id::FolioNr;
use crate::mm_state::FreeList;
use crate::rank::Rank;
use core::ops::Range;
use core::sync::atomic::AtomicU32;
use pageout_paging::Env;

/// The number of new entries that one hold of the lock makes free.
const NEW_ENTRIES: usize = 64;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes a free entry of the table of folios.
    pub(crate) fn take_folio(&self) -> Option<FolioNr> {
        let maps = self.maps;
        self.take_entry(&maps.folios.free, |i| &maps.folios.table[i as usize].mapping).map(FolioNr)
    }

    /// Makes folios' entries free, under one hold of the lock.
    #[inline]
    pub(crate) fn put_folios(&mut self, folios: impl Iterator<Item = FolioNr>) {
        let maps = self.maps;
        let _guard = self.lock_write(Rank::FreeList, &maps.free);
        for id in folios {
            let folio = maps.folio_at(id);
            folio.end_generation();
            maps.folios.free.put(&folio.mapping, id.0);
        }
    }

    /// Takes the first entry of a free list. `next` finds an entry's link.
    pub(crate) fn take_entry<'a>(
        &self,
        from: &FreeList,
        next: impl Fn(u32) -> &'a AtomicU32,
    ) -> Option<u32> {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free);
        from.take(next)
    }

    /// Locks the free lists of all tables.
    pub(crate) fn lock_free_lists(&self) -> Write<'e, E> {
        self.lock_write(Rank::FreeList, &self.maps.free)
    }

    /// Puts new entries on their free list, some under each hold of the lock. `link` finds an
    /// entry's link.
    pub(crate) fn put_new<'a>(
        &self,
        to: &FreeList,
        mut numbers: Range<u32>,
        link: impl Fn(u32) -> &'a AtomicU32,
    ) {
        while !numbers.is_empty() {
            let _guard = self.lock_free_lists();
            numbers.by_ref().rev().take(NEW_ENTRIES).for_each(|id| to.put(link(id), id));
        }
    }

    /// Gives an entry back to its free list.
    pub(crate) fn put_entry(&self, to: &FreeList, link: &AtomicU32, id: u32) {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free);
        to.put(link, id);
    }
}
