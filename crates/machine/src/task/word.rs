//! Words of software's locks: their lines move between cores, one move at a time.
//!
//! A line belongs to one core, or several cores share copies of it. A change takes the line from
//! all others. A core that wants the line while it moves waits until that move is over.

use super::{LockId, Task};
use crate::Time;
use crate::account::MachineActivity;
use crate::core::Doing;
use crate::core_set::{CoreId, CoreSet};
use crate::lines::Line;
use crate::machine::Machine;
use pageout_paging::Format;
use std::collections::HashMap;

/// A lock's word, by a number that the caller chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WordId(pub u64);

/// The time that a use of a word took, and where that went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WordUse {
    /// True if another core had to give up or share the line.
    pub moved: bool,
    /// The time of the access itself: the atomic, and the line's way to this core.
    pub access: Time,
    /// The time until the line was free to move.
    pub waited: Time,
}

/// A core that waits for another core's change of the word.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    core: CoreId,
    since: Time,
}

#[derive(Debug, Default)]
struct Word {
    /// The cores that have a copy.
    near: CoreSet,
    /// The core that may change its copy.
    owner: Option<CoreId>,
    /// The time from which the line may move again.
    free: Time,
    waiters: Vec<Waiter>,
}

impl Word {
    /// Reads the word, and returns the place where its line was found.
    fn read(&mut self, core: CoreId) -> Line {
        let found = match self.owner {
            _ if self.near.contains(core) => return Line::Near,
            Some(_) => Line::Transfer,
            None => Line::Far,
        };
        self.owner = self.near.is_empty().then_some(core);
        self.near.insert(core);
        found
    }

    /// Changes the word, after which no other core has a copy. Returns the place where its line was
    /// found.
    fn change(&mut self, core: CoreId) -> Line {
        let found = match self.owner {
            Some(owner) if owner == core => Line::Near,
            None if self.near.without(core).is_empty() => Line::Far,
            _ => Line::Transfer,
        };
        (self.near, self.owner) = (CoreSet::default(), Some(core));
        self.near.insert(core);
        found
    }
}

/// All words that were ever used.
#[derive(Debug, Default)]
pub(crate) struct Words(HashMap<WordId, Word>);

impl<F: Format> Machine<'_, F> {
    /// Lets the cores that wait for a change of a word go on, each with the first turn of its wait
    /// that is not before `changed`.
    fn end_waits(&self, waiters: Vec<Waiter>, changed: Time) {
        let turn = self.setup.prices.relax.max(Time::from_ps(1));
        for Waiter { core, since } in waiters {
            let turns = changed.since(since).ps().div_ceil(turn.ps()).max(1);
            self.release(self.core(core), since + turn * turns);
        }
    }
}

impl<F: Format> Task<'_, '_, F> {
    /// Changes a lock's word by an atomic operation. Cores that wait for that see it at its end.
    pub fn change_word(&self, id: WordId) -> WordUse {
        self.sync();
        let (core, prices) = (self.core(), &self.machine.setup.prices);
        let mut words = self.machine.words.borrow_mut();
        let word = words.0.entry(id).or_default();
        let used = self.use_line(word.change(core.id), prices.rmw, word.free);
        word.free = core.clock.get();
        let waiters = std::mem::take(&mut word.waiters);
        drop(words);
        if !waiters.is_empty() {
            self.machine.end_waits(waiters, core.clock.get());
            self.machine.set_horizons(core);
        }
        used
    }

    /// Waits until another core has changed a lock's word that this core read or changed last, and
    /// reads the word again. The wait takes whole turns, but no turn is a step of the machine.
    pub fn await_word(&self, id: WordId) -> WordUse {
        self.sync();
        let (core, prices) = (self.core(), &self.machine.setup.prices);
        let (since, stolen) = (core.clock.get(), core.stolen.get());
        let mut words = self.machine.words.borrow_mut();
        let word = words.0.entry(id).or_default();
        let unchanged = word.near.contains(core.id);
        if unchanged {
            word.waiters.push(Waiter { core: core.id, since });
        }
        drop(words);
        if unchanged {
            self.state.spins_for.set(Some(LockId::ANY));
            core.doing.set(Doing::Stalled);
            self.suspend();
            self.state.spins_for.set(None);
        } else {
            self.spend(prices.relax);
        }
        let waited = core.clock.get() - since - (core.stolen.get() - stolen);
        self.of_which(MachineActivity::Spin, waited);
        let mut words = self.machine.words.borrow_mut();
        let word = words.0.entry(id).or_default();
        let found = word.read(core.id);
        let used = self.use_line(found, Time::ZERO, word.free);
        // Copies of a line that no core may change can be made at the same time.
        if found == Line::Transfer {
            word.free = core.clock.get();
        }
        WordUse { waited: used.waited + waited, ..used }
    }

    /// Spends the time of an access that found the line at a place, from which it can move at the
    /// time `free`.
    fn use_line(&self, found: Line, atomic: Time, free: Time) -> WordUse {
        let (now, prices) = (self.now(), &self.machine.setup.prices);
        let near = found == Line::Near;
        let waited = if near { Time::ZERO } else { free.max(now) - now };
        let access = found.software(prices) + atomic;
        self.spend(waited + access);
        self.of_which(MachineActivity::Word, waited + access);
        WordUse { moved: found == Line::Transfer, access, waited }
    }
}
