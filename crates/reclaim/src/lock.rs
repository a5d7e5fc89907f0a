//! The one lock, for readers or one writer, and a queue before it. They guard atomics, so they need
//! no unsafe code.

use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A writer is inside.
const WRITER: u32 = 1 << 30;
/// A task waits that no other may overtake.
const AWAITED: u32 = 1 << 31;

/// A lock that only tries, and never waits inside. A caller that must wait loops with the
/// environment's `relax`, so that a model can schedule it.
///
/// Nobody enters before a task that waits in [`Lock::read`] or [`Lock::write`]. A thread that reads
/// must therefore not take the same lock to read again. Those that wait have no order among
/// themselves.
#[derive(Debug, Default)]
pub struct Lock {
    /// The number of readers inside, or [`WRITER`]; with [`AWAITED`] or without.
    state: AtomicU32,
}

/// The tasks that wait while a guard exists, and the action when it is dropped.
pub trait Wake {
    /// True if they sleep until they are woken, so that none of them may be missed. Otherwise they
    /// look at the lock again and again.
    const SLEEPS: bool;
    /// Wakes all that sleep until `word` changes.
    fn wake(&self, _word: &AtomicU32) {}
}

impl Wake for () {
    const SLEEPS: bool = false;
}

/// The guard of a reader. There may be any number of them.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct ReadGuard<'a, W: Wake = ()> {
    lock: &'a Lock,
    wake: W,
}

/// The guard of the only writer.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct WriteGuard<'a, W: Wake = ()> {
    lock: &'a Lock,
    wake: W,
}

impl WriteGuard<'_> {
    /// Leaves the lock taken, for [`Lock::still_written`].
    #[inline]
    pub(crate) fn stay(self) {
        core::mem::forget(self);
    }
}

impl Lock {
    /// Takes the lock to read, unless a writer holds it or somebody waits for it. Readers do not
    /// exclude each other.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_>> {
        self.try_to_read(())
    }

    /// Takes the lock to write, unless anyone holds it or waits for it.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_>> {
        self.try_to_write(())
    }

    /// Returns the guard of a lock that the caller left taken by [`WriteGuard::stay`].
    #[inline]
    pub(crate) fn still_written(&self) -> WriteGuard<'_> {
        debug_assert_eq!(self.state.load(Relaxed), WRITER, "the lock was left taken");
        WriteGuard { lock: self, wake: () }
    }

    /// Takes the lock to read, calling `relax` between tries. Nobody who comes later enters before.
    #[inline]
    pub fn read(&self, relax: impl Fn()) -> ReadGuard<'_> {
        self.try_read().unwrap_or_else(|| {
            self.enter(Access::Read, || false, |_, _| relax());
            ReadGuard { lock: self, wake: () }
        })
    }

    /// Takes the lock to write, calling `relax` between tries. Nobody who comes later enters
    /// before.
    #[inline]
    pub fn write(&self, relax: impl Fn()) -> WriteGuard<'_> {
        self.try_write().unwrap_or_else(|| {
            self.enter(Access::Write, || false, |_, _| relax());
            WriteGuard { lock: self, wake: () }
        })
    }

    #[inline]
    fn try_to_read<W: Wake>(&self, wake: W) -> Option<ReadGuard<'_, W>> {
        let mut readers = self.state.load(Relaxed);
        while readers < WRITER - 1 {
            let taken = self.state.compare_exchange_weak(readers, readers + 1, Acquire, Relaxed);
            match taken {
                Ok(_) => return Some(ReadGuard { lock: self, wake }),
                Err(now) => readers = now,
            }
        }
        None
    }

    #[inline]
    fn try_to_write<W: Wake>(&self, wake: W) -> Option<WriteGuard<'_, W>> {
        let taken = self.state.compare_exchange(0, WRITER, Acquire, Relaxed);
        taken.ok().map(|_| WriteGuard { lock: self, wake })
    }

    /// Waits until the lock can be taken, and takes it. While it waits, nobody enters who only
    /// tries; nor after it if `others` wait then. `wait` gets the word that must change, and its
    /// value.
    #[cold]
    fn enter(&self, access: Access, others: impl Fn() -> bool, wait: impl Fn(&AtomicU32, u32)) {
        let (most, added) = match access {
            Access::Read => (WRITER - 2, 1),
            Access::Write => (0, WRITER),
        };
        let change =
            |now, next, order| self.state.compare_exchange(now, next, order, Relaxed).is_ok();
        loop {
            let now = self.state.load(Relaxed);
            let inside = now & !AWAITED;
            if inside <= most {
                let mark = if others() { AWAITED } else { 0 };
                if change(now, inside + added + mark, Acquire) {
                    return;
                }
            } else if now & AWAITED != 0 || change(now, now | AWAITED, Relaxed) {
                wait(&self.state, now | AWAITED);
            }
        }
    }
}

