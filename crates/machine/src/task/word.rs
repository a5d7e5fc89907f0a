//! Uses of locks' words by tasks, each with its price and its turn.

use super::{LockId, Task};
use crate::Time;
use crate::account::MachineActivity;
use crate::core::Doing;
use crate::lines::Line;
use crate::machine::Machine;
use crate::words::{Waiter, WordId, WordUse};
use pageout_paging::Format;

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
        let word = words.of(id);
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
        let word = words.of(id);
        let unchanged = word.is_near(core.id);
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
        let word = words.of(id);
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
