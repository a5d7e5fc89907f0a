//! Locks whose events the environment's observer sees.

use crate::lock::{Lock, ReadGuard, WriteGuard};
use crate::rank::Rank;
use core::ops::{Deref, DerefMut};
use core::ptr;
use pageout_paging::{Env, LockEvent, LockWord, Observer};

/// A lock as the observer knows it.
struct Note<'e, E: Env> {
    env: &'e E,
    word: LockWord,
}

/// A note that the lock is held: the observer sees its release when this is dropped.
struct Release<'e, E: Env>(Note<'e, E>);

/// The guard of a lock. Dropping it shows the release to the observer, and then releases the lock.
#[must_use = "the lock is released when this is dropped"]
pub(crate) struct Noted<'e, E: Env, G> {
    // In this order: the observer sees the release while the lock is still held.
    release: Release<'e, E>,
    guard: G,
}

/// A guard for reading.
pub(crate) type Reading<'e, E> = Noted<'e, E, ReadGuard<'e>>;
/// A guard for writing.
pub(crate) type Writing<'e, E> = Noted<'e, E, WriteGuard<'e>>;

impl<'e, E: Env> Note<'e, E> {
    #[inline]
    fn of(env: &'e E, rank: Rank, lock: &Lock, shared: bool) -> Self {
        let number = ptr::from_ref(lock).addr();
        Self { env, word: LockWord { rank: rank.name(), number, shared } }
    }

    #[inline]
    fn event(&self, event: LockEvent) {
        self.env.observer().lock(event, self.word);
    }

    /// Waits after a try that failed, and announces the next.
    #[inline]
    fn wait(&self) {
        self.event(LockEvent::Wait);
        self.env.relax();
        self.event(LockEvent::Try);
    }

    #[inline]
    fn held<G>(self, guard: G) -> Noted<'e, E, G> {
        self.event(LockEvent::Hold);
        Noted { release: Release(self), guard }
    }
}

impl<'e, E: Env> Reading<'e, E> {
    /// Takes a lock to read, and waits for it.
    #[inline]
    pub(crate) fn read(env: &'e E, rank: Rank, lock: &'e Lock) -> Self {
        let note = Note::of(env, rank, lock, true);
        note.event(LockEvent::Try);
        let guard = lock.read(|| note.wait());
        note.held(guard)
    }

    /// Takes a lock to read, unless a writer holds it.
    #[inline]
    pub(crate) fn try_read(env: &'e E, rank: Rank, lock: &'e Lock) -> Option<Self> {
        let note = Note::of(env, rank, lock, true);
        note.event(LockEvent::Try);
        lock.try_read().map(|guard| note.held(guard))
    }
}

impl<'e, E: Env> Writing<'e, E> {
    /// Takes a lock to write, and waits for it.
    #[inline]
    pub(crate) fn write(env: &'e E, rank: Rank, lock: &'e Lock) -> Self {
        let note = Note::of(env, rank, lock, false);
        note.event(LockEvent::Try);
        let guard = lock.write(|| note.wait());
        note.held(guard)
    }
}

impl<'e, E: Env, G> Noted<'e, E, G> {
    /// Puts the guard into another.
    #[inline]
    pub(crate) fn map<H>(self, outer: impl FnOnce(G) -> H) -> Noted<'e, E, H> {
        let Self { release, guard } = self;
        Noted { release, guard: outer(guard) }
    }
}

impl<E: Env, G> Deref for Noted<'_, E, G> {
    type Target = G;

    #[inline]
    fn deref(&self) -> &G {
        &self.guard
    }
}

impl<E: Env, G> DerefMut for Noted<'_, E, G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G {
        &mut self.guard
    }
}

impl<E: Env> Drop for Release<'_, E> {
    #[inline]
    fn drop(&mut self) {
        self.0.event(LockEvent::Release);
    }
}
