//! Invalidations by interprocessor interrupts (x86, riscv), as Linux 7.3.4 does on x86:
//! generations, sets of cores, lazy cores, tags.

use super::rounds::{Flush, Pending, Round, RoundId, Rounds, TRIM_EVERY};
use super::{Machine, Traffic};
use crate::Time;
use crate::account::{count, count_by};
use crate::core::{Core, Doing};
use crate::core_set::{CoreId, CoreSet};
use crate::platform::{Ipi, IpiPrices};
use crate::sched::Event;
use pageout_paging::Format;
use pageout_paging::mmu::{Asid, Invalidate};

impl<F: Format> Machine<'_, F> {
    /// Loads an address space. Its translations are kept if it has a tag here and this core
    /// executed all flushes since (switch_mm_irqs_off).
    pub(super) fn load_ipi(&self, core: &Core<'_, F>, shape: Ipi, prices: IpiPrices, asid: Asid) {
        let mut loaded = core.loaded.borrow_mut();
        let was_lazy = std::mem::take(&mut loaded.lazy);
        let same = loaded.mm == Some(asid);
        if same && !was_lazy {
            return;
        }
        loaded.mm = Some(asid);
        let generation = self.with_mm(asid, |mm| {
            mm.cores.insert(core.id);
            mm.generation
        });
        if !same && shape.tag_slots == 0 {
            loaded.tags = vec![(asid, generation)];
            core.spend(prices.flush_full);
            count(&core.tally.local_full);
            core.tlb.borrow_mut().forget_all_but_global(core.clock.get());
            return;
        }
        match loaded.tags.iter_mut().find(|(of, _)| *of == asid) {
            Some((_, seen)) if *seen == generation => {}
            Some((_, seen)) => {
                *seen = generation;
                self.flush_all(core, prices, asid);
            }
            None => {
                let former = loaded.give_tag(asid, generation);
                self.flush_all(core, prices, former.unwrap_or(asid));
            }
        }
    }

    fn flush_all(&self, core: &Core<'_, F>, prices: IpiPrices, asid: Asid) {
        core.spend(prices.flush_full);
        count(&core.tally.local_full);
        let removed = core.tlb.borrow_mut().forget_asid(asid, core.clock.get());
        count_by(&core.tally.removed, removed as u64);
    }

    /// Notes that a flush of the address space comes later (arch_tlbbatch_add_pending).
    pub(crate) fn defer(&self, pending: &mut Pending, asid: Asid) {
        if !self.was_loaded(asid) {
            return;
        }
        let cores = self.with_mm(asid, |mm| {
            mm.generation += 1;
            mm.cores
        });
        match pending.deferred.iter_mut().find(|(of, _)| *of == asid) {
            Some((_, noted)) => *noted = noted.union(cores),
            None => pending.deferred.push((asid, cores)),
        }
    }

    /// Returns true if a core may hold anything of the address space. Reclaim reaches a child's
    /// entries through the reverse map before the child runs for the first time.
    fn was_loaded(&self, asid: Asid) -> bool {
        self.mms.borrow().contains_key(&asid.0)
    }

    /// Returns true if a core other than this one may hold translations of the address space.
    pub(crate) fn remote(&self, core: &Core<'_, F>, asid: Asid) -> bool {
        let mms = self.mms.borrow();
        mms.get(&asid.0).is_some_and(|mm| !mm.cores.without(core.id).is_empty())
    }

    /// Flushes what is queued, on this core and by one round of interrupts on others. The core is
    /// stalled if others have to answer.
    pub(crate) fn shoot_down(
        &self,
        core: &Core<'_, F>,
        shape: Ipi,
        prices: &IpiPrices,
        pending: &mut Pending,
    ) {
        if pending.queued.is_empty() {
            return;
        }
        let mut flushes = Vec::with_capacity(pending.queued.len());
        let mut told = CoreSet::default();
        for what in std::mem::take(&mut pending.queued) {
            told = told.union(self.flushes_of(core, shape, pending, what, &mut flushes));
        }
        let others = told.without(core.id);
        let left = others.len();
        let round = (left > 0).then(|| {
            count(&core.tally.rounds);
            self.sends(core.clock.get(), Traffic::Wait);
            let round = Round { issuer: core.id, flushes: flushes.clone(), left, done: Time::ZERO };
            self.rounds.borrow_mut().begin(round)
        });
        for (target, round) in others.iter().zip(round.iter().cycle()) {
            core.spend(prices.ipi_send);
            self.sends(core.clock.get(), Traffic::Message);
            let arrival = core.clock.get() + prices.ipi_latency;
            self.tell(arrival, Event::Interrupt(target, *round));
        }
        if told != others {
            let here = self.flush_here(core, prices, &flushes, core.clock.get());
            core.spend(here);
        }
        if left > 0 {
            core.doing.set(Doing::Stalled);
        }
    }

    /// Adds the flushes for one invalidation, moves generations on, and returns the cores to
    /// interrupt.
    fn flushes_of(
        &self,
        core: &Core<'_, F>,
        shape: Ipi,
        pending: &mut Pending,
        what: Invalidate,
        flushes: &mut Vec<Flush>,
    ) -> CoreSet {
        let asid = match what {
            Invalidate::Range { asid, .. } | Invalidate::AddressSpace(asid) => asid,
            Invalidate::Everything => {
                let noted = self.everything(pending);
                flushes.push(Flush { asid: None, range: None, generation: 0, latest: 0 });
                return self.spare_lazy(core, noted);
            }
        };
        if !self.was_loaded(asid) {
            return CoreSet::default();
        }
        let now = core.clock.get();
        let (generation, cores, trim) = self.with_mm(asid, |mm| {
            mm.generation += 1;
            let trim = now >= mm.next_trim;
            if trim {
                mm.next_trim = now + TRIM_EVERY;
            }
            (mm.generation, mm.cores, trim)
        });
        let ceiling = shape.full_flush_ceiling as usize;
        let few = matches!(what, Invalidate::Range { nr, .. } if nr <= ceiling);
        let asid_of = Some(asid);
        flushes.iter_mut().filter(|of| of.asid == asid_of).for_each(|of| of.latest = generation);
        let range = few.then_some(what);
        flushes.push(Flush { asid: asid_of, range, generation, latest: generation });
        let mut told = self.spare_lazy(core, cores);
        if !trim {
            let runs = |of: &CoreId| self.core(*of).loaded.borrow().mm == Some(asid);
            told.iter().filter(|of| !runs(of)).for_each(|of| told.remove(of));
        }
        if let Some(i) = pending.deferred.iter().position(|(of, _)| *of == asid)
            && !few
        {
            let (_, noted) = pending.deferred.swap_remove(i);
            told = told.union(self.spare_lazy(core, noted));
        }
        told
    }

    /// Returns the cores noted at deferrals; without any, all that may hold something of any
    /// address space.
    fn everything(&self, pending: &mut Pending) -> CoreSet {
        let deferred = std::mem::take(&mut pending.deferred);
        if !deferred.is_empty() {
            return deferred.iter().fold(CoreSet::default(), |all, (_, noted)| all.union(*noted));
        }
        let mut mms = self.mms.borrow_mut();
        mms.values_mut().fold(CoreSet::default(), |all, mm| {
            mm.generation += 1;
            all.union(mm.cores)
        })
    }

    /// Returns the cores that are not lazy; lazy ones look at the generation when they go on.
    fn spare_lazy(&self, core: &Core<'_, F>, mut cores: CoreSet) -> CoreSet {
        for of in cores.iter() {
            if self.core(of).loaded.borrow().lazy {
                cores.remove(of);
                count(&core.tally.spared_lazy);
            }
        }
        cores
    }

    /// Handles an interrupt: the target flushes and acknowledges.
    pub(crate) fn interrupt(&self, now: Time, target: CoreId, round: RoundId, prices: &IpiPrices) {
        let target = self.core(target);
        count(&target.tally.interrupts);
        let mut rounds = self.rounds.borrow_mut();
        let Rounds { all, over } = &mut *rounds;
        let (id, round) = (round, &mut all[round.0 as usize]);
        let cost = prices.ipi_handler + self.flush_here(target, prices, &round.flushes, now);
        let acknowledged = target.steal(now, cost) + prices.ipi_ack;
        round.done = round.done.max(acknowledged);
        round.left -= 1;
        if round.left == 0 {
            over.push(id);
            self.release(self.core(round.issuer), round.done);
        }
    }

    /// Executes the requested flushes on one core (flush_tlb_func), and returns the time that
    /// takes.
    fn flush_here(
        &self,
        core: &Core<'_, F>,
        prices: &IpiPrices,
        flushes: &[Flush],
        now: Time,
    ) -> Time {
        let mut cost = Time::ZERO;
        for flush in flushes {
            let mut loaded = core.loaded.borrow_mut();
            let Some(running) = loaded.mm else { continue };
            if let Some(asid) = flush.asid.filter(|asid| *asid != running) {
                self.with_mm(asid, |mm| mm.cores.remove(core.id));
                count(&core.tally.trimmed);
                continue;
            }
            if loaded.lazy {
                // The core became lazy meanwhile: it lets go of the address space.
                loaded.mm = None;
                self.with_mm(running, |mm| mm.cores.remove(core.id));
                continue;
            }
            let generation = self.with_mm(running, |mm| mm.generation);
            let tag = loaded.tags.iter_mut().find(|(of, _)| *of == running);
            let (_, seen) = tag.expect("what is loaded has a tag");
            if *seen == generation {
                continue;
            }
            // Entries are flushed singly only if no flush before is missing and none newer is
            // known.
            let in_step = flush.generation == *seen + 1 && flush.latest == generation;
            *seen = if in_step { flush.generation } else { generation };
            cost += self.flush_loaded(core, prices, flush.range.filter(|_| in_step), running, now);
        }
        cost
    }

    /// Flushes one range of the loaded address space, or all of it, and returns the time that
    /// takes.
    fn flush_loaded(
        &self,
        core: &Core<'_, F>,
        prices: &IpiPrices,
        range: Option<Invalidate>,
        running: Asid,
        now: Time,
    ) -> Time {
        self.apply(core, range.unwrap_or(Invalidate::AddressSpace(running)), now);
        if let Some(Invalidate::Range { nr, .. }) = range {
            count_by(&core.tally.local_entries, nr as u64);
            return prices.flush_entry * nr as u64;
        }
        count(&core.tally.local_full);
        prices.flush_full
    }
}
