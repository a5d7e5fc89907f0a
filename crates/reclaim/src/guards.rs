//! The engine's guards: every lock is taken together with its rank.

use crate::engine::Engine;
use crate::folio::FolioGuard;
use crate::id::FolioNr;
use crate::lock::{QueuedLock, ReadGuard, Waiter, Wake, WriteGuard};
use crate::noted::{Note, Noted};
use crate::rank::{Rank, Ranked};
use core::sync::atomic::AtomicU32;
use pageout_paging::walk::{MappedWalk, RmapTarget};
use pageout_paging::{Env, LockedTable, Pfn};

/// The tasks that sleep until a lock is free, which the environment wakes.
#[derive(Debug)]
pub(crate) struct Sleepers<'e, E>(&'e E);

impl<E> Clone for Sleepers<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Sleepers<'_, E> {}

impl<E: Env> Wake for Sleepers<'_, E> {
    const SLEEPS: bool = true;

    fn wake(&self, word: &AtomicU32) {
        self.0.wake(word);
    }
}

#[inline]
fn spinning<E: Env>(note: &Note<'_, E>) -> Waiter<(), impl Fn(&AtomicU32, u32)> {
    let in_order = note.env.locks_in_order();
    Waiter { in_order, wake: (), wait: |_: &AtomicU32, _| note.wait(|env| env.relax()) }
}

#[inline]
fn sleeping<'e, E: Env>(note: &Note<'e, E>) -> Waiter<Sleepers<'e, E>, impl Fn(&AtomicU32, u32)> {
    let (in_order, wake) = (note.env.locks_in_order(), Sleepers(note.env));
    let wait = |word: &AtomicU32, seen| note.wait(|env| env.sleep(word, seen));
    Waiter { in_order, wake, wait }
}

/// The guard of a lock for reading, with its rank.
pub(crate) type Read<'e, E> = Noted<'e, E, Ranked<'e, ReadGuard<'e>>>;

/// The guard of a lock for writing, with its rank.
pub(crate) type Write<'e, E> = Noted<'e, E, Ranked<'e, WriteGuard<'e>>>;

/// The guard for reading of a lock that may be held long.
pub(crate) type LongRead<'e, E> = Noted<'e, E, Ranked<'e, ReadGuard<'e, Sleepers<'e, E>>>>;

/// The guard for writing of a lock that may be held long.
pub(crate) type LongWrite<'e, E> = Noted<'e, E, Ranked<'e, WriteGuard<'e, Sleepers<'e, E>>>>;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes a lock to read.
    #[inline]
    pub(crate) fn lock_read(&self, rank: Rank, lock: &'e QueuedLock) -> Read<'e, E> {
        let held = self.ranks.enter(rank);
        let note = Note::try_of(self.world, rank, lock, true);
        let guard = lock.read(spinning(&note));
        note.held(held.with(guard))
    }

    /// Takes a lock to write.
    #[inline]
    pub(crate) fn lock_write(&self, rank: Rank, lock: &'e QueuedLock) -> Write<'e, E> {
        let held = self.ranks.enter(rank);
        let note = Note::try_of(self.world, rank, lock, false);
        let guard = lock.write(spinning(&note));
        note.held(held.with(guard))
    }

    /// Takes a lock that may be held long to read, and sleeps until it is free.
    #[inline]
    pub(crate) fn lock_read_long(&self, rank: Rank, lock: &'e QueuedLock) -> LongRead<'e, E> {
        let held = self.ranks.enter(rank);
        let note = Note::try_of(self.world, rank, lock, true);
        let guard = lock.read(sleeping(&note));
        note.held(held.with(guard))
    }

    /// Takes a lock that may be held long to write, and sleeps until it is free.
    #[inline]
    pub(crate) fn lock_write_long(&self, rank: Rank, lock: &'e QueuedLock) -> LongWrite<'e, E> {
        let held = self.ranks.enter(rank);
        let note = Note::try_of(self.world, rank, lock, false);
        let guard = lock.write(sleeping(&note));
        note.held(held.with(guard))
    }

    /// Takes a lock to read, unless a writer holds it or somebody waits for it.
    #[inline]
    pub(crate) fn try_lock_read(&self, rank: Rank, lock: &'e QueuedLock) -> Option<Read<'e, E>> {
        let held = self.ranks.enter(rank);
        let note = Note::try_of(self.world, rank, lock, true);
        Some(note.held(held.with(lock.unqueued().try_read()?)))
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

/// Takes a lock that may be held long to read, unless a writer holds it or somebody waits for it. A
/// lock that is only tried has no place in the order: reclaim may run below it.
pub(crate) fn try_lock_read_long<'e, E: Env>(
    env: &'e E,
    rank: Rank,
    lock: &'e QueuedLock,
) -> Option<Noted<'e, E, ReadGuard<'e, Sleepers<'e, E>>>> {
    let note = Note::try_of(env, rank, lock, true);
    Some(note.held(lock.try_read(Sleepers(env))?))
}
