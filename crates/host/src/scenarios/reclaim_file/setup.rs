//! The scenario set up: the file's folios in its index and on the inactive list of a cgroup, mapped
//! by entries that are old or young, and anonymous memory faulted in beside it.

use crate::layout::{Arena, Ground, MAP_START};
use crate::walker::make_young;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::{Align, Chosen, ListOrder, Mapped, Orders, ReclaimFile};
use pageout_experiment::variant::{Lru, Variant};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Order, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::mglru::{LruGenCaps, MmStats};
use pageout_reclaim::{
    Access, Advice, CpuCtx, Errno, Fault, FaultKind, FolioFlags, FolioId, MappingId, MappingKind,
    MemcgId, MmId, NewFolio, NewVma, Recency, ReclaimRequest, Tuning, VmFlags, VmStat, World,
};

/// The address at which anonymous memory begins: past any file, aligned to any folio.
const ANON_START: VirtAddr = VirtAddr::new(1 << 42);

/// The number of pages of a stretch.
const STRETCH: usize = 1 << Orders::MIXED[Orders::MIXED.len() - 1];

const SIZED: &str = "the arena is sized for the scenario";

/// The file, mapped and listed, with nothing reclaimed yet.
pub struct Setup<'a, F> {
    /// The ground that the file is set up on.
    pub ground: Ground<'a, F>,
    pub(crate) memcg: MemcgId,
    /// The processes, with their root tables.
    pub spaces: Vec<(MmId, Pfn)>,
}

pub(super) fn pages<F: Arch>(bytes: u64) -> usize {
    (bytes >> F::PAGE_SHIFT) as usize
}

pub(super) fn folios<F: Arch>(one: &ReclaimFile, bytes: u64) -> usize {
    let pages = pages::<F>(bytes);
    match one.orders {
        Orders::All(order) => pages >> order.in_format(one.format),
        Orders::Mixed => stretches(pages).map(|order| STRETCH >> order).sum(),
    }
}

/// Returns the orders of the folios of `bytes` bytes, in the order of their addresses.
fn folio_orders<F: Arch>(one: &ReclaimFile, bytes: u64, seed: u64) -> Vec<u8> {
    let Orders::All(order) = one.orders else {
        let mut orders: Vec<_> = stretches(pages::<F>(bytes)).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut orders);
        let folios = |order: u8| std::iter::repeat_n(order, STRETCH >> order);
        return orders.into_iter().flat_map(folios).collect();
    };
    vec![order.in_format(one.format); folios::<F>(one, bytes)]
}

/// Returns the addresses of the file in every process.
pub fn range<F: Arch>(one: &ReclaimFile) -> VirtRange {
    let beside = match one.align {
        Align::Aligned => 0,
        Align::Misaligned => F::PAGE_SIZE,
        Align::HalfTable => F::PAGE_SIZE * (F::PTES as u64 / 2),
    };
    MAP_START.add(beside)..MAP_START.add(beside + one.file_bytes())
}

/// Returns the addresses of every process's anonymous memory.
fn anon_range(one: &ReclaimFile) -> VirtRange {
    ANON_START..ANON_START.add(one.anon_bytes())
}

/// Returns the addresses of the file's pages that are young at the start, in ascending order.
pub fn young_pages<F: Arch>(one: &ReclaimFile, seed: u64) -> impl Iterator<Item = VirtAddr> {
    let orders = folio_orders::<F>(one, one.file_bytes(), seed);
    let range = range::<F>(one);
    let mut young = young::<F>(one, range.start, &orders, seed);
    let pages = 0..one.file_bytes() >> F::PAGE_SHIFT;
    let all = pages.map(move |page| range.start.add(page << F::PAGE_SHIFT));
    all.filter(|at| young(*at)).collect::<Vec<_>>().into_iter()
}

