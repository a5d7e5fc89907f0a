//! Memory for the engine's own tables.

use super::memory::FIRST_FRAME;
use super::world::FRAMES;
use pageout_reclaim::mglru::BloomFilter;
use pageout_reclaim::{
    Folio, Limits, Mapping, Maps, Memcg, Memory, Mm, ShadowEntry, Sizes, Slot, Vma,
};
use std::sync::atomic::{AtomicU8, AtomicU32};

/// Swap slots.
pub(super) const SLOTS: u32 = 8;

/// Memory of the engine's tables.
pub(super) struct EngineTables {
    frames: Vec<AtomicU32>,
    pages: Vec<AtomicU8>,
    folios: Vec<Folio>,
    vmas: Vec<Vma>,
    mms: Vec<Mm>,
    mappings: Vec<Mapping>,
    memcgs: Vec<Memcg>,
    shadows: Vec<ShadowEntry>,
    slots: Vec<Slot>,
    filters: Vec<BloomFilter>,
}

fn made<T: Default>(len: usize) -> Vec<T> {
    (0..len).map(|_| T::default()).collect()
}

impl EngineTables {
    pub(super) fn new() -> Self {
        let sizes = Sizes::for_limits(&Limits {
            frames: FRAMES,
            folios: FRAMES,
            vmas: 8,
            mms: 3,
            mappings: 4,
            memcgs: 1,
            shadows: 8,
            slots: SLOTS as usize,
            filters: 2,
        });
        Self {
            frames: made(sizes.frames),
            pages: made(sizes.pages),
            folios: made(sizes.folios),
            vmas: made(sizes.vmas),
            mms: made(sizes.mms),
            mappings: made(sizes.mappings),
            memcgs: made(sizes.memcgs),
            shadows: made(sizes.shadows),
            slots: made(sizes.slots),
            filters: made(sizes.filters),
        }
    }

    pub(super) fn maps(&mut self) -> Maps<'_> {
        let memory = Memory {
            frames: &mut self.frames,
            pages: &mut self.pages,
            folios: &mut self.folios,
            vmas: &mut self.vmas,
            mms: &mut self.mms,
            mappings: &mut self.mappings,
            memcgs: &mut self.memcgs,
            shadows: &mut self.shadows,
            slots: &mut self.slots,
            filters: &mut self.filters,
        };
        Maps::new(memory, FIRST_FRAME).expect("small tables can be numbered")
    }
}
