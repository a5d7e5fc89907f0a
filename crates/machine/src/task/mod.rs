//! Tasks: the calls for software that runs on a core.

mod lock;
mod locks;
mod mmu;
mod table;
mod word;

pub use lock::LockGuard;
pub use locks::LockId;
pub(crate) use locks::Locks;
pub use table::TaskTable;

use crate::Time;
use crate::account::{Activity, MachineActivity, NodeId, count};
use crate::core::{Core, Doing};
use crate::core_set::CoreId;
use crate::machine::Machine;
use crate::platform::InvalidationPrices;
use crate::sched::{Event, Status, TaskId, TaskState, TaskYielder};
use crate::storage::Transfer;
use crate::tlb::{FaultKind, Found, PageFault, Space, Walk};
use pageout_paging::mmu::Asid;
use pageout_paging::{Format, Pfn, VirtAddr};
use std::cell::Cell;
use std::rc::Rc;

/// A task, from within: it runs on some core, and what it does takes time there.
///
/// Whatever others may see happens in the order of the cores' clocks. Kernel code is not preempted:
/// a task leaves its core only in [`access`](Self::access), [`cond_resched`](Self::cond_resched),
/// waits, and long waits for locks.
pub struct Task<'t, 'a, F: Format> {
    machine: &'t Machine<'a, F>,
    id: TaskId,
    state: Rc<TaskState>,
    core: Cell<CoreId>,
    space: Cell<Option<Space>>,
    yielder: Option<&'t TaskYielder>,
}

impl<F: Format> std::fmt::Debug for Task<'_, '_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "task {} at {}", self.state.name, self.now())
    }
}

impl<'a, F: Format> Machine<'a, F> {
    /// Makes a task on a core where nothing else runs, outside of [`Machine::run`]. It is for
    /// benches, and for tests that decide themselves what happens in which order. Time of other
    /// cores passes only as their tasks act. Dropped, it leaves its core.
    ///
    /// # Panics
    /// If the machine has no such core or it is not idle.
    pub fn alone(&self, core: CoreId) -> Task<'_, 'a, F> {
        let at = self.core(core);
        assert_eq!(at.doing.get(), Doing::Idle, "{core} is free");
        let name = format!("alone on {core}");
        let node = self.account.borrow_mut().root(&name);
        let state = Rc::new(TaskState::new(name, Some(core), core, node));
        state.status.set(Status::Runnable);
        let id = TaskId(self.tasks.borrow().len() as u32);
        self.tasks.borrow_mut().push(Rc::clone(&state));
        let mut used = self.used.get();
        used.insert(core);
        self.used.set(used);
        at.end_idleness(Time::ZERO);
        at.doing.set(Doing::Running);
        at.current.set(Some(id));
        self.begin_quantum(at);
        Task::new(self, id, state, None)
    }
}

impl<'t, 'a, F: Format> Task<'t, 'a, F> {
    /// Makes a task that has been given its core.
    pub(crate) fn new(
        machine: &'t Machine<'a, F>,
        id: TaskId,
        state: Rc<TaskState>,
        yielder: Option<&'t TaskYielder>,
    ) -> Self {
        let core = Cell::new(state.core.get());
        let task = Self { machine, id, state, core, space: Cell::new(None), yielder };
        task.go_on();
        task
    }

    /// Returns the time on the task's core.
    pub fn now(&self) -> Time {
        self.core().clock.get()
    }

    /// Returns the time on the task's core, without what interrupts and other cores' invalidations
    /// took of it.
    pub fn own_time(&self) -> Time {
        self.now() - self.core().stolen.get()
    }

    /// Returns the task's core.
    pub fn core_id(&self) -> CoreId {
        self.core().id
    }

    /// Returns the task's number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the machine it runs on.
    pub fn machine(&self) -> &'t Machine<'a, F> {
        self.machine
    }

    #[inline]
    fn core(&self) -> &'t Core<'a, F> {
        self.machine.core(self.core.get())
    }

    /// Loads the address space that it runs in user mode; context switches do so from now on.
    ///
    /// # Panics
    /// If the address space was known with another root table.
    pub fn load_mm(&self, asid: Asid, root: Pfn) {
        self.sync();
        self.machine.know(asid, root, self.now());
        self.state.mm.set(Some(asid));
        self.space.set(Some(Space { asid, root, caps: self.machine.caps }));
        self.machine.switch_in(self.core(), Some(asid));
    }