/// Returns a function that is true for the young addresses in folios of these orders, from `start`
/// on. Its caller passes addresses in ascending order.
pub(super) fn young<F: Arch>(
    one: &ReclaimFile,
    start: VirtAddr,
    orders: &[u8],
    seed: u64,
) -> impl FnMut(VirtAddr) -> bool {
    let (percent, by) = (one.young_percent, one.chosen);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut orders = orders.iter();
    let (mut end, mut folio) = (start, false);
    move |addr| {
        if by == Chosen::Entries {
            return random.u8(0..100) < percent;
        }
        while addr >= end {
            let order = orders.next().expect("every address is of a folio");
            end = end.add(F::PAGE_SIZE << order);
            folio = random.u8(0..100) < percent;
        }
        folio
    }
}

/// Returns the order of every stretch of a file of mixed orders: each order equally often,
/// shuffled.
fn stretches(pages: usize) -> impl Iterator<Item = u8> {
    Orders::MIXED.into_iter().cycle().take(pages / STRETCH)
}

impl<'a, F: Arch> Setup<'a, F> {
    /// Sets the scenario up, the same way for the same seed, on an arena that it made, whose
    /// previous content is lost. The file is read in first and then mapped, process by process.
    pub fn build(arena: &'a mut Arena, scenario: &ReclaimFile, lru: Lru, seed: u64) -> Self {
        Self::build_for(arena, scenario, lru, seed, F::CAPS)
    }

