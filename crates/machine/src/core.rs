//! Cores: what each has.

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

/// What a core does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    /// No task is there to run.
    Idle,
    /// Its current task runs, or does so when its turn comes.
    Running,
    /// It waits for an answer of other cores, running nothing else.
    Stalled,
}

/// One core.
pub(crate) struct Core<'a, F: Format> {
    pub(crate) id: CoreId,
    /// How far it has come. Of an idle core: when it became idle.
    pub(crate) clock: Cell<Time>,
    /// Until when it is busy with interrupts and other cores' invalidations.
    pub(crate) busy_until: Cell<Time>,
    /// What these took of it so far.
    pub(crate) stolen: Cell<Time>,
    pub(crate) doing: Cell<Doing>,
    pub(crate) current: Cell<Option<TaskId>>,
    /// Tasks that could run here.
    pub(crate) queue: RefCell<VecDeque<TaskId>>,
    /// When others may have it.
    pub(crate) quantum_end: Cell<Time>,
    pub(crate) tlb: RefCell<Tlb<'a, F>>,
    /// What it runs in user mode.
    pub(crate) loaded: RefCell<Loaded>,
    /// Invalidations that came and are not applied yet, the oldest first.
    pub(crate) held: RefCell<VecDeque<Message>>,
    /// When its own invalidations that are still on their way arrive everywhere.
    pub(crate) in_flight: RefCell<VecDeque<Time>>,
    /// It has issued invalidations since its last barrier.
    pub(crate) issued: Cell<bool>,
    /// When it issued the last of them.
    pub(crate) last_issued: Cell<Time>,
    /// True if the next DSB ISHST may still have to wait for them.
    pub(crate) dense: Cell<bool>,
    /// When its barrier is done, if no other core has to be waited for.
    pub(crate) barrier_done: Cell<Time>,
    /// When the last of its device accesses is done.
    pub(crate) devices_done: Cell<Time>,
    pub(crate) tally: Tally,
    /// Where its time went, other than into tasks.
    pub(crate) idle: Cell<Time>,
    pub(crate) switching: Cell<Time>,
    /// What tasks had of it.
    pub(crate) worked: Cell<Time>,
    /// Up to where its time was charged, without what was stolen.
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

    /// Its task goes on so much later.
    #[inline]
    pub(crate) fn spend(&self, time: Time) {
        self.clock.set(self.clock.get() + time);
    }

    /// Its time that is not charged to anything yet, without what was stolen: now it is.
    pub(crate) fn take_time(&self) -> Time {
        let own = self.clock.get() - self.stolen.get();
        own - self.charged.replace(own)
    }

    /// Where its time went until `end`.
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

    /// A core that did nothing from its clock on begins to do something, at `now` if it may.
    pub(crate) fn end_idleness(&self, now: Time) {
        self.clock.set(self.clock.get().max(now).max(self.busy_until.get()));
        self.idle.set(self.idle.get() + self.take_time());
    }

    /// An invalidation of another core takes `cost` at `at`; nothing of a core that is idle.
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

    /// From `at` on, after what it is busy with already, the core gives `cost` to what came from
    /// outside; when that is done.
    pub(crate) fn steal(&self, at: Time, cost: Time) -> Time {
        let done = self.busy_until.get().max(at) + cost;
        self.busy_until.set(done);
        self.stolen.set(self.stolen.get() + cost);
        // Before its clock the core is at something even if it waits, or has nothing to do, after.
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
    /// Moved by every invalidation by interrupts (Linux 7.3.4 on x86, tlb_gen).
    pub(crate) generation: u64,
    /// Cores that may hold translations and are to be told (mm_cpumask).
    pub(crate) cores: CoreSet,
    /// When cores that no longer run it are next interrupted all the same, to leave the set.
    pub(crate) next_trim: Time,
    /// Of which generation its hardware identifier is; 0: it has none yet (arm64).
    pub(crate) asid_generation: u64,
}
