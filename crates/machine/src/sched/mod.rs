//! Scheduling: tasks as coroutines, cores' turns, quanta, idleness.

mod place;
mod queue;
mod run;
mod state;

pub(crate) use queue::{Event, Queue};
pub(crate) use run::TaskYielder;
pub use run::{Body, TaskSpec};
pub use state::TaskId;
pub(crate) use state::{Status, TaskState};

use crate::Time;
use crate::core::{Core, Doing};
use crate::core_set::CoreId;
use crate::machine::Machine;
use crate::platform::{Invalidation, InvalidationPrices};
use pageout_paging::Format;
use queue::Next;

impl<'a, F: Format> Machine<'a, F> {
    /// Lets everything happen that comes before a core's next turn, and returns that core. `None`
    /// says that nothing will ever happen.
    pub(crate) fn next_turn(&self) -> Option<CoreId> {
        loop {
            let next = self.queue.borrow_mut().pop()?;
            match next {
                Next::Event(now, event) => self.happen(now, event),
                Next::Turn(time, id) => {
                    let clock = self.core(id).clock.get();
                    if clock == time {
                        return Some(id);
                    }
                    // Other cores took time of this one meanwhile.
                    self.queue.borrow_mut().wait(clock, id);
                }
            }
        }
    }

    /// Sets how far the core whose turn it is may go.
    pub(crate) fn set_horizons(&self, core: &Core<'a, F>) {
        let horizon = self.queue.borrow().horizon(core.id);
        self.horizon.set(horizon);
        let alone = core.queue.borrow().is_empty();
        self.user_horizon.set(if alone { horizon } else { horizon.min(core.quantum_end.get()) });
    }

    fn happen(&self, now: Time, event: Event) {
        self.note(now, || format!("{event:?}"));
        match (event, self.setup.shape.invalidation, &self.setup.prices.invalidation) {
            (Event::Wake(id), ..) => self.woken(now, id),
            (Event::Timer(id), ..) => {
                let task = self.task(id);
                debug_assert!(matches!(task.status.get(), Status::Until(at) if at == now));
                self.runnable(now, id);
            }
            (
                Event::Arrive(message),
                Invalidation::Broadcast(shape),
                InvalidationPrices::Broadcast(prices),
            ) => self.arrive(now, message, shape, prices),
            (Event::Sync(core, wait), _, InvalidationPrices::Broadcast(prices)) => {
                self.sync(now, core, wait, prices);
            }
            (Event::Interrupt(target, round), _, InvalidationPrices::Ipi(prices)) => {
                self.interrupt(now, target, round, prices);
            }
            _ => unreachable!("events of the machine's architecture"),
        }
    }

    /// Releases a stalled core, which has at `at` what it waited for.
    pub(crate) fn release(&self, core: &Core<'a, F>, at: Time) {
        debug_assert_eq!(core.doing.get(), Doing::Stalled, "{} waits", core.id);
        core.clock.set(core.clock.get().max(at).max(core.busy_until.get()));
        core.doing.set(Doing::Running);
        self.queue.borrow_mut().wait(core.clock.get(), core.id);
    }

    /// Makes a task go on if it is blocked; otherwise its next wait ends at once.
    fn woken(&self, now: Time, id: TaskId) {
        let task = self.task(id);
        match task.status.get() {
            Status::Blocked(_) => self.runnable(now, id),
            Status::Runnable | Status::Until(_) => task.token.set(true),
            Status::Done => {}
        }
    }

    /// Draws a number that the seed decides (SplitMix64).
    pub(crate) fn draw(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
