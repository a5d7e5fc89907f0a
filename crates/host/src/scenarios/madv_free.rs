//! Scenario `madv-free`: lazily freed folios, which reclaim unmaps and frees without writing them.
//!
//! It follows the benchmark of "support batched unmap for lazyfree large folios during reclamation"
//! (354dffd29575), but reclaims through `memory.reclaim`.

use crate::counting::{Counter, CountingEnv};
use crate::layout::{Arena, Ground, MAP_START, tables_of};
use crate::scenario::{HostScenario, RunOptions};
use crate::walker::{Touch, touch};
use pageout_experiment::clock::timed;
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::scenarios::MadvFree;
use pageout_experiment::scenarios::metrics::EXAMINED;
use pageout_experiment::scenarios::metrics::reclaim_file::{FREED_LAZILY, SWAPPED_OUT, WHOLE};
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::mmu::Asid;
use pageout_paging::{Order, VirtAddr, VirtRange};
use pageout_reclaim::{
    Access, Advice, Counter as VmCounter, CpuCtx, Errno, Fault, FaultKind, Limits, MapAs,
    MappingKind, MemcgId, NewVma, ReclaimRequest, Tuning, VmFlags, World,
};
use pageout_record::schema::{Ground as RecordGround, Metric, Record};
use std::marker::PhantomData;

const SIZED: &str = "the arena is sized for the scenario";

impl HostScenario for MadvFree {
    fn format(&self) -> FormatName {
        self.format
    }

    fn limits<F: Arch>(&self) -> Limits {
        let pages = pages::<F>(self);
        Limits {
            frames: pages,
            folios: pages >> self.order.in_format(self.format),
            vmas: 1,
            mms: 1,
            mappings: 1,
            memcgs: 1,
            // Reclaim scans anonymous memory only if there is room to swap it out.
            slots: pages,
            // Each cgroup has two, the root included.
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>(pages::<F>(self), 1, MapAs::Ptes)
    }

    fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        how: RunOptions,
    ) -> Box<dyn Cell + 'a> {
        let variants = variants.iter().map(|variant| (*variant, Vec::new())).collect();
        let seed = how.seed;
        with_format!(self.format, F => {
            let format = PhantomData::<F>;
            Box::new(MadvFreeCell { scenario: *self, arena, variants, seed, format })
        })
    }
}

fn pages<F: Arch>(one: &MadvFree) -> usize {
    (one.bytes >> F::PAGE_SHIFT) as usize
}

/// The memory, freed lazily and in part stored to again.
struct Setup<'a, F> {
    ground: Ground<'a, F>,
    memcg: MemcgId,
    /// The bytes that were not stored to again.
    free: u64,
}

impl<'a, F: Arch> Setup<'a, F> {
    fn build(arena: &'a mut Arena, one: &MadvFree, variant: Variant, seed: u64) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_to(variant.lru);
        let Ground { env, maps, supply } = &ground;
        let cpu = &mut CpuCtx::new();
        // Neither faults nor advice below a limit reclaim anything, with any variant.
        let engine = &mut maps.on(env, cpu, variant.tuning(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        let mapping = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let order = Order::new(one.order.in_format(one.format)).expect("parsed orders are small");
        maps.mapping(mapping).expect("it lives").set_order(order);
        let range: VirtRange = MAP_START..MAP_START.add(one.bytes);
        let flags = VmFlags::READ | VmFlags::WRITE;
        let new = NewVma { mm, range: range.clone(), flags, mapping, pgoff: 0 };
        engine.mmap(&new).expect(SIZED);
        let folios: Vec<VirtAddr> = (0..one.bytes / one.folio_bytes())
            .map(|k| range.start.add(k * one.folio_bytes()))
            .collect();
        for start in &folios {
            let fault = engine.handle_fault(mm, *start, Access::Write);
            assert_eq!(fault, Fault::Done(FaultKind::Minor), "{SIZED}");
        }
        engine.madvise(mm, &range, Advice::Free).expect("it is mapped");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut free = 0;
        for start in folios {
            if random.u8(0..100) >= one.stored_percent {
                free += one.folio_bytes();
                continue;
            }
            let stored = touch(env, root, start, true);
            assert_eq!(stored, Touch::Done, "what is given up stays mapped for writing");
        }
        maps.lru_gen_use_mm(mm).expect("it lives");
        Self { ground, memcg, free }
    }

    /// Asks for the bytes that were not stored to; returns the pages reclaimed.
    fn reclaim<W: World<Format = F>>(&self, world: &W, tuning: Tuning) -> Result<u64, Errno> {
        let (maps, request) = (&self.ground.maps, ReclaimRequest::of(self.free));
        maps.on(world, &mut CpuCtx::new(), tuning).memory_reclaim(self.memcg, request)
    }
}

/// The scenario under several variants, with the nanoseconds of each for a 4K page. Memory is set
/// up again for every sample.
struct MadvFreeCell<'a, F> {
    scenario: MadvFree,
    arena: &'a mut Arena,
    variants: Vec<(Variant, Vec<f64>)>,
    seed: u64,
    format: PhantomData<F>,
}

impl<F: Arch> MadvFreeCell<'_, F> {
    fn count(&mut self, variant: Variant) -> Vec<Metric> {
        let setup = Setup::<F>::build(self.arena, &self.scenario, variant, self.seed);
        let counter = Counter::of::<F>();
        let env = CountingEnv::new(setup.ground.env, &counter);
        let pages = setup.reclaim(&env, variant.tuning(F::FLUSH)).expect("it can be freed");
        let in_4k = |pages: u64| (pages << (F::PAGE_SHIFT - 12)) as f64;
        let vmstat = setup.ground.maps.memcg(setup.memcg).expect("it is online").vmstat();
        let of = |metric: MetricSpec, counter| metric.one(in_4k(vmstat.get(counter)));
        let mut metrics = counter.counts().metrics(in_4k(pages));
        metrics.push(of(FREED_LAZILY, VmCounter::Pglazyfreed));
        metrics.push(of(EXAMINED, VmCounter::PgscanProactive));
        metrics.push(of(SWAPPED_OUT, VmCounter::Pswpout));
        metrics
    }
}

