//! The MMU as a task sees it.

use super::Task;
use crate::account::{MachineActivity, count};
use crate::core::Doing;
use crate::platform::{Invalidation, InvalidationPrices};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::{Format, Mmu};

impl<F: Format> Task<'_, '_, F> {
    /// Does what takes time on this core, some of it perhaps spent waiting for others, and notes
    /// how long it took.
    fn timed(&self, own: MachineActivity, act: impl FnOnce()) {
        let begun = (self.now(), self.core().stolen.get());
        act();
        let stolen = self.core().stolen.get() - begun.1;
        self.of_which(own, self.now() - begun.0 - stolen);
    }

    fn complete(&self) {
        let (machine, core) = (self.machine, self.core());
        match (machine.setup.shape.invalidation, &machine.setup.prices.invalidation) {
            (Invalidation::Broadcast(shape), InvalidationPrices::Broadcast(prices)) => {
                machine.dsb(core, shape, prices, true);
            }
            (Invalidation::Ipi(shape), InvalidationPrices::Ipi(prices)) => {
                let mut pending = self.state.pending.borrow_mut();
                machine.shoot_down(core, shape, prices, &mut pending);
            }
            _ => unreachable!("prices of the shape's architecture"),
        }
        if core.doing.get() == Doing::Stalled {
            self.suspend();
        }
    }
}

impl<F: Format> Mmu for Task<'_, '_, F> {
    fn caps(&self) -> Caps {
        self.machine.caps
    }

    fn invalidate(&self, what: Invalidate) {
        self.sync();
        let (machine, core) = (self.machine, self.core());
        match (machine.setup.shape.invalidation, &machine.setup.prices.invalidation) {
            (Invalidation::Broadcast(shape), InvalidationPrices::Broadcast(prices)) => {
                self.timed(MachineActivity::Invalidate, || {
                    machine.broadcast(core, shape, prices, what);
                });
            }
            _ => self.state.pending.borrow_mut().queued.push(what),
        }
    }

    fn barrier(&self, barrier: Barrier) {
        self.sync();
        match (barrier, &self.machine.setup.prices.invalidation) {
            (Barrier::Complete, _) => self.timed(MachineActivity::Wait, || self.complete()),
            (Barrier::Publish, InvalidationPrices::Broadcast(prices)) => {
                self.timed(MachineActivity::Wait, || self.machine.publish(self.core(), prices));
            }
            (Barrier::Publish, InvalidationPrices::Ipi(_)) => {}
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.sync();
        let core = self.core();
        let nr = match what {
            Invalidate::Range { nr, .. } => nr as u64,
            Invalidate::AddressSpace(_) | Invalidate::Everything => 1,
        };
        let cost = match &self.machine.setup.prices.invalidation {
            // TLBI between DSB NSHST and DSB NSH.
            InvalidationPrices::Broadcast(prices) => prices.tlbi_issue * nr + prices.dsb_idle * 2,
            InvalidationPrices::Ipi(prices) => match what {
                Invalidate::Range { .. } => prices.flush_entry * nr,
                _ => prices.flush_full,
            },
        };
        count(&core.tally.local_entries);
        core.tlb.borrow_mut().forget(what, core.clock.get());
        self.timed(MachineActivity::Invalidate, || self.spend(cost));
    }

    fn remote(&self, asid: Asid) -> bool {
        match self.machine.setup.shape.invalidation {
            Invalidation::Broadcast(_) => true,
            Invalidation::Ipi(_) => {
                self.sync();
                self.machine.remote(self.core(), asid)
            }
        }
    }

    fn defer(&self, asid: Asid) {
        if let Invalidation::Ipi(_) = self.machine.setup.shape.invalidation {
            self.sync();
            self.machine.defer(&mut self.state.pending.borrow_mut(), asid);
        }
    }
}
