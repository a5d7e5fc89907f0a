//! Scenario `reclaim-shmem`: shared memory that processes map, of which a part is reclaimed through
//! `memory.reclaim`.

use crate::counting::{Counter, CountingEnv};
use crate::layout::{Arena, Ground, MAP_START, tables_of};
use crate::scenario::{HostScenario, RunOptions};
use crate::walker::make_young;
use pageout_experiment::clock::timed;
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::scenarios::ReclaimShmem;
use pageout_experiment::scenarios::metrics::reclaim_file::{ACTIVATED, WHOLE};
use pageout_experiment::scenarios::metrics::{EXAMINED, RECLAIMED, SWAPPED_OUT};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Order, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{
    Counter as VmCounter, CpuCtx, Errno, FolioFlags, FolioId, Limits, MapAs, MappingId,
    MappingKind, MemcgId, NewFolio, NewVma, Recency, ReclaimRequest, Tuning, VmFlags, World,
};
use pageout_record::schema::{Ground as RecordGround, Metric, Record};
use std::marker::PhantomData;

const SIZED: &str = "the arena is sized for the scenario";

/// The number of slots that are left when all of the memory is swapped out: with fewer, generations
/// of such memory are not evicted (Linux 7.3.4, MIN_LRU_BATCH).
const SPARE_SLOTS: usize = 64;

/// The cgroup's counters that become metrics.
const VMSTAT: [(MetricSpec, VmCounter); 4] = [
    (EXAMINED, VmCounter::PgscanProactive),
    (RECLAIMED, VmCounter::PgstealProactive),
    (SWAPPED_OUT, VmCounter::Pswpout),
    (ACTIVATED, VmCounter::Pgactivate),
];

impl HostScenario for ReclaimShmem {
    fn format(&self) -> FormatName {
        self.format
    }

    fn limits<F: Arch>(&self) -> Limits {
        let (pages, processes) = (pages::<F>(self), self.processes as usize);
        Limits {
            frames: pages,
            folios: pages >> self.order.in_format(self.format),
            vmas: processes,
            mms: processes,
            mappings: 1,
            memcgs: 1,
            slots: pages + SPARE_SLOTS,
            // Each cgroup has two, the root included.
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>(pages::<F>(self), self.processes, MapAs::Ptes)
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
            Box::new(ShmemCell { scenario: *self, arena, variants, seed, format })
        })
    }
}

fn pages<F: Arch>(one: &ReclaimShmem) -> usize {
    (one.bytes >> F::PAGE_SHIFT) as usize
}

/// Returns the addresses of the pages that are young in a process at the start, in ascending order.
pub fn young_pages<F: Arch>(
    one: &ReclaimShmem,
    seed: u64,
    process: u32,
) -> impl Iterator<Item = VirtAddr> {
    let mut young = young(one, seed, process);
    let pages = 0..one.bytes >> F::PAGE_SHIFT;
    pages.map(|page| MAP_START.add(page << F::PAGE_SHIFT)).filter(move |at| young(*at))
}

/// Returns a function that is true for the young addresses in a process. Its caller passes
/// addresses in ascending order.
fn young(one: &ReclaimShmem, seed: u64, process: u32) -> impl FnMut(VirtAddr) -> bool + use<> {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_add(u64::from(process) << 32));
    let percent = one.young_percent;
    move |_| random.u8(0..100) < percent
}

/// The memory, in its index and mapped by all processes.
pub struct Setup<'a, F> {
    /// The ground that the memory is set up on.
    pub ground: Ground<'a, F>,
    memcg: MemcgId,
    /// The root tables of the processes.
    pub roots: Vec<Pfn>,
}

impl<'a, F: Arch> Setup<'a, F> {
    fn build(arena: &'a mut Arena, one: &ReclaimShmem, lru: Lru, seed: u64) -> Self {
        Self::build_for(arena, one, lru, seed, F::CAPS)
    }