impl<F: Arch> Cell for MadvFreeCell<'_, F> {
    fn sample(&mut self, round: usize) {
        for v in turns(self.variants.len(), round) {
            let (variant, ns) = &mut self.variants[v];
            let setup = Setup::<F>::build(self.arena, &self.scenario, *variant, self.seed);
            let tuning = variant.tuning(F::FLUSH);
            let (pages, took) = timed(|| setup.reclaim(&setup.ground.env, tuning));
            let pages = pages.expect("it can be freed") << (F::PAGE_SHIFT - 12);
            ns.push(took as f64 / pages as f64);
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let all: Vec<_> =
            self.variants.iter().map(|(variant, ns)| (*variant, ns.clone())).collect();
        let record = |(variant, ns): (Variant, Vec<f64>)| {
            let time = (!ns.is_empty()).then(|| WHOLE.of(&ns));
            Record {
                scenario: MadvFree::NAME.to_owned(),
                ground: RecordGround::Host,
                seed: self.seed,
                fields: self.scenario.labels(),
                variant: variant.labels(Axes::Reclaim),
                metrics: time.into_iter().chain(self.count(variant)).collect(),
            }
        };
        all.into_iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_experiment::fields::OrderName;
    use pageout_experiment::formats::FormatName;

    fn counts(one: &MadvFree, variant: Variant) -> Vec<(String, f64)> {
        let mut arena = one.arena();
        let how = RunOptions { seed: 7, by_stage: false };
        let records = one.cell(&mut arena, &[variant], how).records();
        let metrics = &records[0].metrics;
        metrics.iter().map(|metric| (metric.name.clone(), metric.values[0])).collect()
    }

    fn of(counts: &[(String, f64)], name: &str) -> f64 {
        counts.iter().find(|(found, _)| found == name).expect("it is counted").1
    }

    #[test]
    fn what_is_not_stored_to_again_is_freed_and_nothing_is_written() {
        for format in FormatName::MAIN {
            for order in [OrderName::Number(0), OrderName::Number(4), OrderName::Pmd] {
                let one = MadvFree { format, order, bytes: 32 << 20, ..MadvFree::DEFAULT };
                let all = counts(&one, Variant::STEPS[1]);
                assert_eq!(of(&all, "pages freed lazily"), 8192.0, "{one:?}");
                assert_eq!(of(&all, "pages swapped out"), 0.0, "{one:?}");
            }
        }
    }

    #[test]
    fn what_is_stored_to_again_stays() {
        let one = MadvFree { bytes: 32 << 20, stored_percent: 50, ..MadvFree::DEFAULT };
        let all = counts(&one, Variant::STEPS[1]);
        let freed = of(&all, "pages freed lazily");
        assert!((3000.0..5200.0).contains(&freed), "about half: {freed}");
        // Reclaim also scans other lists, and may swap out a batch.
        assert!(of(&all, "pages swapped out") <= 64.0, "hardly any is written");
        assert_eq!(counts(&one, Variant::BEFORE).len(), all.len());
    }

    #[test]
    fn batches_spare_atomics_of_contiguous_entries() {
        let format = FormatName::Arm64_4K;
        let one = MadvFree { format, bytes: 32 << 20, ..MadvFree::DEFAULT };
        let [before, after] =
            [Variant::STEPS[0], Variant::STEPS[1]].map(|variant| counts(&one, variant));
        let invalidations = [&before, &after].map(|all| of(all, "invalidations"));
        assert!(invalidations[1] < invalidations[0] / 4.0, "{invalidations:?}");
    }
}
