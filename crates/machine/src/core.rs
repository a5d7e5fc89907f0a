//! Cores and their state.

use crate::Time;
use crate::account::{CoreTimes, Tally};
use crate::core_set::{CoreId, CoreSet};
use crate::fabric::{Loaded, Message};
use crate::sched::TaskId;
use crate::tlb::{Tlb, TlbShape};
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Pfn};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The activity of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    /// The core has no task to run.
    Idle,
    /// The core runs its current task, or will when its turn comes.
    Running,
    /// The core waits for an answer of other cores and runs nothing else.
    Stalled,
}

/// A core of the machine.
pub(crate) struct Core<'a, F: Format> {
    pub(crate) id: CoreId,
    /// The core's time so far; for an idle core, the time at which it became idle.
    pub(crate) clock: Cell<Time>,
    /// The time until which interrupts and other cores' invalidations keep it busy.
    pub(crate) busy_until: Cell<Time>,
    /// The time that interrupts and other cores' invalidations took so far.
    pub(crate) stolen: Cell<Time>,
    pub(crate) doing: Cell<Doing>,
    pub(crate) current: Cell<Option<TaskId>>,
    /// The tasks that wait for this core.
    pub(crate) queue: RefCell<VecDeque<TaskId>>,
    /// The end of the current quantum, after which other tasks may have the core.
    pub(crate) quantum_end: Cell<Time>,
    pub(crate) tlb: RefCell<Tlb<'a, F>>,
    /// The address space that the core runs in user mode, and its tags.
    pub(crate) loaded: RefCell<Loaded>,
    /// The invalidations that arrived and are not applied yet, the oldest first.
    pub(crate) held: RefCell<VecDeque<Message>>,
    /// The times at which the core's own invalidations that are still on their way arrive
    /// everywhere.
    pub(crate) in_flight: RefCell<VecDeque<Time>>,
    /// True if the core has issued invalidations since its last barrier.
    pub(crate) issued: Cell<bool>,
    /// The time at which the core issued the last invalidation.
    pub(crate) last_issued: Cell<Time>,
    /// True if the next DSB ISHST may still have to wait for issued invalidations.
    pub(crate) dense: Cell<bool>,
    /// The time at which the core's barrier is done if no other core has to be waited for.
    pub(crate) barrier_done: Cell<Time>,
    /// The time at which the last of its device accesses is done.
    pub(crate) devices_done: Cell<Time>,
    pub(crate) tally: Tally,
    /// The time spent idle.
    pub(crate) idle: Cell<Time>,
    pub(crate) switching: Cell<Time>,
    /// The time spent on tasks.
    pub(crate) worked: Cell<Time>,
    /// The time up to which everything is charged, without what was stolen.
    charged: Cell<Time>,
}

impl<'a, F: Format> Core<'a, F> {
    pub(crate) fn new(id: CoreId, tlb: &TlbShape, tables: HostTables<'a, F>, slots: u8) -> Self {
        Self {
            id,
            clock: Cell::default(),
            busy_until: Cell::default(),
            stolen: Cell::default(),
            doing: Cell::new(Doing::Idle),
            current: Cell::new(None),
            queue: RefCell::default(),
            quantum_end: Cell::default(),
            tlb: RefCell::new(Tlb::new(tlb, tables)),
            loaded: RefCell::new(Loaded::new(slots)),
            held: RefCell::default(),
            in_flight: RefCell::default(),
            issued: Cell::new(false),
            last_issued: Cell::default(),
            dense: Cell::new(false),
            barrier_done: Cell::default(),
            devices_done: Cell::default(),
            tally: Tally::default(),
            idle: Cell::default(),
            switching: Cell::default(),
            worked: Cell::default(),
            charged: Cell::default(),
        }
    }

    /// Advances the core's clock, and so its task, by `time`.
    #[inline]
    pub(crate) fn spend(&self, time: Time) {
        self.clock.set(self.clock.get() + time);
    }

    /// Returns the time that is not charged yet, without what was stolen, and takes it as charged.
    pub(crate) fn take_time(&self) -> Time {
        let own = self.clock.get() - self.stolen.get();
        own - self.charged.replace(own)
    }

    /// Returns how the core's time was spent until `end`.
    pub(crate) fn times(&self, end: Time) -> CoreTimes {
        let idle = match self.doing.get() {
            Doing::Idle => end - self.stolen.get() - self.charged.get(),
            Doing::Running | Doing::Stalled => Time::ZERO,
        };
        CoreTimes {
            worked: self.worked.get(),
            switching: self.switching.get(),
            stolen: self.stolen.get(),
            idle: self.idle.get() + idle,
        }
    }

    /// Ends a period without work, at `now` or once the core is no longer busy.
    pub(crate) fn end_idleness(&self, now: Time) {
        self.clock.set(self.clock.get().max(now).max(self.busy_until.get()));
        self.idle.set(self.idle.get() + self.take_time());
    }

    /// Handles an invalidation of another core, which takes `cost` at `at`. An idle core handles it
    /// in its idle time.
    #[inline]
    pub(crate) fn snoop(&self, at: Time, cost: Time) {
        match self.doing.get() {
            Doing::Idle if at >= self.clock.get() => {
                self.busy_until.set(self.busy_until.get().max(at) + cost);
            }
            _ => {
                self.steal(at, cost);
            }
        }
    }

    /// Gives `cost` to outside work from `at` on, after what the core is busy with already. Returns
    /// the time at which that is done.
    pub(crate) fn steal(&self, at: Time, cost: Time) -> Time {
        let done = self.busy_until.get().max(at) + cost;
        self.busy_until.set(done);
        self.stolen.set(self.stolen.get() + cost);
        // Before its clock the core is busy, even if it waits or is idle afterwards.
        if self.doing.get() == Doing::Running || at < self.clock.get() {
            self.spend(cost);
        }
        done
    }
}

/// An address space as the machine knows it.
#[derive(Debug)]
pub(crate) struct Mm {
    pub(crate) root: Pfn,
    /// The generation, which every invalidation by interrupts moves on (Linux 7.3.4 on x86,
    /// tlb_gen).
    pub(crate) generation: u64,
    /// The cores that may hold translations, which flushes are sent to (mm_cpumask).
    pub(crate) cores: CoreSet,
    /// The next time at which cores that no longer run it are interrupted too, to leave the set.
    pub(crate) next_trim: Time,
    /// The generation of the address space's hardware identifier; 0 if it has none yet (arm64).
    pub(crate) asid_generation: u64,
}