    /// Sets the scenario up for this hardware, the same way for the same seed, on an arena that it
    /// made, whose previous content is lost.
    pub fn build_for(
        arena: &'a mut Arena,
        one: &ReclaimShmem,
        lru: Lru,
        seed: u64,
        hardware: Caps,
    ) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_with(lru, hardware);
        let Ground { env, maps, supply } = &ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let shmem = engine.add_mapping(MappingKind::Shmem).expect(SIZED);
        let folios = add_folios(&ground, one, (memcg, shmem), seed);
        let range: VirtRange = MAP_START..MAP_START.add(one.bytes);
        let mut roots = Vec::new();
        for process in 0..one.processes {
            let root = supply.alloc_table().expect(SIZED);
            let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
            let mm = engine.add_mm(root, Asid(process)).expect(SIZED);
            engine.set_memcg(mm, memcg).expect("it lives");
            let flags = VmFlags::READ | VmFlags::WRITE | VmFlags::SHARED;
            let new = NewVma { mm, range: range.clone(), flags, mapping: shmem, pgoff: 0 };
            let vma = engine.mmap(&new).expect(SIZED);
            for folio in &folios {
                engine.map_folio(vma, *folio, MapAs::Ptes, &mut { *supply }).expect(SIZED);
            }
            make_young(env, root, range.clone(), young(one, seed, process));
            roots.push(root);
            // The process ran, and sleeps from now on.
            maps.lru_gen_use_mm(mm).expect("it lives");
        }
        Self { ground, memcg, roots }
    }

    /// Returns the engine's counters of the cgroup, in 4K pages.
    pub fn counted(&self) -> impl Iterator<Item = (MetricSpec, f64)> {
        let vmstat = self.ground.maps.memcg(self.memcg).expect("it is online").vmstat();
        let in_4k = |pages: u64| (pages << (F::PAGE_SHIFT - 12)) as f64;
        VMSTAT.into_iter().map(move |(metric, counter)| (metric, in_4k(vmstat.get(counter))))
    }

    /// Asks for the scenario's part to be reclaimed; returns the pages reclaimed.
    ///
    /// # Errors
    /// Those of `memory.reclaim`.
    pub fn reclaim<W: World<Format = F>>(
        &self,
        world: &W,
        bytes: u64,
        tuning: Tuning,
    ) -> Result<u64, Errno> {
        let (maps, request) = (&self.ground.maps, ReclaimRequest::of(bytes));
        maps.on(world, &mut CpuCtx::new(), tuning).memory_reclaim(self.memcg, request)
    }
}

/// Returns the folios, charged, in the index and on the inactive list, as after the first stores.
/// The marks of those uses are cleared.
fn add_folios<F: Arch>(
    ground: &Ground<'_, F>,
    one: &ReclaimShmem,
    (memcg, mapping): (MemcgId, MappingId),
    seed: u64,
) -> Vec<FolioId> {
    let Ground { env, maps, supply } = ground;
    let cpu = &mut CpuCtx::new();
    // Charging below a limit reclaims nothing, whatever the variant.
    let engine = &mut maps.on(env, cpu, Variant::BEFORE.tuning(F::FLUSH));
    let order = Order::new(one.order.in_format(one.format)).expect("parsed orders are small");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut add = |k: u64| {
        let pfn = supply.alloc(order).expect(SIZED);
        let mut flags = FolioFlags::UPTODATE;
        flags.set(FolioFlags::DIRTY, random.u8(0..100) < one.stored_percent);
        let index = k * order.nr_pages() as u64;
        let id = engine.add_folio(NewFolio { pfn, order, mapping, index, flags }).expect(SIZED);
        engine.charge(id, memcg).expect("the cgroup has no limit");
        engine.filemap_add_folio(id).expect("every page is added once");
        engine.lru_add(id).expect("it lives");
        maps.folio(id).expect("it lives").note_use(Recency::NONE, Recency::REFERENCED);
        engine.release(id, 1).expect("the caller has it");
        id
    };
    (0..one.bytes / one.folio_bytes()).map(&mut add).collect()
}

