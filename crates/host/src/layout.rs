//! Real page tables and metadata in owned memory, and the threads' layout: one file mapped by one
//! or more processes.

use crate::env::HostEnv;
use crate::frames::HostFrames;
use pageout_experiment::formats::Arch;
use pageout_experiment::variant::Lru;
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Env, Format, Order, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Aging, CpuCtx, FolioFlags, FolioId, Limits, Lock, MapAs, MappingKind, Memory, MmId, MmState,
    NewFolio, NewVma, Refs, Tuning, VmFlags,
};
use std::collections::TryReserveError;
use std::sync::atomic::AtomicU64;

/// The address at which the file is mapped: aligned to any folio, so that whole blocks are
/// contiguous.
pub const MAP_START: VirtAddr = VirtAddr::new(1 << 32);

/// Memory for page tables and for the engine's tables.
#[derive(Debug)]
pub struct Arena {
    tables: Vec<AtomicU64>,
    locks: Vec<Lock>,
    /// The engine's memory: the spare capacity.
    engine: Vec<u8>,
    limits: Limits,
    supply: HostFrames,
}

/// An arena in use: the environment over its tables, and the engine's maps.
#[derive(Debug)]
pub struct Ground<'a, F> {
    /// The timed environment.
    pub env: HostEnv<'a, F>,
    /// The engine's state.
    pub maps: MmState<'a>,
    /// The supply of frames and tables.
    pub supply: &'a HostFrames,
}

impl Arena {
    /// Allocates memory for `limits` and `tables` page tables of format `F`.
    ///
    /// # Panics
    /// If there is less memory than was checked before.
    pub fn new<F: Format>(limits: &Limits, tables: usize) -> Self {
        Self::try_new::<F>(limits, tables).expect("memory is checked before it is taken")
    }

    /// Allocates like [`Arena::new`], if there may be too little memory.
    ///
    /// # Errors
    /// If there is too little.
    pub fn try_new<F: Format>(limits: &Limits, tables: usize) -> Result<Self, TryReserveError> {
        let mut arena = Self {
            tables: Vec::new(),
            locks: Vec::new(),
            engine: Vec::new(),
            limits: *limits,
            supply: HostFrames::default(),
        };
        // There is one page more, so that the tables can begin at a page boundary.
        let words = (tables + 1) * F::PTES;
        arena.tables.try_reserve_exact(words)?;
        arena.tables.resize_with(words, AtomicU64::default);
        arena.locks.try_reserve_exact(tables)?;
        arena.locks.resize_with(tables, Lock::default);
        arena.engine.try_reserve_exact(Memory::bytes_for(limits))?;
        Ok(arena)
    }

    /// Puts an empty engine on the arena; its previous content is lost.
    pub fn ground<F: Arch>(&mut self) -> Ground<'_, F> {
        let skip = self.tables.as_ptr().align_offset(F::PTES * size_of::<AtomicU64>());
        let tables = self.locks.len();
        self.tables.iter_mut().for_each(|entry| *entry.get_mut() = 0);
        self.supply = HostFrames::new(self.limits.frames, tables);
        let memory = &self.tables[skip..skip + tables * F::PTES];
        let engine = Memory::carve(self.engine.spare_capacity_mut(), &self.limits)
            .expect("room for the limits");
        let maps = MmState::new(engine, Pfn::new(0)).expect("scenario limits fit 32-bit indices");
        let supply = &self.supply;
        Ground { env: HostEnv::new(memory, &self.locks, supply), maps, supply }
    }
}

impl<F: Arch> Ground<'_, F> {
    /// Puts all cgroups on these lists, with the features of the architecture's hardware.
    pub(crate) fn switch_to(&self, lru: Lru) {
        self.switch_with(lru, F::CAPS);
    }

    /// Puts all cgroups on these lists, with the features of this hardware.
    pub fn switch_with(&self, lru: Lru, hardware: Caps) {
        let caps = match lru {
            Lru::Classic => LruGenCaps::empty(),
            Lru::Mglru => {
                let mut caps = LruGenCaps::CORE;
                caps.set(LruGenCaps::MM_WALK, hardware.hardware_af);
                caps.set(LruGenCaps::NONLEAF_YOUNG, hardware.nonleaf_af);
                caps
            }
        };
        self.maps
            .on(&self.env, &mut CpuCtx::new(), Tuning::recommended(F::FLUSH))
            .set_lru_gen_caps(caps);
    }

    /// Checks every one of `folios` once, through `env`; returns the number of referenced ones.
    pub fn age<E: Env<Format = F>>(&self, env: &E, folios: &[FolioId], aging: Aging) -> u64 {
        let mut cpu = CpuCtx::new();
        let mut referenced = 0;
        for folio in folios {
            let found = self
                .maps
                .on(env, &mut cpu, Tuning { aging, ..Tuning::recommended(aging.flush) })
                .folio_referenced(*folio, None, None)
                .expect("it lives");
            referenced += u64::from(found.refs != Refs::Vmas(0));
        }
        referenced
    }
}

