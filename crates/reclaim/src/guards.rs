//! The engine's guards: every lock is taken together with its rank.

use crate::engine::Engine;
use crate::folio::FolioGuard;
use crate::id::FolioNr;
use crate::lock::{Lock, ReadGuard, WriteGuard};
use crate::noted::{Noted, Reading, Writing};
use crate::rank::{Rank, Ranked};
use pageout_paging::walk::{MappedWalk, RmapTarget};
use pageout_paging::{Env, LockedTable, Pfn};

/// The guard of a lock for reading, with its rank.
pub(crate) type Read<'e, E> = Noted<'e, E, Ranked<'e, ReadGuard<'e>>>;
/// The guard of a lock for writing, with its rank.
pub(crate) type Write<'e, E> = Noted<'e, E, Ranked<'e, WriteGuard<'e>>>;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes a lock to read.
    #[inline]
    pub(crate) fn lock_read(&self, rank: Rank, lock: &'e Lock) -> Read<'e, E> {
        let held = self.ranks.enter(rank);
        Reading::read(self.world, rank, lock).map(|guard| held.with(guard))
    }

    /// Takes a lock to write.
    #[inline]
    pub(crate) fn lock_write(&self, rank: Rank, lock: &'e Lock) -> Write<'e, E> {
        let held = self.ranks.enter(rank);
        Writing::write(self.world, rank, lock).map(|guard| held.with(guard))
    }

    /// Takes a lock to read, unless a writer holds it.
    #[inline]
    pub(crate) fn try_lock_read(&self, rank: Rank, lock: &'e Lock) -> Option<Read<'e, E>> {
        let held = self.ranks.enter(rank);
        let taken = Reading::try_read(self.world, rank, lock)?;
        Some(taken.map(|guard| held.with(guard)))
    }

    /// Takes a folio's lock, and waits for it. No holder keeps it long.
    pub(crate) fn lock_folio(&self, id: FolioNr) -> Ranked<'e, FolioGuard<'e>> {
        loop {
            if let Some(guard) = self.try_lock_folio(id) {
                return guard;
            }
            self.world.relax();
        }
    }

    /// Takes a folio's lock if it is free.
    #[inline]
    pub(crate) fn try_lock_folio(&self, id: FolioNr) -> Option<Ranked<'e, FolioGuard<'e>>> {
        let rank = self.ranks.enter(Rank::Folio);
        self.maps.folio_at(id).try_lock().map(|guard| rank.with(guard))
    }

    /// Takes the lock of the page table in `frame`.
    #[inline]
    pub(crate) fn lock_table(&self, frame: Pfn) -> Ranked<'e, LockedTable<'e, E>> {
        let rank = self.ranks.enter(Rank::PageTable);
        rank.with(LockedTable::lock(self.world, frame))
    }

    /// Begins a walk over the entries that map a folio. It takes the locks of page tables.
    #[inline]
    pub(crate) fn walk_mapped(&self, target: RmapTarget) -> Ranked<'e, MappedWalk<'e, E>> {
        let rank = self.ranks.enter(Rank::PageTable);
        rank.with(MappedWalk::new(self.world, target))
    }
}