    /// Makes an access of the task's program, by the TLB or else by a walk of the tables. The walk
    /// sets accessed and dirty bits if the hardware does. Other tasks may run before it.
    ///
    /// # Errors
    /// A fault, for which the trap's price is spent.
    ///
    /// # Panics
    /// If no address space is loaded.
    #[inline]
    pub fn access(&self, at: VirtAddr, store: bool) -> Result<(), PageFault> {
        if self.core().clock.get() >= self.machine.user_horizon.get() {
            self.user_pass();
        }
        let core = self.core();
        let now = core.clock.get();
        let space = self.space.get().expect("a program has an address space");
        count(&core.tally.accesses);
        core.clock.set(now + self.machine.setup.prices.access);
        let found = core.tlb.borrow_mut().find(space.asid, at, store, now);
        match found {
            Found::L1 => Ok(()),
            found => self.access_beyond(space, at, store, found),
        }
    }

    /// Makes the rest of an access that the first TLB level has no answer to.
    fn access_beyond(
        &self,
        space: Space,
        at: VirtAddr,
        store: bool,
        found: Found,
    ) -> Result<(), PageFault> {
        let (core, prices) = (self.core(), &self.machine.setup.prices);
        let fault = match found {
            Found::L1 => None,
            Found::L2 => {
                count(&core.tally.l2_hits);
                core.spend(prices.l2_hit);
                None
            }
            Found::Fault => Some(PageFault { at, store, kind: FaultKind::Absent }),
            Found::Miss => {
                count(&core.tally.walks);
                let now = core.clock.get();
                let walk = core.tlb.borrow_mut().walk(&space, at, store, now);
                let cost = prices.walk_level * u64::from(walk.levels) + self.walked(&walk);
                core.spend(cost);
                self.of_which(MachineActivity::Walk, cost);
                walk.fault
            }
        };
        let Some(fault) = fault else { return Ok(()) };
        count(&core.tally.faults);
        core.spend(prices.fault);
        self.of_which(MachineActivity::Trap, prices.fault);
        Err(fault)
    }

    /// Returns the time of a walk beyond near reads: for the last line, and for what was changed.
    fn walked(&self, walk: &Walk) -> Time {
        let (core, prices) = (self.core.get(), &self.machine.setup.prices);
        let mut lines = self.machine.lines.borrow_mut();
        let read = lines.read(core, walk.last).walk(prices);
        let changed = walk.changed.then_some(walk.last).into_iter().chain(walk.made_table_young);
        changed.fold(read, |time, slot| time + lines.write(core, slot).walker_write(prices))
    }

    /// Returns the number of accesses, of all tasks, that stale entries of the core's TLB hid so
    /// far.
    #[inline]
    pub fn hidden_accesses(&self) -> u64 {
        self.core().tlb.borrow().hidden().accesses
    }

    /// Spends time on the task's core.
    pub fn spend(&self, time: Time) {
        self.state.spins_for.set(None);
        self.core().spend(time);
    }

    /// Runs kernel code of `nr` instructions.
    pub fn instructions(&self, nr: u64) {
        self.spend(self.machine.setup.prices.instruction * nr);
    }

