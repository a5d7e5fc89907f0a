//! The engine's guards: every lock is taken together with its rank.

use crate::engine::Engine;
use crate::folio::FolioGuard;
use crate::id::FolioNr;
use crate::lock::{QueuedLock, ReadGuard, Waiter, Waiting, Wake, WriteGuard};
use crate::rank::{Rank, Ranked};
use core::sync::atomic::AtomicU32;
use pageout_paging::walk::{MappedWalk, RmapTarget};
use pageout_paging::{Env, LockedTable, Pfn};

/// The tasks that sleep until a lock is free, which the environment wakes.
#[derive(Debug)]
pub(crate) struct Sleepers<'e, E>(&'e E);

impl<'e, E> Sleepers<'e, E> {
    /// Names the environment that wakes them.
    #[inline]
    pub(crate) fn of(env: &'e E) -> Self {
        Self(env)
    }
}

impl<E> Clone for Sleepers<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Sleepers<'_, E> {}

impl<E: Env> Wake for Sleepers<'_, E> {
    const WAITING: Waiting = Waiting::Sleeping;

    fn wake(&self, word: &AtomicU32) {
        self.0.wake(word);
    }
}

#[inline]
fn spinning<E: Env>(world: &E) -> Waiter<(), impl Fn(&AtomicU32, u32)> {
    Waiter { in_order: world.locks_in_order(), wake: (), wait: |_: &AtomicU32, _| world.relax() }
}

#[inline]
fn sleeping<E: Env>(world: &E) -> Waiter<Sleepers<'_, E>, impl Fn(&AtomicU32, u32)> {
    let (in_order, wake) = (world.locks_in_order(), Sleepers::of(world));
    Waiter { in_order, wake, wait: |word: &AtomicU32, seen| world.sleep(word, seen) }
}

/// The guard of a reader of a lock that may be held long.
pub(crate) type LongRead<'e, E> = Ranked<'e, ReadGuard<'e, Sleepers<'e, E>>>;

/// The guard of the writer of a lock that may be held long.
pub(crate) type LongWrite<'e, E> = Ranked<'e, WriteGuard<'e, Sleepers<'e, E>>>;

impl<'e, E: Env> Engine<'e, E> {
    /// Takes a lock to read.
    #[inline]
    pub(crate) fn lock_read(&self, rank: Rank, lock: &'e QueuedLock) -> Ranked<'e, ReadGuard<'e>> {
        self.ranks.enter(rank).with(lock.read(spinning(self.world)))
    }

    /// Takes a lock to write.
    #[inline]
    pub(crate) fn lock_write(
        &self,
        rank: Rank,
        lock: &'e QueuedLock,
    ) -> Ranked<'e, WriteGuard<'e>> {
        self.ranks.enter(rank).with(lock.write(spinning(self.world)))
    }

    /// Takes a lock that may be held long to read, and sleeps until it is free.
    #[inline]
    pub(crate) fn lock_read_long(&self, rank: Rank, lock: &'e QueuedLock) -> LongRead<'e, E> {
        self.ranks.enter(rank).with(lock.read(sleeping(self.world)))
    }

    /// Takes a lock that may be held long to write, and sleeps until it is free.
    #[inline]
    pub(crate) fn lock_write_long(&self, rank: Rank, lock: &'e QueuedLock) -> LongWrite<'e, E> {
        self.ranks.enter(rank).with(lock.write(sleeping(self.world)))
    }

    /// Takes a lock to read, unless a writer holds it or somebody waits for it.
    #[inline]
    pub(crate) fn try_lock_read(
        &self,
        rank: Rank,
        lock: &'e QueuedLock,
    ) -> Option<Ranked<'e, ReadGuard<'e>>> {
        let rank = self.ranks.enter(rank);
        lock.unqueued().try_read().map(|guard| rank.with(guard))
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
