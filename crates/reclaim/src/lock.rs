//! The one lock, for readers or one writer. It guards atomics, so it needs no unsafe code.

use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

const WRITER: u32 = u32::MAX;
/// A writer waits for the readers inside to leave.
const AWAITED: u32 = 1 << 31;

/// A lock that only tries, and never waits inside. A caller that must wait loops with the
/// environment's `relax`, so that a model can schedule it.
///
/// Readers that keep coming do not starve a writer: while one waits in [`Lock::write`], no further
/// reader enters. A thread that reads must therefore not take the same lock to read again.
#[derive(Debug, Default)]
pub struct Lock {
    /// The number of readers inside, with [`AWAITED`] or without; or [`WRITER`].
    state: AtomicU32,
}

/// The guard of a reader. There may be any number of them.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct ReadGuard<'a>(&'a Lock);

/// The guard of the only writer.
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
    /// Takes the lock to read, unless a writer holds it or waits for it. Readers do not exclude
    /// each other.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_>> {
        let mut readers = self.state.load(Relaxed);
        while readers < AWAITED - 1 {
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

    /// Returns the guard of a lock that the caller left taken by [`WriteGuard::stay`].
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

    /// Takes the lock to write, calling `relax` between tries. Readers that come later wait.
    #[inline]
    pub fn write(&self, relax: impl Fn()) -> WriteGuard<'_> {
        match self.try_write() {
            Some(guard) => guard,
            None => self.wait_to_write(relax),
        }
    }

    #[cold]
    fn wait_to_write(&self, relax: impl Fn()) -> WriteGuard<'_> {
        loop {
            let now = self.state.load(Relaxed);
            match now {
                0 | AWAITED => {
                    if self.state.compare_exchange(now, WRITER, Acquire, Relaxed).is_ok() {
                        return WriteGuard(self);
                    }
                }
                WRITER => {}
                // A reader that came or left meanwhile is met at the next try.
                readers => {
                    let awaited = readers | AWAITED;
                    let _ = self.state.compare_exchange(readers, awaited, Relaxed, Relaxed);
                }
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
