//! Locks whose events the environment's observer sees.

use crate::rank::Rank;
use core::ops::{Deref, DerefMut};
use core::ptr;
use pageout_paging::{Env, LockEvent, LockWord, Observer};

/// A lock as the observer knows it.
pub(crate) struct Note<'e, E: Env> {
    pub(crate) env: &'e E,
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

impl<'e, E: Env> Note<'e, E> {
    /// Announces the first try.
    #[inline]
    pub(crate) fn try_of<L>(env: &'e E, rank: Rank, lock: &L, shared: bool) -> Self {
        let number = ptr::from_ref(lock).addr();
        let note = Self { env, word: LockWord { rank: rank.name(), number, shared } };
        note.event(LockEvent::Try);
        note
    }

    #[inline]
    fn event(&self, event: LockEvent) {
        self.env.observer().lock(event, self.word);
    }

    /// Waits after a try that failed, and announces the next.
    #[inline]
    pub(crate) fn wait(&self, wait: impl FnOnce(&E)) {
        self.event(LockEvent::Wait);
        wait(self.env);
        self.event(LockEvent::Try);
    }

    /// Puts the guard of the lock, which is held now, under the note.
    #[inline]
    pub(crate) fn held<G>(self, guard: G) -> Noted<'e, E, G> {
        self.event(LockEvent::Hold);
        Noted { release: Release(self), guard }
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
