//! The scenario set up: the file's folios in its index and on the inactive list of a cgroup, mapped
//! by entries that are old or young.

use super::{Align, ListOrder, Mapped, Orders, ReclaimFile};
use crate::formats::Arch;
use crate::layout::{Arena, Ground, MAP_START, tables_of};
use crate::variant::Variant;
use crate::walker::make_young;
use pageout_paging::mmu::Asid;
use pageout_paging::{Order, VirtAddr, VirtRange};
use pageout_reclaim::{
    Advice, CpuCtx, Errno, FolioFlags, FolioId, Limits, MappingId, MappingKind, MemcgId, MmId,
    NewFolio, NewVma, Tuning, VmFlags, World, cache, map_folio,
};

/// The orders of [`Orders::Mixed`], the least first: the largest is that of a stretch, all of whose
/// folios are of one order.
pub(super) const MIXED: [u8; 4] = [0, 2, 4, 9];

/// Pages of a stretch.
const STRETCH: usize = 1 << MIXED[MIXED.len() - 1];

const SIZED: &str = "the arena is sized for the scenario";

/// The file, mapped and listed, with nothing reclaimed yet.
pub(super) struct Setup<'a, F> {
    pub(super) ground: Ground<'a, F>,
    memcg: MemcgId,
}

impl ReclaimFile {
    pub(super) fn limits<F: Arch>(&self) -> Limits {
        let folios = self.folios::<F>();
        Limits {
            frames: self.pages::<F>(),
            folios,
            vmas: self.processes as usize,
            mms: self.processes as usize,
            mappings: 1,
            memcgs: 1,
            shadows: folios,
            ..Limits::NOTHING
        }
    }

    pub(super) fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>(self.pages::<F>(), self.processes, self.map)
    }

    fn pages<F: Arch>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    fn folios<F: Arch>(&self) -> usize {
        let pages = self.pages::<F>();
        match self.orders {
            Orders::All(order) => pages >> order.in_format(self.format),
            Orders::Mixed => stretches(pages).map(|order| STRETCH >> order).sum(),
        }
    }

    /// The orders of the file's folios, in file order.
    fn folio_orders<F: Arch>(&self, seed: u64) -> Vec<u8> {
        let Orders::All(order) = self.orders else {
            let mut orders: Vec<_> = stretches(self.pages::<F>()).collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut orders);
            let folios = |order: u8| std::iter::repeat_n(order, STRETCH >> order);
            return orders.into_iter().flat_map(folios).collect();
        };
        vec![order.in_format(self.format); self.folios::<F>()]
    }

    /// Where the file is mapped in every process.
    fn range<F: Arch>(&self) -> VirtRange {
        let beside = match self.align {
            Align::Aligned => 0,
            Align::Misaligned => F::PAGE_SIZE,
        };
        MAP_START.add(beside)..MAP_START.add(beside + self.bytes)
    }
}

/// The order of every stretch of a file of mixed orders, in no particular order: as many of each.
fn stretches(pages: usize) -> impl Iterator<Item = u8> {
    MIXED.into_iter().cycle().take(pages / STRETCH)
}

impl<'a, F: Arch> Setup<'a, F> {
    /// Sets the scenario up, the same way for the same seed, on an arena that it made; what was
    /// there before is gone.
    pub(super) fn build(arena: &'a mut Arena, scenario: &ReclaimFile, seed: u64) -> Self {
        let ground = arena.ground::<F>();
        let (env, maps) = (ground.env, &ground.maps);
        let cpu = &mut CpuCtx::new();
        let memcg = maps.add_memcg(&env, cpu, MemcgId::ROOT).expect(SIZED);
        let file = maps.add_mapping(&env, cpu, MappingKind::File).expect(SIZED);
        let setup = Self { ground, memcg };
        let folios = setup.add_folios(file, &scenario.folio_orders::<F>(seed));
        setup.map(scenario, file, &folios, seed);
        setup.list(scenario.list, folios, seed);
        setup
    }

