//! An agent's view of the world from its CPU. It hands over before each operation that others may
//! see.

use super::event_log::Event;
use super::schedule::{AgentYielder, Pause};
use super::world::World;
use pageout_exhibits::harness::Subject;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::{Env, Format, Mmu, Notifier, Order, Pfn, Pte};
use pageout_reclaim::{Backing, Frames, Io, Submitted, WriteGuard};
use pageout_sim::{Operation, Watch, WatchedTable};

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

/// The turns that an agent gives to the others before it changes a table, and the log of changes.
pub struct Turns<'a, F> {
    agent: AgentCpu<'a, F>,
    frame: Pfn,
}

impl<F> Clone for Turns<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Turns<'_, F> {}

impl<F: Format> Watch for Turns<'_, F> {
    fn before(self, operation: Operation) {
        if operation == Operation::Change {
            self.agent.pause();
        }
    }

    fn changed(self, i: usize, was: Pte, now: Pte) {
        self.agent.world.tell_change(self.agent.cpu, self.frame, i, was, now);
        self.agent.world.offer(self.frame, i);
    }
}

impl<'a, S: Subject, F: Format> Env for Ground<'a, S, F> {
    type Format = F;
    type Table = S::Table<WatchedTable<'a, F, Turns<'a, F>>>;
    type Mmu = S::Mmu<AgentCpu<'a, F>>;
    type Rules = S::Rules;
    type Observer = ();
    type TableGuard<'g>
        = WriteGuard<'a>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        let agent = self.agent;
        S::table(WatchedTable::new(agent.world.table(frame), Turns { agent, frame }))
    }

    fn mmu(&self) -> &Self::Mmu {
        &self.mmu
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'a>> {
        let lock = self.agent.world.tables.lock(frame);
        // Finding the lock taken makes no progress: an agent that waits must not keep others from
        // running.
        drop(lock.try_write()?);
        self.agent.pause();
        lock.try_write()
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
        self.agent.world.tables.alloc()
    }

    fn free_table(&self, frame: Pfn) {
        self.agent.pause();
        self.agent.world.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.agent.world.memory.borrow_mut().zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.agent.pause();
        self.agent.world.memory.borrow_mut().copy(from, to, nr);
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
        let submitted = self.agent.world.memory.borrow_mut().submit(false, io);
        self.agent.tell(|event| event.of_frames(io.pfn, io.nr as u64), "reads back");
        submitted
    }

    fn write(&self, io: Io) -> Submitted {
        self.agent.pause();
        let submitted = self.agent.world.memory.borrow_mut().submit(true, io);
        self.agent.tell(|event| event.of_frames(io.pfn, io.nr as u64), "writes out");
        submitted
    }
}

impl<S: Subject, F: Format> pageout_reclaim::World for Ground<'_, S, F> {
    /// Time stands still in a search.
    fn now_ms(&self) -> u64 {
        0
    }
}
