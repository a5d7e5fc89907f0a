//! The queue of what happens next: events and turns of cores, the earliest first.

use super::TaskId;
use crate::Time;
use crate::core_set::CoreId;
use crate::fabric::{Message, RoundId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event that is to happen at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A task was woken ([`Task::wake`](crate::Task::wake)), or begins.
    Wake(TaskId),
    /// The time that a task waited for has come.
    Timer(TaskId),
    /// A broadcast invalidation arrives at every core.
    Arrive(Message),
    /// A core's barrier arrives at every core; true if the core is stalled until it ends.
    Sync(CoreId, bool),
    /// An interrupt arrives at a core.
    Interrupt(CoreId, RoundId),
}

struct Timed {
    time: Time,
    number: u64,
    event: Event,
}

impl Timed {
    fn key(&self) -> Reverse<(Time, u64)> {
        Reverse((self.time, self.number))
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The next thing to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Event(Time, Event),
    Turn(Time, CoreId),
}

/// The events in the order of their times, then in the order in which they were added; and the
/// cores that wait for their turn. Cores are ordered by their clocks, then by their numbers. At
/// equal times events go before turns.
#[derive(Default)]
pub(crate) struct Queue {
    events: BinaryHeap<Timed>,
    told: u64,
    turns: BinaryHeap<Reverse<(Time, CoreId)>>,
}

impl Queue {
    pub(crate) fn tell(&mut self, time: Time, event: Event) {
        self.told += 1;
        self.events.push(Timed { time, number: self.told, event });
    }

    #[inline]
    pub(crate) fn wait(&mut self, clock: Time, core: CoreId) {
        self.turns.push(Reverse((clock, core)));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Next> {
        let turn = self.turns.peek().map(|turn| turn.0.0);
        match self.events.peek() {
            Some(event) if turn.is_none_or(|turn| event.time <= turn) => {
                self.events.pop().map(|timed| Next::Event(timed.time, timed.event))
            }
            _ => self.turns.pop().map(|Reverse((time, core))| Next::Turn(time, core)),
        }
    }

    /// Returns the time before which a core whose turn it is may act, since nothing else comes
    /// before.
    #[inline]
    pub(crate) fn horizon(&self, core: CoreId) -> Time {
        let event = self.events.peek().map_or(Time::NEVER, |event| event.time);
        let turn = self.turns.peek().map_or(Time::NEVER, |Reverse((time, other))| {
            if *other < core { *time } else { *time + Time::from_ps(1) }
        });
        event.min(turn)
    }

    /// Returns true if no event is to come.
    pub(crate) fn is_quiet(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_are_in_a_defined_order() {
        let mut queue = Queue::default();
        let ps = Time::from_ps;
        queue.wait(ps(5), CoreId(3));
        queue.wait(ps(5), CoreId(1));
        queue.wait(ps(4), CoreId(9));
        for (at, task) in [(5, 7), (6, 1), (5, 2), (5, 9)] {
            queue.tell(ps(at), Event::Timer(TaskId(task)));
        }
        let event = |at, task| Next::Event(ps(at), Event::Timer(TaskId(task)));
        let turn = |at, core| Next::Turn(ps(at), CoreId(core));
        let order = std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>();
        let expected = [
            turn(4, 9),
            event(5, 7),
            event(5, 2),
            event(5, 9),
            turn(5, 1),
            turn(5, 3),
            event(6, 1),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_core_may_act_until_something_else_comes_first() {
        let mut queue = Queue::default();
        assert_eq!(queue.horizon(CoreId(0)), Time::NEVER);
        queue.wait(Time::from_ps(10), CoreId(4));
        assert_eq!(queue.horizon(CoreId(5)), Time::from_ps(10), "core 4 goes first at 10");
        assert_eq!(queue.horizon(CoreId(3)), Time::from_ps(11), "core 3 goes first at 10");
        queue.tell(Time::from_ps(10), Event::Timer(TaskId(0)));
        assert_eq!(queue.horizon(CoreId(3)), Time::from_ps(10), "an event goes before both");
    }
}
