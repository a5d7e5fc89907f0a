//! The process before its threads run: an address space with a file to map, and memory that is all
//! free.

use super::Thpscale;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::{SLOT, Swap};
use pageout_experiment::variant::Lru;
use pageout_host::layout::{Arena, Ground, tables_of};
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::{Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{CpuCtx, Limits, MapAs, MappingId, MappingKind, MmId, Tuning};

/// The arena is sized for the scenario.
pub(super) const SIZED: &str = "the arena is sized for the scenario";

/// Bytes of addresses that a thread has for each area.
const APART: u64 = 1 << 38;

/// Where a thread's areas are, each aligned to a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Areas {
    /// What is filled, and punched.
    pub(super) first: VirtRange,
    /// Whose slots are timed.
    pub(super) second: VirtRange,
    /// What it maps of the file.
    pub(super) file: VirtRange,
    /// Bytes before that in the file.
    pub(super) offset: u64,
}

impl Areas {
    /// The first half of every slot of the first area.
    pub(super) fn holes(&self) -> impl Iterator<Item = VirtRange> {
        slots(&self.first).map(|slot| slot.start..slot.start.add(SLOT / 2))
    }

    /// The slots of the second.
    pub(super) fn slots(&self) -> impl Iterator<Item = VirtRange> {
        slots(&self.second)
    }
}

fn slots(range: &VirtRange) -> impl Iterator<Item = VirtRange> {
    let start = range.start;
    let nr = (range.end.get() - start.get()) / SLOT;
    (0..nr).map(move |k| start.add(k * SLOT)..start.add((k + 1) * SLOT))
}

impl Thpscale {
    /// The areas of a thread.
    pub(super) fn areas(&self, thread: u32) -> Areas {
        let area = |which: u64, bytes: u64| {
            let start = VirtAddr::new((u64::from(thread) * 3 + which + 1) * APART);
            start..start.add(bytes)
        };
        Areas {
            first: area(0, self.share()),
            second: area(1, self.slots() * SLOT),
            file: area(2, self.file()),
            offset: self.share() * u64::from(thread),
        }
    }

    /// Frames of all of memory.
    pub(super) fn frames<F: Arch>(&self) -> usize {
        (self.bytes() >> F::PAGE_SHIFT) as usize
    }

    /// Limits and page tables of a run.
    pub(super) fn limits<F: Arch>(&self) -> (Limits, usize) {
        let (threads, frames) = (self.threads as usize, self.frames::<F>());
        let pages = |bytes: u64| (bytes >> F::PAGE_SHIFT) as usize;
        let limits = Limits {
            frames,
            folios: frames,
            // What is left of each slot of the first area, before and after one is punched.
            vmas: threads * (self.share() / SLOT + 4) as usize,
            mms: 1,
            // Two areas of each thread, and the file.
            mappings: 2 * threads + 1,
            shadows: pages(self.file()) * threads,
            slots: if self.swap == Swap::None { 0 } else { frames / 2 },
            filters: 2,
            ..Limits::NOTHING
        };
        let of = |bytes| tables_of::<F>(pages(bytes), 1, MapAs::Ptes);
        let each = of(self.share()) + of(self.slots() * SLOT) + of(self.file());
        (limits, threads * each + 1)
    }

    pub(super) fn arena<F: Arch>(&self) -> Arena {
        let (limits, tables) = self.limits::<F>();
        Arena::new::<F>(&limits, tables)
    }
}

/// The engine with an empty process.
pub(super) struct Setup<'a, F> {
    pub ground: Ground<'a, F>,
    pub(super) mm: MmId,
    pub(super) root: Pfn,
    pub(super) file: MappingId,
}

impl<'a, F: Arch> Setup<'a, F> {
    pub(super) fn build(arena: &'a mut Arena, lru: Lru, caps: Caps) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_with(lru, caps);
        let Ground { env, maps, supply } = &ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::cheapest(F::FLUSH));
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, ASID).expect(SIZED);
        maps.lru_gen_use_mm(mm);
        let file = engine.add_mapping(MappingKind::File).expect(SIZED);
        Self { ground, mm, root, file }
    }
}

/// The process's.
pub(super) const ASID: Asid = Asid(0);
