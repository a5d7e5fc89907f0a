//! An agent's view of the world from its CPU. It hands over before each operation that others may
//! see.

use super::event_log::Event;
use super::property::Property;
use super::schedule::{AgentYielder, Pause};
use super::world::World;
use pageout_exhibits::Bug;
use pageout_paging::mmu::{Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::table::{HostTable, Operation, Watch, WatchedTable, changed_by};
use pageout_paging::{Format, Pfn, Table};
use pageout_sim::{Call, Cpu, Hardware};

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
    fn change<T: Table, R>(
        self,
        _operation: Operation,
        table: T,
        i: usize,
        change: impl FnOnce(T) -> R,
    ) -> R {
        let is_torn = Bug::current() == Some(Bug::LoadAndStore);
        let loaded = is_torn.then(|| table.load(i));
        self.agent.pause();
        let (done, changed) = changed_by(table, i, |table| {
            if let Some(loaded) = loaded {
                table.set(i, loaded);
            }
            change(table)
        });
        if let Some((was, now)) = changed {
            self.agent.world.tell_change(self.agent.cpu, self.frame, i, was, now);
            self.agent.world.offer(self.frame, i);
        }
        done
    }
}

/// The ground of an agent, on which the engine runs under the rules `R`.
pub type Ground<'a, R, F> = pageout_sim::Ground<AgentCpu<'a, F>, R>;

impl<'a, F: Format> Cpu for AgentCpu<'a, F> {
    type Format = F;
    type Table = WatchedTable<HostTable<'a, F>, Turns<'a, F>>;

    fn hardware(&self) -> &Hardware {
        &self.world.hardware
    }

    fn number(&self) -> usize {
        self.cpu
    }

    fn caps(&self) -> Caps {
        Caps { shootdown: self.world.machine.shootdown, ..Caps::IDEAL }
    }

    fn table(&self, frame: Pfn) -> Self::Table {
        WatchedTable::new(self.world.table(frame), Turns { agent: *self, frame })
    }

    fn before(&self, call: Call) {
        match call {
            Call::Enter(_) | Call::Defer(_) | Call::Barrier(Barrier::Publish) => return,
            // Finding the lock taken makes no progress: an agent that waits must not keep others
            // from running.
            Call::Lock(frame) if self.world.hardware.tables.lock(frame).try_write().is_none() => {
                return;
            }
            _ => self.pause(),
        }
        if let Call::Free(pfn, order) = call {
            self.tell(|event| event.of_frames(pfn, order.nr_pages() as u64), "frees");
        }
    }

    fn after(&self, call: Call) {
        let of_frames = |pfn, nr: usize| move |event: Event| event.of_frames(pfn, nr as u64);
        match call {
            Call::Alloc(order, Some(pfn)) => self.tell(of_frames(pfn, order.nr_pages()), "takes"),
            Call::Copy { from, to, nr } => {
                let note = format!(" to frame {}", to.get());
                self.tell(|event| event.of_frames(from, nr as u64).noting(note), "copies");
            }
            Call::Read(io) => self.tell(of_frames(io.pfn, io.nr), "reads back"),
            Call::Write(io) => self.tell(of_frames(io.pfn, io.nr), "writes out"),
            Call::Invalidate(what) => self.tell_invalidated(what),
            Call::InvalidateLocal(what) => {
                self.tell(|event| self.world.of_pages(event, what), "makes its own TLB forget");
            }
            Call::Barrier(_) => self.tell(|event| event, "waits until the TLBs have forgotten"),
            _ => {}
        }
    }

    fn wrong(&self, found: String) {
        self.world.fail(Property::Accounts, found);
    }

    fn relax(&self) {
        self.wait();
    }

    fn keeps_invalidations(&self) -> bool {
        Bug::current() == Some(Bug::LocalInvalidation)
    }
}

impl<F: Format> AgentCpu<'_, F> {
    fn tell_invalidated(&self, what: Invalidate) {
        let (verb, note) = match self.world.machine.shootdown {
            Shootdown::Broadcast => ("tells all TLBs to forget", ", and does not wait"),
            Shootdown::Ipi => ("interrupts all CPUs, whose TLBs forget", ""),
        };
        self.tell(|event| self.world.of_pages(event, what).noting(note), verb);
    }
}
