//! Address spaces that aging walks.

use super::aging::{Skip, Used};
use crate::layout::{Arena, Ground, MAP_START};
use crate::scenario::HostScenario;
use crate::scenarios::reclaim_file::{self, Setup};
use crate::walker::{make_old, make_young};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::variant::{Lru, Variant};
use pageout_paging::mmu::Asid;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Level, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::mglru::{LruGenCaps, MmStats};
use pageout_reclaim::{
    Access, CpuCtx, Fault, FaultKind, Limits, MappingKind, MemcgId, MmId, NewVma, Tuning, VmFlags,
    World,
};

const SIZED: &str = "the arena is sized for the layout";
const SWAPPINESS: u8 = 60;
/// The number of populated tables of which one is used.
const USED: usize = 16;

/// The mapped memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// A file in folios of order 4, mapped by several processes.
    Shared {
        /// The number of processes.
        processes: u32,
        /// Bytes of the file.
        bytes: u64,
    },
    /// The anonymous memory of one process, of which whole tables at equal distances are populated.
    Sparse {
        /// GiB mapped.
        gib: u64,
        /// The number of entries populated.
        populated: u64,
    },
}

impl Layout {
    pub(super) const fn processes(self) -> u32 {
        match self {
            Self::Shared { processes, .. } => processes,
            Self::Sparse { .. } => 1,
        }
    }

    /// Returns the bytes mapped, and the entries populated, in each process.
    pub(super) const fn sizes(self) -> (u64, u64) {
        match self {
            Self::Shared { bytes, .. } => (bytes, bytes >> 12),
            Self::Sparse { gib, populated } => (gib << 30, populated),
        }
    }

    fn file(self) -> Option<ReclaimFile> {
        match self {
            Self::Shared { processes, bytes } => {
                Some(ReclaimFile { processes, bytes, ..ReclaimFile::DEFAULT })
            }
            Self::Sparse { .. } => None,
        }
    }
}

/// Address spaces of one cgroup, ready for the measured walk. That walk is the second one, so that
/// the first has filled the filter, and no folios need to be moved because generations run out.
pub(super) struct Walked<'a, F> {
    pub(super) ground: Ground<'a, F>,
    memcg: MemcgId,
    spaces: Vec<(MmId, Pfn)>,
    /// The populated addresses in each of them.
    chunks: Vec<VirtRange>,
    forced: bool,
}

impl<'a, F: Arch> Walked<'a, F> {
    pub(super) fn arena(layout: Layout, skip: Skip) -> Arena {
        let filters = match skip {
            Skip::What { filter: true, .. } => 4,
            _ => 0,
        };
        if let Some(file) = layout.file() {
            let limits = Limits { filters, ..file.limits::<F>() };
            return Arena::new::<F>(&limits, file.tables::<F>());
        }
        let (mapped, populated) = layout.sizes();
        let populated = populated as usize;
        let limits = Limits {
            frames: populated,
            folios: populated,
            vmas: 1,
            mms: 1,
            mappings: 1,
            memcgs: 1,
            slots: 64,
            filters,
            ..Limits::NOTHING
        };
        let leaves = populated.div_ceil(F::PTES) + 1;
        let above = |level| leaves.min((mapped >> F::shift(level)) as usize + 1) + 1;
        Arena::new::<F>(&limits, leaves + above(Level::Pud) + above(Level::Pgd) + 1)
    }

    pub(super) fn build(arena: &'a mut Arena, layout: Layout, skip: Skip, used: Used) -> Self {
        let mut walked = match layout.file() {
            Some(file) => {
                let setup = Setup::<F>::build(arena, &file, Lru::Mglru, 1);
                let (memcg, spaces) = (setup.memcg, setup.spaces);
                let chunks = vec![reclaim_file::range::<F>(&file)];
                Self::new(setup.ground, memcg, spaces, chunks)
            }
            None => Self::sparse(arena, layout),
        };
        let mut caps = walked.ground.maps.lru_gen_caps();
        walked.forced = skip == Skip::Forced;
        let nonleaf = matches!(skip, Skip::What { nonleaf: true, .. });
        caps.set(LruGenCaps::NONLEAF_YOUNG, nonleaf);
        walked
            .ground
            .maps
            .on(&walked.ground.env, &mut CpuCtx::new(), Tuning::recommended(F::FLUSH))
            .set_lru_gen_caps(caps);
        // The first walk is forced: it meets address spaces for the first time.
        walked.run(used);
        walked.walk(&walked.ground.env, YoungAlgorithm::Line);
        walked.run(used);
        walked
    }

    fn new(
        ground: Ground<'a, F>,
        memcg: MemcgId,
        spaces: Vec<(MmId, Pfn)>,
        chunks: Vec<VirtRange>,
    ) -> Self {
        Self { ground, memcg, spaces, chunks, forced: false }
    }

    fn sparse(arena: &'a mut Arena, layout: Layout) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_to(Lru::Mglru);
        let (env, maps, cpu) = (ground.env, &ground.maps, &mut CpuCtx::new());
        let engine = &mut maps.on(&env, cpu, Variant::BEFORE.tuning(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let root = ground.supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        let mapping = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let (mapped, populated) = layout.sizes();
        let range = MAP_START..MAP_START.add(mapped);
        let flags = VmFlags::READ | VmFlags::WRITE;
        engine.mmap(&NewVma { mm, range, flags, mapping, pgoff: 0 }).expect(SIZED);
        let tables = populated / F::PTES as u64;
        let table = 1u64 << F::shift(Level::Pmd);
        let apart = mapped / tables / table * table;
        let chunk = |k: u64| MAP_START.add(k * apart)..MAP_START.add(k * apart + table);
        let chunks: Vec<_> = (0..tables).map(chunk).collect();
        for chunk in &chunks {
            for page in 0..F::PTES as u64 {
                let addr: VirtAddr = chunk.start.add(page << F::PAGE_SHIFT);
                let fault = engine.handle_fault(mm, addr, Access::Write);
                assert_eq!(fault, Fault::Done(FaultKind::Minor), "{SIZED}");
            }
        }
        Self::new(ground, memcg, vec![(mm, root)], chunks)
    }

    /// Runs the processes, which use only a part of their memory.
    fn run(&self, used: Used) {
        let Ground { env, maps, .. } = &self.ground;
        for (mm, root) in &self.spaces {
            for (k, chunk) in self.chunks.iter().enumerate() {
                make_old(env, *root, chunk.clone());
                if used == Used::Part && k.is_multiple_of(USED) {
                    make_young(env, *root, chunk.clone(), |_| true);
                }
            }
            maps.lru_gen_use_mm(*mm).expect("it lives");
        }
    }

    /// Walks all address spaces, and opens a generation.
    pub(super) fn walk<W: World<Format = F>>(&self, world: &W, algorithm: YoungAlgorithm) {
        let maps = &self.ground.maps;
        let aging = Variant::of(algorithm).aging(F::FLUSH);
        let cpu = &mut CpuCtx::new();
        let (seq, _) = maps.lru_gen_seqs(self.memcg).expect("it is online");
        let opened = maps
            .on(world, cpu, Tuning { aging, ..Tuning::recommended(aging.flush) })
            .try_to_inc_max_seq(self.memcg, seq, SWAPPINESS, self.forced)
            .expect("it is online");
        assert!(opened, "nobody else walks");
    }

    /// Returns the counts of walks so far.
    pub(super) fn stats(&self) -> MmStats {
        self.ground.maps.mm_stats(self.memcg).expect("it is online")
    }
}
