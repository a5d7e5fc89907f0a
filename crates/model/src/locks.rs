//! The price of the kernel's locks: atomics on their words, the words' lines, and waits.
//!
//! A critical section takes the time of the priced operations in it, and no instructions of its
//! own: the efforts of software are not divided by lock. Waits are therefore lower bounds.

use pageout_experiment::formats::Arch;
use pageout_machine::{Task, TaskId, Time, WordId, WordUse};
use pageout_paging::{LockEvent, LockWord};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

/// The rank of page tables' locks, which are the environment's.
const PAGE_TABLE: &str = "page-table";

/// The uses of all locks of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockTally {
    /// The number of tries to take such a lock.
    pub tried: u64,
    /// The number of times that a task took such a lock.
    pub taken: u64,
    /// The number of times that another core gave up or shared the line of a word.
    pub moved: u64,
    /// The time of atomics, and of lines on their way.
    pub access: Time,
    /// The time of waits: for a lock that is held, and for a line that moves elsewhere.
    pub waited: Time,
}

impl LockTally {
    fn note(&mut self, used: WordUse) {
        self.moved += u64::from(used.moved);
        self.access += used.access;
        self.waited += used.waited;
    }
}

impl AddAssign for LockTally {
    fn add_assign(&mut self, other: Self) {
        self.tried += other.tried;
        self.taken += other.taken;
        self.moved += other.moved;
        self.access += other.access;
        self.waited += other.waited;
    }
}

/// The holds of one lock.
#[derive(Clone, Copy, Debug, Default)]
struct Holds {
    writer: bool,
    readers: u32,
}

impl Holds {
    /// Returns true if a reader, or else a writer, may take the lock.
    const fn admit(self, shared: bool) -> bool {
        !self.writer && (shared || self.readers == 0)
    }
}

/// The engine's locks on a machine that prices them.
#[derive(Debug, Default)]
pub struct Locks {
    tallies: RefCell<BTreeMap<(TaskId, &'static str), LockTally>>,
    holds: RefCell<HashMap<usize, Holds>>,
}

const fn word(lock: LockWord) -> WordId {
    WordId(lock.number as u64)
}

impl Locks {
    /// Returns true if no lock is held.
    pub fn are_free(&self) -> bool {
        self.holds.borrow().values().all(|holds| holds.admit(false))
    }

    /// Returns the uses by some tasks of all locks of some ranks.
    pub fn tally_of(&self, of: impl Fn(TaskId, &str) -> bool) -> LockTally {
        let mut sum = LockTally::default();
        for ((task, rank), tally) in self.tallies.borrow().iter() {
            if of(*task, rank) {
                sum += *tally;
            }
        }
        sum
    }

    fn tally(&self, task: TaskId, rank: &'static str, note: impl FnOnce(&mut LockTally)) {
        note(self.tallies.borrow_mut().entry((task, rank)).or_default());
    }

    /// Prices an event of a lock, except a wait.
    pub(super) fn note<F: Arch>(&self, task: &Task<'_, '_, F>, event: LockEvent, lock: LockWord) {
        let change = || {
            let used = task.change_word(word(lock));
            self.tally(task.id(), lock.rank, |tally| tally.note(used));
        };
        match event {
            LockEvent::Try => {
                change();
                self.tally(task.id(), lock.rank, |tally| tally.tried += 1);
            }
            LockEvent::Wait => {}
            LockEvent::Hold => {
                self.tally(task.id(), lock.rank, |tally| tally.taken += 1);
                self.hold(lock, |holds| match lock.shared {
                    true => holds.readers += 1,
                    false => holds.writer = true,
                });
            }
            LockEvent::Release => {
                change();
                self.hold(lock, |holds| match lock.shared {
                    true => holds.readers -= 1,
                    false => holds.writer = false,
                });
            }
        }
    }

    fn hold(&self, lock: LockWord, note: impl FnOnce(&mut Holds)) {
        note(self.holds.borrow_mut().entry(lock.number).or_default());
    }

    /// Waits until a lock appears to be free.
    pub(super) fn wait<F: Arch>(&self, task: &Task<'_, '_, F>, lock: LockWord) {
        let admit = || self.holds.borrow()[&lock.number].admit(lock.shared);
        loop {
            let used = task.await_word(word(lock));
            self.tally(task.id(), lock.rank, |tally| tally.note(used));
            if admit() {
                return;
            }
        }
    }

    /// Tallies a try of a page table's lock, which the machine prices.
    pub(super) fn note_table(&self, task: TaskId, taken: bool, time: Time, atomic: Time) {
        self.tally(task, PAGE_TABLE, |tally| {
            tally.tried += 1;
            tally.taken += u64::from(taken);
            tally.moved += u64::from(time > atomic);
            tally.access += time;
        });
    }

    /// Tallies a turn of a wait for a page table's lock.
    pub(super) fn note_table_wait(&self, task: TaskId, time: Time) {
        self.tally(task, PAGE_TABLE, |tally| tally.waited += time);
    }
}