    /// The file's folios, charged and in its index, as reading it makes them.
    fn add_folios(&self, mapping: MappingId, orders: &[u8]) -> Vec<FolioId> {
        let Ground { env, maps, supply } = &self.ground;
        let cpu = &mut CpuCtx::new();
        // Charging below a limit reclaims nothing, whatever the variant.
        let tuning = Variant::BEFORE.tuning(F::FLUSH);
        let mut index = 0;
        let mut add = |order: u8| {
            let order = Order::new(order).expect("parsed orders are small");
            let pfn = supply.alloc(order).expect(SIZED);
            let new = NewFolio { pfn, order, mapping, index, flags: FolioFlags::UPTODATE };
            let id = maps.add_folio(env, cpu, new).expect(SIZED);
            maps.charge(env, cpu, id, self.memcg, tuning).expect("the cgroup has no limit");
            cache::add(maps, env, cpu, id).expect("every page is added once");
            index += order.nr_pages() as u64;
            id
        };
        orders.iter().map(|order| add(*order)).collect()
    }

    /// Maps the file in every process, and makes the scenario's share of entries young.
    fn map(&self, scenario: &ReclaimFile, mapping: MappingId, folios: &[FolioId], seed: u64) {
        let Ground { env, maps, supply } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let range = scenario.range::<F>();
        let mut flags = VmFlags::READ;
        flags.set(VmFlags::UFFD_WP, scenario.uffd_wp);
        let mut random = fastrand::Rng::with_seed(seed);
        for process in 0..scenario.processes {
            let root = supply.alloc_table().expect(SIZED);
            let mm = maps.add_mm(env, cpu, root, Asid(process)).expect(SIZED);
            maps.set_memcg(env, cpu, mm, self.memcg);
            let new = NewVma { mm, range: range.clone(), flags, mapping, pgoff: 0 };
            let vma = maps.mmap(env, cpu, &new).expect(SIZED);
            for folio in folios {
                map_folio(maps, env, cpu, vma, *folio, scenario.map, &mut { *supply })
                    .expect(SIZED);
            }
            if scenario.mapped == Mapped::Half {
                self.give_up_halves(mm, range.start, folios);
            }
            let percent = scenario.young_percent;
            make_young(env, root, range.clone(), |_| random.u8(0..100) < percent);
        }
    }

    /// Gives up the second half of each folio, with its entries.
    fn give_up_halves(&self, mm: MmId, start: VirtAddr, folios: &[FolioId]) {
        let Ground { env, maps, .. } = &self.ground;
        let cpu = &mut CpuCtx::new();
        let tuning = Variant::BEFORE.tuning(F::FLUSH);
        for folio in folios {
            let folio = maps.folio(*folio);
            let half = folio.nr_pages() as u64 / 2;
            let at = |index: u64| start.add(index << F::PAGE_SHIFT);
            let range = at(folio.index() + half)..at(folio.index() + 2 * half);
            let done = maps.madvise(env, cpu, mm, &range, Advice::DontNeed, tuning);
            done.expect("the file is mapped");
        }
    }

    /// Puts the folios on the inactive list, and gives up the references they were made with.
    fn list(&self, order: ListOrder, mut folios: Vec<FolioId>, seed: u64) {
        let Ground { env, maps, .. } = &self.ground;
        let cpu = &mut CpuCtx::new();
        if order == ListOrder::Shuffled {
            fastrand::Rng::with_seed(seed).shuffle(&mut folios);
        }
        for folio in folios {
            maps.lru_add(env, cpu, folio);
            maps.release(env, cpu, folio, 1);
        }
    }

    /// Asks the cgroup for so many bytes back; pages reclaimed.
    pub(super) fn reclaim<W: World<Format = F>>(
        &self,
        world: &W,
        bytes: &str,
        tuning: Tuning,
    ) -> Result<u64, Errno> {
        self.ground.maps.memory_reclaim(world, &mut CpuCtx::new(), self.memcg, bytes, tuning)
    }
}
