//! The placement of tasks: choosing a core, switching, stealing by idle cores.

use super::{Status, TaskId};
use crate::account::count;
use crate::core::{Core, Doing};
use crate::core_set::CoreId;
use crate::machine::Machine;
use crate::{Time, platform::Invalidation, platform::InvalidationPrices};
use pageout_paging::Format;

impl<'a, F: Format> Machine<'a, F> {
    /// Makes a task runnable from `now` on: it gets an idle core, or waits for one.
    pub(super) fn runnable(&self, now: Time, id: TaskId) {
        let task = self.task(id);
        task.status.set(Status::Runnable);
        let core = self.core(task.pinned.unwrap_or_else(|| self.choose(task.core.get())));
        if core.doing.get() == Doing::Idle {
            core.end_idleness(now);
            self.give(core, id);
        } else {
            core.queue.borrow_mut().push_back(id);
        }
    }

    /// Chooses a core for a task: its last one, if that is idle; else an idle one; else one with
    /// the fewest tasks. Of equals it takes the lowest number.
    fn choose(&self, last: CoreId) -> CoreId {
        let load = |core: &Core<'a, F>| match core.doing.get() {
            Doing::Idle => 0,
            _ => 1 + core.queue.borrow().len(),
        };
        let by = |core: &&Core<'a, F>| (load(core), core.id != last, core.id);
        self.cores.iter().min_by_key(by).map_or(last, |core| core.id)
    }

    /// Takes the core from its task: another task gets it, or it becomes idle.
    pub(crate) fn leave(&self, core: &Core<'a, F>) {
        let next = core.queue.borrow_mut().pop_front();
        if let Some(next) = next.or_else(|| self.steal_task()) {
            self.give(core, next);
            return;
        }
        core.current.set(None);
        core.spend(self.setup.prices.switch);
        count(&core.tally.switches);
        self.switch_in(core, None);
        self.barrier_of_switch(core, false);
        core.switching.set(core.switching.get() + core.take_time());
        core.doing.set(Doing::Idle);
        self.note(core.clock.get(), || format!("{} idle", core.id));
    }

    /// Takes a task that waits for another core and may leave it: the last of the longest queue.
    fn steal_task(&self) -> Option<TaskId> {
        let free = |id: &TaskId| self.task(*id).pinned.is_none();
        let waiting = self.used().filter(|core| core.queue.borrow().iter().any(free));
        let busiest =
            waiting.max_by_key(|core| (core.queue.borrow().len(), u16::MAX - core.id.0))?;
        let mut queue = busiest.queue.borrow_mut();
        let last = queue.iter().rposition(free)?;
        queue.remove(last)
    }

    /// Switches the core to a task. The time that takes is charged when the task goes on.
    pub(crate) fn give(&self, core: &Core<'a, F>, id: TaskId) {
        let task = self.task(id);
        let mut used = self.used.get();
        used.insert(core.id);
        self.used.set(used);
        if task.core.replace(core.id) != core.id {
            count(&core.tally.migrations);
        }
        count(&core.tally.switches);
        core.doing.set(Doing::Running);
        core.current.set(Some(id));
        task.switched.set(true);
        self.note(core.clock.get(), || format!("{} runs {}", core.id, task.name));
        core.spend(self.setup.prices.switch);
        self.switch_in(core, task.mm.get());
        self.barrier_of_switch(core, true);
        self.begin_quantum(core);
        if core.doing.get() == Doing::Running {
            self.queue.borrow_mut().wait(core.clock.get(), core.id);
        }
    }

    /// Completes the core's own invalidations, as arm64 does at every switch (Linux 7.3.4,
    /// __switch_to).
    fn barrier_of_switch(&self, core: &Core<'a, F>, wait: bool) {
        if let Invalidation::Broadcast(shape) = self.setup.shape.invalidation
            && let InvalidationPrices::Broadcast(prices) = &self.setup.prices.invalidation
        {
            self.dsb(core, shape, prices, wait);
        }
    }

    /// Begins a quantum of the mean length, a quarter more or less.
    pub(crate) fn begin_quantum(&self, core: &Core<'a, F>) {
        let mean = self.setup.quantum.ps();
        let spread = (mean / 2).max(1);
        let length = mean - spread / 2 + self.draw() % spread;
        core.quantum_end.set(core.clock.get() + Time::from_ps(length));
    }
}
