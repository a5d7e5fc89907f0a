//! The machine before anything runs: memory that is free, and a file mapped shared.

use super::AccessPatterns;
use super::program::READ_AHEAD;
use pageout_experiment::formats::Arch;
use pageout_experiment::variant::Variant;
use pageout_host::layout::{Arena, Ground, MAP_START, tables_of};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Pfn, VirtAddr};
use pageout_reclaim::{
    CpuCtx, Limits, MapAs, MappingId, MappingKind, MmId, NewVma, Tuning, VmFlags,
};

const SIZED: &str = "the arena is sized for the scenario";

/// Bytes around a fault that are mapped with it if they are in memory (Linux 7.3.4,
/// fault_around_bytes).
const FAULT_AROUND: u32 = 64 << 10;

/// Free memory that background reclaim looks at, in pages above what stays in reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Watermarks {
    /// Pages that ordinary allocations never get.
    pub(super) reserve: u64,
    /// Below so many, background reclaim is woken.
    pub(super) low: u64,
    /// It goes on to so many.
    pub(super) high: u64,
}

/// What is set up.
pub(super) struct Setup<'a, F> {
    pub ground: Ground<'a, F>,
    pub(super) file: MappingId,
    pub(super) mm: MmId,
    pub(super) root: Pfn,
    pub(super) watermarks: Watermarks,
    /// Pages that may be allocated.
    pub(super) memory: u64,
}

impl AccessPatterns {
    /// As Linux sets them for so much memory (7.3.4, init_per_zone_wmark_min and
    /// __setup_per_zone_wmarks): a reserve of 4 · √KiB KiB, and quarters of it above that, or a
    /// thousandth of memory if that is more. But at least four times what is read ahead at once,
    /// which on the thread's machine they are 32 times: with less, in a small memory, each request
    /// would find memory short, however fast background reclaim is.
    pub(super) fn watermarks(&self) -> Watermarks {
        let page = 1 << self.format.page_shift();
        let reserve = (((self.memory >> 10) * 16).isqrt() << 10) / page;
        let step = (reserve / 4).max(self.memory / page / 1000).max(4 * READ_AHEAD);
        Watermarks { reserve, low: step, high: 2 * step }
    }

    /// Pages that may be allocated.
    fn frames(&self) -> usize {
        ((self.memory >> self.format.page_shift()) - self.watermarks().reserve) as usize
    }

    pub(super) fn arena<F: Arch>(&self) -> Arena {
        let (limits, tables) = self.limits::<F>();
        Arena::new::<F>(&limits, tables)
    }

    /// Limits and page tables of a run.
    pub(super) fn limits<F: Arch>(&self) -> (Limits, usize) {
        let limits = Limits {
            frames: self.frames(),
            folios: self.frames(),
            vmas: 1,
            mms: 1,
            mappings: 1,
            memcgs: 0,
            shadows: self.pages() as usize,
            slots: 0,
            filters: 2,
        };
        (limits, tables_of::<F>(self.pages() as usize, 1, MapAs::Ptes))
    }

    /// The file, mapped, with no page of it in memory.
    pub(super) fn build<'a, F: Arch>(
        &self,
        arena: &'a mut Arena,
        variant: Variant,
        hardware: Caps,
    ) -> Setup<'a, F> {
        let ground = arena.ground::<F>();
        ground.switch_with(variant.lru, hardware);
        let (env, maps, cpu) = (ground.env, &ground.maps, &mut CpuCtx::new());
        let engine = &mut maps.on(&env, cpu, Tuning::cheapest(F::FLUSH));
        let watermarks = self.watermarks();
        maps.set_high_watermark(watermarks.high);
        let file = engine.add_mapping(MappingKind::File).expect(SIZED);
        let root = ground.supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        maps.mm(mm).set_fault_around(FAULT_AROUND);
        let range = page_at::<F>(0)..page_at::<F>(self.pages());
        let flags = VmFlags::READ | VmFlags::WRITE | VmFlags::SHARED;
        let new = NewVma { mm, range, flags, mapping: file, pgoff: 0 };
        engine.mmap(&new).expect(SIZED);
        maps.lru_gen_use_mm(mm);
        let memory = self.frames() as u64;
        Setup { ground, file, mm, root, watermarks, memory }
    }
}

/// Where a page of the file is mapped.
pub(super) const fn page_at<F: Arch>(page: u64) -> VirtAddr {
    VirtAddr::new(MAP_START.get() + (page << F::PAGE_SHIFT))
}
