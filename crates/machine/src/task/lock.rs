//! Locks that tasks take by trying, and wait for by spinning.

use super::Task;
use super::locks::{Lock, LockId};
use crate::Time;
use crate::account::{MachineActivity, count};
use crate::machine::Machine;
use crate::sched::{Status, TaskId, TaskState};
use pageout_paging::Format;
use std::fmt;
use std::rc::Rc;

/// The number of turns that a core waits before it checks that anything else can happen.
const MANY: u64 = 1 << 17;

/// A guard that gives the lock back when dropped.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct LockGuard<'x, 'a, F: Format> {
    task: &'x Task<'x, 'a, F>,
    id: LockId,
}

impl<F: Format> fmt::Debug for LockGuard<'_, '_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guard of {}", self.id)
    }
}

impl<F: Format> Drop for LockGuard<'_, '_, F> {
    fn drop(&mut self) {
        self.task.sync();
        let mut locks = self.task.machine.locks.borrow_mut();
        let lock = locks.all.get_mut(&self.id).expect("a lock that was taken");
        lock.holder = None;
    }
}

impl<F: Format> Machine<'_, F> {
    /// Returns the holder of a lock.
    pub(crate) fn holder(&self, id: LockId) -> Option<TaskId> {
        self.locks.borrow().all.get(&id).and_then(|lock| lock.holder)
    }
}

impl<'a, F: Format> Task<'_, 'a, F> {
    /// Takes a lock if it is free.
    #[inline]
    pub fn try_lock(&self, id: LockId) -> Option<LockGuard<'_, 'a, F>> {
        self.sync();
        let (core, prices) = (self.core(), &self.machine.setup.prices);
        let mut locks = self.machine.locks.borrow_mut();
        let lock = locks.all.entry(id).or_insert(Lock { holder: None, last: core.id });
        let transfer = if lock.last == core.id { Time::ZERO } else { prices.line_transfer };
        core.spend(prices.rmw + transfer);
        lock.last = core.id;
        if lock.holder.is_some() {
            return None;
        }
        lock.holder = Some(self.id);
        self.state.spins_for.set(None);
        Some(LockGuard { task: self, id })
    }

    /// Spends one turn of waiting for a lock that was not free. When the quantum is over, another
    /// task of the core gets its turn, so that a holder waiting for this very core can go on.
    ///
    /// # Panics
    /// If nothing but waiting happens any more, with a message that says who waits for what.
    pub fn relax(&self, id: LockId) {
        let price = self.machine.setup.prices.relax.max(Time::from_ps(1));
        self.core().spend(price);
        self.of_which(MachineActivity::Spin, price);
        count(&self.core().tally.spins);
        self.state.spins_for.set(Some(id));
        let mut locks = self.machine.locks.borrow_mut();
        locks.spins += 1;
        let many = locks.spins >= MANY;
        drop(locks);
        if many {
            self.check_progress();
        }
        self.cond_resched();
    }

    /// Panics if all tasks wait for each other: no event is to come, nothing happened since the
    /// last check, and every task waits.
    #[cold]
    fn check_progress(&self) {
        let machine = self.machine;
        let happened = machine.used().map(|core| core.tally.progress()).sum::<u64>();
        let mut locks = machine.locks.borrow_mut();
        locks.spins = 0;
        let moved = std::mem::replace(&mut locks.seen, happened) != happened;
        drop(locks);
        let works = |task: &Rc<TaskState>| {
            task.status.get() == Status::Runnable && task.spins_for.get().is_none()
        };
        let works = machine.tasks.borrow().iter().any(works);
        if moved || works || !machine.queue.borrow().is_quiet() {
            return;
        }
        let who = machine.waiting().unwrap_or_default();
        if std::thread::panicking() {
            eprintln!("a task that is torn down waits for ever: {who}");
            std::process::abort();
        }
        panic!("nothing but waiting for locks: {who}");
    }
}
