//! The one lock: readers or one writer, by trying. It guards atomics, so it needs no unsafe code.

use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

const WRITER: u32 = u32::MAX;

/// A lock that is tried, never waited for inside: whoever must wait loops with the environment's
/// `relax`, so that a model can schedule it.
#[derive(Debug, Default)]
pub struct Lock {
    /// Readers inside, or [`WRITER`].
    state: AtomicU32,
}

/// Held as one of any number of readers.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct ReadGuard<'a>(&'a Lock);

/// Held alone.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct WriteGuard<'a>(&'a Lock);

impl WriteGuard<'_> {
    /// Leaves the lock taken, for [`Lock::still_written`].
    #[inline]
    pub(crate) fn stay(self) {
        core::mem::forget(self);
    }
}

impl Lock {
    /// Takes the lock to read, unless a writer holds it. Readers never refuse each other.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_>> {
        let mut readers = self.state.load(Relaxed);
        while readers < WRITER - 1 {
            let taken = self.state.compare_exchange_weak(readers, readers + 1, Acquire, Relaxed);
            match taken {
                Ok(_) => return Some(ReadGuard(self)),
                Err(now) => readers = now,
            }
        }
        None
    }

    /// Takes the lock to write, unless anyone holds it.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_>> {
        let taken = self.state.compare_exchange(0, WRITER, Acquire, Relaxed);
        taken.ok().map(|_| WriteGuard(self))
    }

    /// The guard of a lock that [`WriteGuard::stay`] left taken, by whoever took it.
    #[inline]
    pub(crate) fn still_written(&self) -> WriteGuard<'_> {
        debug_assert_eq!(self.state.load(Relaxed), WRITER, "the lock was left taken");
        WriteGuard(self)
    }

    /// Takes the lock to read, calling `relax` between tries.
    #[inline]
    pub fn read(&self, relax: impl Fn()) -> ReadGuard<'_> {
        loop {
            if let Some(guard) = self.try_read() {
                return guard;
            }
            relax();
        }
    }

    /// Takes the lock to write, calling `relax` between tries.
    #[inline]
    pub fn write(&self, relax: impl Fn()) -> WriteGuard<'_> {
        loop {
            if let Some(guard) = self.try_write() {
                return guard;
            }
            relax();
        }
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.state.fetch_sub(1, Release);
    }
}

impl Drop for WriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.state.store(0, Release);
    }
}
