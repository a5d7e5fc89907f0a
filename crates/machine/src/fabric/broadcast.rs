//! Invalidations that hardware broadcasts to every core (arm64 TLBI and DSB).

use super::range::operations;
use super::{Machine, Message, Traffic};
use crate::Time;
use crate::account::count;
use crate::core::{Core, Doing};
use crate::core_set::CoreId;
use crate::platform::{Broadcast, BroadcastPrices, Publish};
use crate::sched::Event;
use pageout_paging::Format;
use pageout_paging::mmu::Invalidate;

impl<F: Format> Machine<'_, F> {
    /// Issues an invalidation, which arrives everywhere, on the issuer too, after the propagation.
    pub(crate) fn broadcast(
        &self,
        core: &Core<'_, F>,
        shape: Broadcast,
        prices: &BroadcastPrices,
        what: Invalidate,
    ) {
        let mut in_flight = core.in_flight.borrow_mut();
        while in_flight.front().is_some_and(|arrival| *arrival <= core.clock.get()) {
            in_flight.pop_front();
        }
        core.issued.set(true);
        core.dense.set(true);
        for what in operations::<F>(what, shape.range_operations) {
            core.spend(prices.tlbi_issue);
            core.last_issued.set(core.clock.get());
            let arrival = core.clock.get() + prices.propagation;
            in_flight.push_back(arrival);
            count(&core.tally.broadcasts);
            self.sends(core.clock.get(), Traffic::Message);
            self.tell(arrival, Event::Arrive(Message { issuer: core.id, what }));
        }
    }

    /// Delivers an invalidation to every core.
    pub(crate) fn arrive(
        &self,
        now: Time,
        message: Message,
        shape: Broadcast,
        prices: &BroadcastPrices,
    ) {
        for core in self.used() {
            if shape.hold == 0 {
                self.obey(core, message, now, prices);
                continue;
            }
            let mut held = core.held.borrow_mut();
            held.push_back(message);
            if held.len() > usize::from(shape.hold) {
                let oldest = held.pop_front().expect("one was pushed");
                count(&core.tally.overflows);
                self.obey(core, oldest, now, prices);
            }
        }
    }

    /// Applies an invalidation on a core, which takes time of it if another core issued it.
    #[inline]
    fn obey(&self, core: &Core<'_, F>, message: Message, now: Time, prices: &BroadcastPrices) {
        if core.id != message.issuer {
            core.snoop(now, prices.snoop);
        }
        self.apply(core, message.what, now);
    }

    /// Executes a DSB ISHST, which orders stores to tables before the TLBI that follows. No other
    /// core notices it. A later DSB ISH still finds outstanding the invalidations that this one
    /// waited for.
    pub(crate) fn publish(&self, core: &Core<'_, F>, prices: &BroadcastPrices) {
        let now = core.clock.get();
        let done = match prices.publish {
            Publish::RoundTrip => now + prices.dsb_base,
            Publish::Outstanding if core.dense.get() => {
                let latency = prices.latency(self.setup.shape.cores, 1);
                (now + prices.dsb_idle).max(core.last_issued.get() + latency)
            }
            Publish::Outstanding => now + prices.dsb_idle,
        };
        core.clock.set(done);
    }

    /// Executes a DSB ISH, which ends when every core has applied what this core issued.
    /// Invalidations of other cores may be outstanding still. The last invalidation has been under
    /// way since it was issued. The interconnect begins one barrier after the other. The core is
    /// stalled if there is something to wait for and `wait` is true.
    pub(crate) fn dsb(
        &self,
        core: &Core<'_, F>,
        shape: Broadcast,
        prices: &BroadcastPrices,
        wait: bool,
    ) {
        let now = core.clock.get();
        core.dense.set(false);
        let devices = if shape.waits_for_devices { core.devices_done.get() } else { Time::ZERO };
        if !core.issued.replace(false) {
            count(&core.tally.idle_barriers);
            core.clock.set(devices.max(now + prices.dsb_idle));
            return;
        }
        count(&core.tally.barriers);
        let mut in_flight = core.in_flight.borrow_mut();
        let last = in_flight.back().copied().unwrap_or_default();
        let under_way = in_flight.drain(..).filter(|arrival| *arrival > now).count();
        let outstanding = under_way + self.held_at_most(core.id);
        let latency = prices.latency(self.setup.shape.cores, outstanding as u64);
        let begun = core.last_issued.get().max(self.barrier_free.get());
        self.sends(begun.max(now), Traffic::Wait);
        self.barrier_free.set(begun + prices.dsb_serial.min(latency));
        core.barrier_done.set(devices.max(now + prices.dsb_idle).max(begun + latency));
        if wait {
            core.doing.set(Doing::Stalled);
        }
        let arrival = last.max(begun + prices.propagation).max(now);
        self.tell(arrival, Event::Sync(core.id, wait));
    }

    /// Delivers a barrier of `issuer` to every core. Each applies what it holds of the issuer's
    /// invalidations. The barrier ends once all are through with what came to them.
    pub(crate) fn sync(&self, now: Time, issuer: CoreId, wait: bool, prices: &BroadcastPrices) {
        let issuer = &self.cores[usize::from(issuer.0)];
        let mut done = issuer.barrier_done.get();
        for core in self.used() {
            core.held.borrow_mut().retain(|message| {
                let its = message.issuer == issuer.id;
                if its {
                    self.obey(core, *message, now, prices);
                }
                !its
            });
            if core.id != issuer.id {
                core.snoop(now, prices.dsb_snoop);
                done = done.max(core.busy_until.get());
            }
        }
        if wait {
            self.release(issuer, done);
        }
    }

    /// Returns the largest number of invalidations of one issuer that any core holds.
    fn held_at_most(&self, issuer: CoreId) -> usize {
        let of = |core: &Core<'_, F>| {
            core.held.borrow().iter().filter(|message| message.issuer == issuer).count()
        };
        self.used().map(of).max().unwrap_or(0)
    }
}