/// The scenario under several variants, with the nanoseconds of each for a 4K page. Memory is set
/// up again for every sample.
struct ShmemCell<'a, F> {
    scenario: ReclaimShmem,
    arena: &'a mut Arena,
    variants: Vec<(Variant, Vec<f64>)>,
    seed: u64,
    format: PhantomData<F>,
}

impl<F: Arch> ShmemCell<'_, F> {
    fn count(&mut self, variant: Variant) -> Vec<Metric> {
        let setup = Setup::<F>::build(self.arena, &self.scenario, variant.lru, self.seed);
        let counter = Counter::of::<F>();
        let env = CountingEnv::new(setup.ground.env, &counter);
        let bytes = self.scenario.reclaim_bytes();
        let pages = setup.reclaim(&env, bytes, variant.tuning(F::FLUSH));
        let pages = pages.expect("there is swap for all of it");
        let mut metrics = counter.counts().metrics((pages << (F::PAGE_SHIFT - 12)) as f64);
        metrics.extend(setup.counted().map(|(metric, value)| metric.one(value)));
        metrics
    }
}

impl<F: Arch> Cell for ShmemCell<'_, F> {
    fn sample(&mut self, round: usize) {
        for v in turns(self.variants.len(), round) {
            let (variant, ns) = &mut self.variants[v];
            let setup = Setup::<F>::build(self.arena, &self.scenario, variant.lru, self.seed);
            let (tuning, bytes) = (variant.tuning(F::FLUSH), self.scenario.reclaim_bytes());
            let (pages, took) = timed(|| setup.reclaim(&setup.ground.env, bytes, tuning));
            let pages = pages.expect("there is swap for all of it") << (F::PAGE_SHIFT - 12);
            ns.push(took as f64 / pages as f64);
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let all: Vec<_> =
            self.variants.iter().map(|(variant, ns)| (*variant, ns.clone())).collect();
        let record = |(variant, ns): (Variant, Vec<f64>)| {
            let time = (!ns.is_empty()).then(|| WHOLE.of(&ns));
            Record {
                scenario: ReclaimShmem::NAME.to_owned(),
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

    const SMALL: ReclaimShmem = ReclaimShmem { bytes: 32 << 20, ..ReclaimShmem::DEFAULT };

    fn counts(one: &ReclaimShmem, variant: Variant) -> Vec<(String, f64)> {
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
    fn what_was_stored_to_is_swapped_out_and_zeros_are_dropped() {
        for (format, lru) in FormatName::MAIN.into_iter().zip([Lru::Classic, Lru::Mglru]) {
            for order in [OrderName::Number(0), OrderName::Number(4), OrderName::Pmd] {
                for (stored_percent, least) in [(100, 6553.0), (0, 0.0)] {
                    let one = ReclaimShmem { format, order, stored_percent, ..SMALL };
                    let all = counts(&one, Variant { lru, ..Variant::STEPS[1] });
                    assert!(of(&all, "pages reclaimed") >= 6553.0, "{one:?}: {all:?}");
                    let written = of(&all, "pages swapped out");
                    assert!(written >= least, "{one:?}: {all:?}");
                    assert!(stored_percent > 0 || written == 0.0, "{one:?}: {all:?}");
                }
            }
        }
    }

    #[test]
    fn each_process_has_its_entries_taken_out() {
        let visits = |processes| {
            let one = ReclaimShmem { processes, young_percent: 0, ..SMALL };
            of(&counts(&one, Variant::STEPS[1]), "entries visited")
        };
        let ratio = visits(4) / visits(1);
        assert!((3.5..4.5).contains(&ratio), "four times as many: {ratio}");
    }

    #[test]
    fn batches_spare_invalidations_of_contiguous_entries() {
        let one = ReclaimShmem { format: FormatName::Arm64_4K, young_percent: 100, ..SMALL };
        let [before, after] =
            [Variant::BEFORE, Variant::STEPS[2]].map(|variant| counts(&one, variant));
        let invalidations = [&before, &after].map(|all| of(all, "invalidations"));
        assert!(invalidations[1] < invalidations[0] / 4.0, "{invalidations:?}");
    }
}