/// The mapping of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSpec {
    /// Bytes of the file, a multiple of the folio size.
    pub bytes: u64,
    /// The size of the file's folios.
    pub order: Order,
    /// The number of processes that map all of it.
    pub processes: u32,
    /// The entries that map a folio.
    pub map_as: MapAs,
}

impl FileSpec {
    /// Returns the number of pages of the file.
    pub fn pages<F: Format>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    /// Returns the limits that the engine must have room for.
    pub(crate) fn limits<F: Format>(&self) -> Limits {
        let pages = self.pages::<F>();
        let processes = self.processes as usize;
        Limits {
            frames: pages,
            folios: pages >> self.order.get(),
            vmas: processes,
            mms: processes,
            mappings: 1,
            ..Limits::NOTHING
        }
    }

    /// Returns the number of page tables of all processes.
    pub(crate) fn tables<F: Format>(&self) -> usize {
        tables_of::<F>(self.pages::<F>(), self.processes, self.map_as)
    }
}

/// Returns the number of page tables of all processes that map `pages` pages: those of each level,
/// one more for an unaligned start, and a root.
pub fn tables_of<F: Format>(pages: usize, processes: u32, map_as: MapAs) -> usize {
    let above = |entries: usize| entries.div_ceil(F::PTES) + 1;
    let ptes = match map_as {
        MapAs::Ptes => above(pages),
        MapAs::PmdLeaf => 0,
    };
    let pmds = above(pages.div_ceil(F::PTES) + 1);
    processes as usize * (ptes + pmds + above(pmds) + 1)
}

/// The file's folios in list order, mapped.
#[derive(Debug)]
pub struct FileLayout<'a, F> {
    /// The ground that the file is set up on.
    pub ground: Ground<'a, F>,
    /// The folios in file order.
    pub folios: Vec<FolioId>,
    /// The processes.
    pub mms: Vec<MmId>,
    /// The addresses of the file in each process.
    pub range: VirtRange,
}

impl<'a, F: Arch> FileLayout<'a, F> {
    /// Maps the file of `spec` on an arena that has room for it.
    pub fn build(arena: &'a mut Arena, spec: &FileSpec) -> Self {
        let ground = arena.ground::<F>();
        let (env, maps) = (ground.env, &ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(&env, cpu, Tuning::recommended(F::FLUSH));
        let sized = "the arena is sized for the layout";
        let file = engine.add_mapping(MappingKind::File).expect(sized);
        let range = MAP_START..MAP_START.add(spec.bytes);
        let nr = spec.order.nr_pages() as u64;
        let add_folio = |k: u64| {
            let new = NewFolio {
                pfn: Pfn::new(k * nr),
                order: spec.order,
                mapping: file,
                index: k * nr,
                flags: FolioFlags::empty(),
            };
            engine.add_folio(new).expect(sized)
        };
        let folios: Vec<_> = (0..spec.pages::<F>() as u64 / nr).map(add_folio).collect();
        let mut mms = Vec::new();
        for process in 0..spec.processes {
            let root = ground.supply.alloc_table().expect(sized);
            let mm = engine.add_mm(root, Asid(process)).expect(sized);
            let new =
                NewVma { mm, range: range.clone(), flags: VmFlags::READ, mapping: file, pgoff: 0 };
            let vma = engine.mmap(&new).expect(sized);
            for folio in &folios {
                engine.map_folio(vma, *folio, spec.map_as, &mut { ground.supply }).expect(sized);
            }
            mms.push(mm);
        }
        Self { ground, folios, mms, range }
    }
}
