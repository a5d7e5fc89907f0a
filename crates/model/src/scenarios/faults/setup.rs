//! The memory of the tasks: mappings that faults fill, and the old file that reclaim takes.

use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::{Beside, FaultedIn, Faults, Space};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::layout::{Arena, Ground, MAP_START, tables_of};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Level, Order, Pfn, VirtAddr};
use pageout_reclaim::{
    CpuCtx, Engine, FolioFlags, FolioId, Limits, MapAs, MappingId, MappingKind, MemcgId, MmId,
    NewFolio, NewVma, VmFlags, World,
};

const SIZED: &str = "the arena is sized for the scenario";

/// The pages of the old file for each page of a task that faults, besides one for each page of all.
const OLD_PAGES: usize = 8;

/// The pages of the old file at least, some requests to reclaim.
const LEAST_OLD_PAGES: usize = 256;

/// Frames that reclaim and faults may hold beyond the scenario's pages.
const SPARE_FRAMES: usize = 64;

/// Returns the number of pages that a task faults in.
pub(super) fn pages<F: Arch>(of: &Faults) -> usize {
    (of.bytes >> F::PAGE_SHIFT) as usize
}

/// Returns the number of pages of the old file. Reclaim takes fewer before the faults are over.
fn old_pages<F: Arch>(of: &Faults) -> usize {
    match of.reclaim {
        Beside::No => 0,
        Beside::Yes => LEAST_OLD_PAGES.max((OLD_PAGES + of.tasks as usize) * pages::<F>(of)),
    }
}

/// Returns the number of address spaces.
const fn spaces(of: &Faults) -> usize {
    match of.space {
        Space::Shared => 1,
        Space::Own => of.tasks as usize,
    }
}

/// Returns the distance between the mappings of two tasks. No two tasks share a page table of the
/// last level.
fn stride<F: Arch>(of: &Faults) -> u64 {
    of.bytes.next_multiple_of(1 << F::shift(Level::Pmd))
}

/// Returns the number of pages of the old file that each address space maps.
fn old_share<F: Arch>(of: &Faults) -> usize {
    old_pages::<F>(of).div_ceil(spaces(of))
}

pub(super) fn limits<F: Arch>(of: &Faults) -> Limits {
    let (tasks, spaces) = (of.tasks as usize, spaces(of));
    let frames = tasks * pages::<F>(of) + old_pages::<F>(of) + SPARE_FRAMES;
    Limits {
        frames,
        folios: frames,
        vmas: tasks + spaces,
        mms: spaces,
        // The reverse map of each task's pages, the file and the old file.
        mappings: tasks + 2,
        memcgs: 1,
        shadows: frames,
        filters: 4,
        ..Limits::NOTHING
    }
}

pub(super) fn tables<F: Arch>(of: &Faults) -> usize {
    let mapped = (stride::<F>(of) >> F::PAGE_SHIFT) as usize;
    let (in_each, spaces) = (of.tasks as usize / spaces(of), spaces(of));
    tables_of::<F>(mapped * in_each, spaces as u32, MapAs::Ptes)
        + tables_of::<F>(old_share::<F>(of), spaces as u32, MapAs::Ptes)
}

/// A task's mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapped {
    /// The address space.
    pub(super) mm: MmId,
    pub(super) asid: Asid,
    pub(super) root: Pfn,
    /// The first address.
    pub(super) start: VirtAddr,
}

/// The memory of all tasks.
pub(super) struct Memory<'g, 'a, F> {
    pub(super) ground: &'g Ground<'a, F>,
    pub(super) memcg: MemcgId,
    /// The mapping of each task.
    pub(super) mapped: Vec<Mapped>,
}

/// Puts the ground of the scenario on its arena.
pub(super) fn ground<'a, F: Arch>(arena: &'a mut Arena, lru: Lru, caps: Caps) -> Ground<'a, F> {
    let ground = arena.ground::<F>();
    ground.switch_with(lru, caps);
    ground
}