    /// Sets the scenario up like [`Setup::build`], for this hardware.
    pub fn build_for(
        arena: &'a mut Arena,
        scenario: &ReclaimFile,
        lru: Lru,
        seed: u64,
        hardware: Caps,
    ) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_with(lru, hardware);
        let (env, maps) = (ground.env, &ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(&env, cpu, Tuning::recommended(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let file = engine.add_mapping(MappingKind::File).expect(SIZED);
        let mut setup = Self { ground, memcg, spaces: Vec::new() };
        let orders = folio_orders::<F>(scenario, scenario.file_bytes(), seed);
        let folios = setup.add_folios(file, &orders);
        setup.list(scenario.list, folios.clone(), seed);
        for process in 0..scenario.processes {
            let (mm, root) = setup.add_process(Asid(process));
            let range = range::<F>(scenario);
            setup.map(scenario, mm, file, &folios);
            make_young(&env, root, range.clone(), young::<F>(scenario, range.start, &orders, seed));
            if scenario.anon_bytes() > 0 {
                let orders = folio_orders::<F>(scenario, scenario.anon_bytes(), seed);
                let range = anon_range(scenario);
                setup.store(scenario, mm, &orders, seed);
                make_young(&env, root, range, young::<F>(scenario, ANON_START, &orders, seed));
            }
            // The process ran, and sleeps from now on.
            setup.ground.maps.lru_gen_use_mm(mm).expect("it lives");
            setup.spaces.push((mm, root));
        }
        setup
    }

    fn add_process(&self, asid: Asid) -> (MmId, Pfn) {
        let Ground { env, maps, supply } = &self.ground;
        let root = supply.alloc_table().expect(SIZED);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let mm = engine.add_mm(root, asid).expect(SIZED);
        engine.set_memcg(mm, self.memcg).expect("it lives");
        (mm, root)
    }

    /// Returns the file's folios, charged and in its index, as after reading it.
    fn add_folios(&self, mapping: MappingId, orders: &[u8]) -> Vec<FolioId> {
        let Ground { env, maps, supply } = &self.ground;
        let cpu = &mut CpuCtx::new();
        // Charging below a limit reclaims nothing, whatever the variant.
        let tuning = Variant::BEFORE.tuning(F::FLUSH);
        let engine = &mut maps.on(env, cpu, tuning);
        let mut index = 0;
        let mut add = |order: u8| {
            let order = Order::new(order).expect("parsed orders are small");
            let pfn = supply.alloc(order).expect(SIZED);
            let new = NewFolio { pfn, order, mapping, index, flags: FolioFlags::UPTODATE };
            let id = engine.add_folio(new).expect(SIZED);
            engine.charge(id, self.memcg).expect("the cgroup has no limit");
            engine.filemap_add_folio(id).expect("every page is added once");
            index += order.nr_pages() as u64;
            id
        };
        orders.iter().map(|order| add(*order)).collect()
    }

    /// Maps the file in a process.
    fn map(&self, scenario: &ReclaimFile, mm: MmId, mapping: MappingId, folios: &[FolioId]) {
        let Ground { env, maps, supply } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let range = range::<F>(scenario);
        let mut flags = VmFlags::READ;
        flags.set(VmFlags::UFFD_WP, scenario.uffd_wp);
        let new = NewVma { mm, range: range.clone(), flags, mapping, pgoff: 0 };
        let vma = engine.mmap(&new).expect(SIZED);
        for folio in folios {
            engine.map_folio(vma, *folio, scenario.map, &mut { *supply }).expect(SIZED);
        }
        if scenario.mapped == Mapped::Half {
            self.give_up_halves(mm, range.start, folios);
        }
    }

    /// Stores to every folio of a process's anonymous memory once: faults allocate the folios, in
    /// the order of the list.
    fn store(&self, scenario: &ReclaimFile, mm: MmId, orders: &[u8], seed: u64) {
        let Ground { env, maps, .. } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Variant::BEFORE.tuning(F::FLUSH));
        let mapping = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let mut flags = VmFlags::READ | VmFlags::WRITE;
        flags.set(VmFlags::UFFD_WP, scenario.uffd_wp);
        let new = NewVma { mm, range: anon_range(scenario), flags, mapping, pgoff: 0 };
        engine.mmap(&new).expect(SIZED);
        let mut addr = ANON_START;
        let place = |order: &u8| {
            let start = addr;
            addr = addr.add(F::PAGE_SIZE << order);
            (start, Order::new(*order).expect("parsed orders are small"))
        };
        let mut folios: Vec<_> = orders.iter().map(place).collect();
        if scenario.list == ListOrder::Shuffled {
            fastrand::Rng::with_seed(seed).shuffle(&mut folios);
        }
        for (start, order) in folios {
            maps.mapping(mapping).expect("it lives").set_order(order);
            let fault = engine.handle_fault(mm, start, Access::Write);
            assert_eq!(fault, Fault::Done(FaultKind::Minor), "{SIZED}");
        }
    }

    /// Frees the second half of each folio, with its entries.
    fn give_up_halves(&self, mm: MmId, start: VirtAddr, folios: &[FolioId]) {
        let Ground { env, maps, .. } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let tuning = Variant::BEFORE.tuning(F::FLUSH);
        for folio in folios {
            let folio = maps.folio(*folio).expect("it lives");
            let half = folio.nr_pages() as u64 / 2;
            let at = |index: u64| start.add(index << F::PAGE_SHIFT);
            let range = at(folio.index() + half)..at(folio.index() + 2 * half);
            let done = maps.on(env, cpu, tuning).madvise(mm, &range, Advice::DontNeed);
            done.expect("the file is mapped");
        }
    }

    /// Puts the folios on the inactive list, or in the generation that a fault puts them in, and
    /// drops the references from their allocation. As in the lab, the marks of the uses that read
    /// them in are cleared.
    fn list(&self, order: ListOrder, mut folios: Vec<FolioId>, seed: u64) {
        let Ground { env, maps, .. } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        if order == ListOrder::Shuffled {
            fastrand::Rng::with_seed(seed).shuffle(&mut folios);
        }
        for folio in folios {
            engine.mark_accessed(folio).expect("it lives");
            engine.lru_add(folio).expect("it lives");
            maps.folio(folio).expect("it lives").note_use(Recency::NONE, Recency::REFERENCED);
            engine.release(folio, 1).expect("the caller has it");
        }
    }

    /// Returns the counts of walks of page tables, if the folios are in generations.
    pub(super) fn walks(&self) -> Option<MmStats> {
        let Ground { maps, .. } = &self.ground;
        maps.lru_gen_caps()
            .contains(LruGenCaps::CORE)
            .then(|| maps.mm_stats(self.memcg).expect("it is online"))
    }

    /// Returns the engine's counters of the cgroup.
    pub fn vmstat(&self) -> &VmStat {
        self.ground.maps.memcg(self.memcg).expect("it is online").vmstat()
    }

    /// Asks for that many bytes of the cgroup to be reclaimed; returns the pages reclaimed.
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