    /// Begins an activity within the present one. It ends when the guard is dropped.
    #[must_use = "the activity ends when the guard is dropped"]
    pub fn activity<'x>(&'x self, name: Activity) -> ActivityGuard<'x, 'a, F> {
        let names = self.machine.setup.activities;
        let before = self.state.node.get();
        self.machine.charge(self.core(), before);
        let within = self.machine.account.borrow_mut().below(before, name, names);
        self.state.node.set(within);
        ActivityGuard { task: self, before }
    }

    #[inline]
    fn of_which(&self, own: MachineActivity, time: Time) {
        self.machine.account.borrow_mut().of_which(self.state.node.get(), own, time);
    }

    /// Returns true if the task's quantum is over and another task waits for its core.
    pub fn need_resched(&self) -> bool {
        let core = self.core();
        core.clock.get() >= core.quantum_end.get() && !core.queue.borrow().is_empty()
    }

    /// Yields the task's core to another task, if the task's quantum is over and another one waits.
    pub fn cond_resched(&self) {
        self.sync();
        if self.need_resched() {
            let core = self.core();
            self.put_off();
            core.queue.borrow_mut().push_back(self.id);
            self.machine.leave(core);
            self.suspend();
        } else if self.now() >= self.core().quantum_end.get() {
            self.machine.begin_quantum(self.core());
            self.machine.set_horizons(self.core());
        }
    }

    /// Leaves the task's core until a time; returns at once if that has come.
    pub fn wait_until(&self, time: Time) {
        self.sync();
        if time <= self.now() {
            return;
        }
        self.state.status.set(Status::Until(time));
        self.machine.tell(time, Event::Timer(self.id));
        self.give_up();
    }

    /// Leaves the task's core until another task wakes it, or returns at once if one did since the
    /// last time. If that never happens, the machine's message names `what` it waits for.
    pub fn block(&self, what: &'static str) {
        self.sync();
        if !self.state.token.take() {
            self.state.status.set(Status::Blocked(what));
            self.give_up();
        }
    }

    /// Wakes a task from [`block`](Self::block), or makes its next call of it return at once.
    pub fn wake(&self, task: TaskId) {
        self.sync();
        self.machine.tell(self.now(), Event::Wake(task));
    }

    /// Asks the storage device for a transfer, and returns the time at which it will be done. The
    /// request is a device access ([`device_access`](Self::device_access)).
    pub fn io(&self, transfer: Transfer) -> Time {
        self.sync();
        self.device_access();
        count(&self.core().tally.transfers);
        let prices = &self.machine.setup.prices;
        self.machine.storage.borrow_mut().start(prices, self.now(), transfer)
    }

    /// Writes to a device without waiting. The write is outstanding on its core for some time, and
    /// the barriers of some cores wait for it.
    pub fn device_access(&self) {
        if let InvalidationPrices::Broadcast(prices) = &self.machine.setup.prices.invalidation {
            let core = self.core();
            let begun = core.devices_done.get().max(core.clock.get());
            core.devices_done.set(begun + prices.device_access);
        }
    }

    /// Frees later DSB ISHSTs from waiting for invalidations issued so far. It is for callers whose
    /// work between two invalidations lasts longer than one, and is spent elsewhere.
    pub fn outlast_invalidations(&self) {
        self.core().dense.set(false);
    }

    /// Ends the task.
    pub(crate) fn end(&self) {
        self.sync();
        self.state.status.set(Status::Done);
        self.machine.note(self.now(), || format!("{} done", self.state.name));
        self.put_off();
        self.machine.leave(self.core());
    }

    /// Lets others go first, unless this is the earliest of all that happens.
    #[inline]
    fn sync(&self) {
        if self.core().clock.get() >= self.machine.horizon.get() {
            self.pass();
        }
    }

    #[cold]
    fn pass(&self) {
        if std::thread::panicking() {
            return; // It is being torn down: nothing goes on any more.
        }
        let core = self.core();
        self.machine.queue.borrow_mut().wait(core.clock.get(), core.id);
        self.suspend();
    }

    /// Lets others go first before an access of its program, on its own core too if its quantum is
    /// over.
    #[cold]
    fn user_pass(&self) {
        loop {
            self.sync();
            if self.core().clock.get() < self.machine.user_horizon.get() {
                return;
            }
            self.cond_resched();
        }
    }

    /// Leaves the task's core, blocked.
    fn give_up(&self) {
        self.put_off();
        self.machine.leave(self.core());
        self.suspend();
    }

    /// Charges the task's time on the core, which ends here.
    fn put_off(&self) {
        self.machine.charge(self.core(), self.state.node.get());
    }

    /// Waits for the task's turn.
    fn suspend(&self) {
        let next = self.machine.next_turn();
        let mine = next.is_some_and(|id| self.machine.core(id).current.get() == Some(self.id));
        if !mine {
            let Some(yielder) = self.yielder else {
                let why = self.machine.waiting().unwrap_or_default();
                panic!("a task that is alone waits for others: {why}");
            };
            self.machine.chosen.set(next);
            yielder.suspend(());
        }
        self.go_on();
    }

    /// Goes on, on the core that it has and whose turn it is.
    fn go_on(&self) {
        self.core.set(self.state.core.get());
        let core = self.core();
        if self.state.switched.take() {
            core.switching.set(core.switching.get() + core.take_time());
        }
        self.machine.set_horizons(core);
    }
}

impl<F: Format> Drop for Task<'_, '_, F> {
    fn drop(&mut self) {
        if self.yielder.is_none() {
            let core = self.core();
            self.put_off();
            self.state.status.set(Status::Done);
            core.current.set(None);
            core.doing.set(Doing::Idle);
        }
    }
}

/// A guard that ends an activity when dropped.
#[must_use = "the activity ends when the guard is dropped"]
pub struct ActivityGuard<'x, 'a, F: Format> {
    task: &'x Task<'x, 'a, F>,
    before: NodeId,
}

impl<F: Format> Drop for ActivityGuard<'_, '_, F> {
    fn drop(&mut self) {
        let task = self.task;
        if std::thread::panicking() {
            return;
        }
        task.machine.charge(task.core(), task.state.node.get());
        task.state.node.set(self.before);
    }
}