/// The ways to hold a lock.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

impl<W: Wake> Drop for ReadGuard<'_, W> {
    #[inline]
    fn drop(&mut self) {
        let before = self.lock.state.fetch_sub(1, Release);
        if W::SLEEPS && before & AWAITED != 0 {
            self.wake.wake(&self.lock.state);
        }
    }
}

impl<W: Wake> Drop for WriteGuard<'_, W> {
    #[inline]
    fn drop(&mut self) {
        let state = &self.lock.state;
        if !W::SLEEPS {
            // Cheaper than one operation. A mark that is set in between is lost, and whoever set it
            // finds that when it looks next.
            state.store(state.load(Relaxed) & AWAITED, Release);
        } else if state.fetch_and(AWAITED, Release) & AWAITED != 0 {
            self.wake.wake(state);
        }
    }
}

/// A lock whose waiters enter in the order in which they came, if their environment asks for that.
/// At most 65,535 may wait at once.
///
/// Waiters stand in a queue by tickets, and the first of them waits for the lock itself, as in
/// queued locks of kernels. Without waiters it costs as much as a [`Lock`].
#[derive(Debug, Default)]
pub(crate) struct QueuedLock {
    lock: Lock,
    /// The number of tickets handed out, in the low half, and of those served, in the high one.
    tickets: AtomicU32,
}

const SERVED: u32 = 16;
const HANDED_OUT: u32 = (1 << SERVED) - 1;

/// The behaviour of a task that waits for a [`QueuedLock`].
pub(crate) struct Waiter<W, F> {
    /// True if it stands in the queue.
    pub(crate) in_order: bool,
    /// The action of its guard.
    pub(crate) wake: W,
    /// Waits for a word to change that has the given value.
    pub(crate) wait: F,
}

impl QueuedLock {
    /// Returns the lock without its queue, to try it. Nobody gets it so while others wait.
    #[inline]
    pub(crate) fn unqueued(&self) -> &Lock {
        &self.lock
    }

    /// Takes the lock to read, unless a writer holds it or somebody waits for it. The guard calls
    /// `wake` when it is dropped.
    #[inline]
    pub(crate) fn try_read<W: Wake>(&self, wake: W) -> Option<ReadGuard<'_, W>> {
        self.lock.try_to_read(wake)
    }

    /// Takes the lock to read.
    #[inline]
    pub(crate) fn read<W: Wake + Copy, F: Fn(&AtomicU32, u32)>(
        &self,
        waiter: Waiter<W, F>,
    ) -> ReadGuard<'_, W> {
        let wake = waiter.wake;
        self.lock.try_to_read(wake).unwrap_or_else(|| {
            self.queue(Access::Read, waiter);
            ReadGuard { lock: &self.lock, wake }
        })
    }

    /// Takes the lock to write.
    #[inline]
    pub(crate) fn write<W: Wake + Copy, F: Fn(&AtomicU32, u32)>(
        &self,
        waiter: Waiter<W, F>,
    ) -> WriteGuard<'_, W> {
        let wake = waiter.wake;
        self.lock.try_to_write(wake).unwrap_or_else(|| {
            self.queue(Access::Write, waiter);
            WriteGuard { lock: &self.lock, wake }
        })
    }

    #[cold]
    fn queue<W: Wake, F: Fn(&AtomicU32, u32)>(&self, access: Access, waiter: Waiter<W, F>) {
        let Waiter { in_order, wake, wait } = waiter;
        if !in_order {
            return self.lock.enter(access, || false, wait);
        }
        let hand_out = |tickets: u32| {
            let handed_out = tickets.wrapping_add(1) & HANDED_OUT;
            Some(tickets & !HANDED_OUT | handed_out)
        };
        let before = self.tickets.fetch_update(Acquire, Relaxed, hand_out);
        let ticket = before.unwrap_or_else(|same| same) & HANDED_OUT;
        loop {
            let now = self.tickets.load(Acquire);
            if now >> SERVED == ticket {
                break;
            }
            wait(&self.tickets, now);
        }
        let after = (ticket + 1) & HANDED_OUT;
        let others = || self.tickets.load(Relaxed) & HANDED_OUT != after;
        self.lock.enter(access, others, wait);
        let before = self.tickets.fetch_add(1 << SERVED, Release);
        if before & HANDED_OUT != after {
            wake.wake(&self.tickets);
        }
    }
}

#[cfg(test)]
mod tests;