impl<'g, 'a, F: Arch> Memory<'g, 'a, F> {
    /// Maps all memory. The pages of the old file come first on the lists, so reclaim takes them
    /// first.
    pub(super) fn map(of: &Faults, ground: &'g Ground<'a, F>) -> Self {
        let Ground { env, maps, supply } = ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Variant::BEFORE.tuning(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let old = engine.add_mapping(MappingKind::File).expect(SIZED);
        let mut build = Build { ground, engine, memcg };
        let old_folios = build.cached(old, old_pages::<F>(of));
        let file = (of.memory == FaultedIn::File).then(|| {
            let file = build.engine.add_mapping(MappingKind::File).expect(SIZED);
            build.cached(file, of.tasks as usize * pages::<F>(of));
            file
        });
        let spaces: Vec<_> = (0..spaces(of) as u32)
            .map(|asid| {
                let root = supply.alloc_table().expect(SIZED);
                let mm = build.engine.add_mm(root, Asid(asid)).expect(SIZED);
                build.engine.set_memcg(mm, memcg).expect("it lives");
                maps.lru_gen_use_mm(mm).expect("it lives");
                (mm, Asid(asid), root)
            })
            .collect();
        let mapped = (0..of.tasks as usize).map(|task| {
            let (mm, asid, root) = spaces[task % spaces.len()];
            let place = task / spaces.len();
            let start = MAP_START.add(stride::<F>(of) * place as u64);
            build.mapping_of_task(of, (mm, start), task, file);
            Mapped { mm, asid, root, start }
        });
        let mapped = mapped.collect();
        if !old_folios.is_empty() {
            let share = old_share::<F>(of);
            let start = MAP_START.add(stride::<F>(of) * u64::from(of.tasks));
            for ((mm, ..), folios) in spaces.iter().zip(old_folios.chunks(share)) {
                build.map_old((*mm, start), old, folios);
            }
        }
        Self { ground, memcg, mapped }
    }
}

struct Build<'b, 'g, 'a, F, W> {
    ground: &'g Ground<'a, F>,
    engine: &'b mut Engine<'g, W>,
    memcg: MemcgId,
}

impl<F: Arch, W: World<Format = F>> Build<'_, '_, '_, F, W> {
    /// Puts pages of a file into the page cache and on the lists.
    fn cached(&mut self, mapping: MappingId, pages: usize) -> Vec<FolioId> {
        let mut add = |index: usize| {
            let (pfn, order) = (self.ground.supply.alloc(Order::default()), Order::default());
            let (pfn, flags) = (pfn.expect(SIZED), FolioFlags::UPTODATE);
            let new = NewFolio { pfn, order, mapping, index: index as u64, flags };
            let id = self.engine.add_folio(new).expect(SIZED);
            self.engine.charge(id, self.memcg).expect("the cgroup has no limit");
            self.engine.filemap_add_folio(id).expect("every page is added once");
            self.engine.lru_add(id).expect("it lives");
            self.engine.release(id, 1).expect("the caller has it");
            id
        };
        (0..pages).map(&mut add).collect()
    }

    /// Maps the pages that a task is to fault in: its own anonymous ones, or its part of the file.
    fn mapping_of_task(
        &mut self,
        of: &Faults,
        (mm, start): (MmId, VirtAddr),
        task: usize,
        file: Option<MappingId>,
    ) {
        let mut anon = || self.engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let mapping = file.unwrap_or_else(&mut anon);
        let pgoff = file.map_or(0, |_| (task * pages::<F>(of)) as u64);
        let range = start..start.add(of.bytes);
        let flags = VmFlags::READ | VmFlags::WRITE;
        let new = NewVma { mm, range, flags, mapping, pgoff };
        self.engine.mmap(&new).expect(SIZED);
    }

    /// Maps a part of the old file by old entries.
    fn map_old(&mut self, (mm, start): (MmId, VirtAddr), old: MappingId, folios: &[FolioId]) {
        let maps = &self.ground.maps;
        let first = maps.folio(folios[0]).expect("it lives").index();
        let range = start..start.add((folios.len() as u64) << F::PAGE_SHIFT);
        let new = NewVma { mm, range, flags: VmFlags::READ, mapping: old, pgoff: first };
        let vma = self.engine.mmap(&new).expect(SIZED);
        for folio in folios {
            let frames = &mut { self.ground.supply };
            self.engine.map_folio(vma, *folio, MapAs::Ptes, frames).expect(SIZED);
        }
    }
}
