//! An agent's view of the world from its CPU. It hands over before each operation that others may
//! see.

use super::event_log::Event;
use super::schedule::{AgentYielder, Pause};
use super::world::World;
use pageout_exhibits::harness::Subject;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::{HostTable, LINE};
use pageout_paging::{Env, Format, Mmu, Notifier, Order, Pfn, Pte, Table};
use pageout_reclaim::{Backing, Frames, Io, Submitted};

/// A CPU and the agent on it. Before the agents start there is no yielder.
pub struct AgentCpu<'a, F> {
    /// The world.
    pub world: &'a World<F>,
    /// The yielder to hand over by.
    pub yielder: Option<&'a AgentYielder>,
    /// The CPU.
    pub cpu: usize,
}

impl<F> Clone for AgentCpu<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for AgentCpu<'_, F> {}

impl<F: Format> AgentCpu<'_, F> {
    /// Lets other agents run first.
    pub fn pause(&self) {
        self.hand_over(Pause::Step);
    }

    /// Returns one of `options` things that hardware may do next.
    pub fn choose(&self, options: usize) -> usize {
        match options {
            1 => 0,
            _ => self.hand_over(Pause::Choice(options as u8)).into(),
        }
    }

    /// Lets other agents run, since only they can end what this agent waits for.
    pub fn wait(&self) {
        self.hand_over(Pause::Blocked);
    }

    fn hand_over(&self, pause: Pause) -> u8 {
        self.yielder.map_or(0, |yielder| yielder.suspend(pause))
    }

    /// Logs an event of this CPU.
    pub fn tell(&self, event: impl FnOnce(Event) -> Event, verb: &'static str) {
        self.world.tell(|| event(Event::plain(Some(self.cpu), verb)));
    }
}

/// The ground of an agent, on which the engine runs under `S`.
pub struct Ground<'a, S: Subject, F: Format> {
    agent: AgentCpu<'a, F>,
    mmu: S::Mmu<AgentCpu<'a, F>>,
}

impl<'a, S: Subject, F: Format> Ground<'a, S, F> {
    /// Returns the ground of an agent.
    pub fn new(agent: AgentCpu<'a, F>) -> Self {
        Self { agent, mmu: S::mmu(agent) }
    }

    /// Returns the agent.
    pub fn agent(&self) -> AgentCpu<'a, F> {
        self.agent
    }
}

impl<F: Format> Mmu for AgentCpu<'_, F> {
    fn caps(&self) -> Caps {
        Caps { shootdown: self.world.machine.shootdown, ..Caps::IDEAL }
    }

    fn invalidate(&self, what: Invalidate) {
        self.pause();
        self.world.invalidate(self.cpu, what);
    }

    fn barrier(&self, barrier: Barrier) {
        if barrier == Barrier::Complete {
            self.pause();
            self.world.complete(self.cpu);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.pause();
        self.world.invalidate_local(self.cpu, what);
    }
}

/// A handle to a table.
pub struct AgentTable<'a, F> {
    agent: AgentCpu<'a, F>,
    table: HostTable<'a, F>,
    frame: Pfn,
}

impl<F> Clone for AgentTable<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for AgentTable<'_, F> {}

impl<F: Format> AgentTable<'_, F> {
    /// Changes entry `i` after the other agents had their turn, and logs the change.
    fn change<R>(self, i: usize, change: impl FnOnce() -> R) -> R {
        self.agent.pause();
        let old = self.table.load(i);
        let result = change();
        let new = self.table.load(i);
        if old != new {
            self.agent.world.tell_change(self.agent.cpu, self.frame, i, old, new);
            self.agent.world.offer(self.frame, i);
        }
        result
    }
}

impl<F: Format> Table for AgentTable<'_, F> {
    fn load(self, i: usize) -> Pte {
        self.table.load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.table.line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.change(i, || self.table.test_and_clear_bit(i, bit))
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.change(i, || self.table.clear_bits(i, bits));
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.change(i, || self.table.cas(i, old, new))
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.change(i, || self.table.swap(i, new))
    }

    fn set(self, i: usize, pte: Pte) {
        self.change(i, || self.table.set(i, pte));
    }

    fn prefetch_write(self, _i: usize) {}
}

/// A table's lock, held.
pub struct Guard<'a, F: Format> {
    agent: AgentCpu<'a, F>,
    frame: Pfn,
}

impl<F: Format> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        self.agent.world.lock_of(self.frame).set(false);
    }
}

impl<'a, S: Subject, F: Format> Env for Ground<'a, S, F> {
    type Format = F;
    type Table = S::Table<AgentTable<'a, F>>;
    type Mmu = S::Mmu<AgentCpu<'a, F>>;
    type Rules = S::Rules;
    type Observer = ();
    type TableGuard<'g>
        = Guard<'a, F>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        let agent = self.agent;
        S::table(AgentTable { agent, table: agent.world.table(frame), frame })
    }

    fn mmu(&self) -> &Self::Mmu {
        &self.mmu
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<Guard<'a, F>> {
        let lock = self.agent.world.lock_of(frame);
        // Finding the lock taken makes no progress: an agent that waits must not keep others from
        // running.
        if lock.get() {
            return None;
        }
        self.agent.pause();
        let free = !lock.replace(true);
        free.then(|| Guard { agent: self.agent, frame })
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        self.agent.wait();
    }
}

impl<S: Subject, F: Format> Frames for Ground<'_, S, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.agent.pause();
        let pfn = self.agent.world.memory.borrow_mut().alloc(order)?;
        self.agent.tell(|event| event.of_frames(pfn, order.nr_pages() as u64), "takes");
        Some(pfn)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.agent.pause();
        self.agent.world.free(self.agent.cpu, pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.agent.world.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.agent.pause();
        self.agent.world.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.agent.world.memory.borrow_mut().zero(pfn, nr as u64);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.agent.pause();
        self.agent.world.memory.borrow_mut().copy(from, to, nr as u64);
        let note = format!(" to frame {}", to.get());
        self.agent.tell(|event| event.of_frames(from, nr as u64).noting(note), "copies");
    }

    fn free_pages(&self) -> usize {
        self.agent.world.memory.borrow().free_pages()
    }
}

impl<S: Subject, F: Format> Backing for Ground<'_, S, F> {
    fn read(&self, io: Io) -> Submitted {
        self.agent.pause();
        self.agent.world.memory.borrow_mut().read(io.place, io.pfn, io.nr as u64);
        self.agent.tell(|event| event.of_frames(io.pfn, io.nr as u64), "reads back");
        Submitted::Done
    }

    fn write(&self, io: Io) -> Submitted {
        self.agent.pause();
        self.agent.world.memory.borrow_mut().write(io.place, io.pfn, io.nr as u64);
        self.agent.tell(|event| event.of_frames(io.pfn, io.nr as u64), "writes out");
        Submitted::Done
    }
}

impl<S: Subject, F: Format> pageout_reclaim::World for Ground<'_, S, F> {
    /// Time stands still in a search.
    fn now_ms(&self) -> u64 {
        0
    }
}
