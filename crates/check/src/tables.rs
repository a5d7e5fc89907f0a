//! Memory for the engine's own tables.

use super::memory::FIRST_FRAME;
use super::world::FRAMES;
use pageout_reclaim::{Limits, Memory, MmState};
use std::mem::MaybeUninit;

/// Swap slots: one for each page, and the 64 that have to be free before generations of anonymous
/// memory are evicted (Linux 7.3.4, get_swappiness: MIN_LRU_BATCH).
pub(super) const SLOTS: u32 = FRAMES as u32 + 64;

const LIMITS: Limits = Limits {
    frames: FRAMES,
    folios: FRAMES,
    vmas: 8,
    mms: 3,
    mappings: 4,
    memcgs: 1,
    shadows: 8,
    slots: SLOTS as usize,
    filters: 2,
};

/// Memory of the engine's tables.
pub(super) struct EngineTables(Box<[MaybeUninit<u8>]>);

impl EngineTables {
    pub(super) fn new() -> Self {
        Self(Box::new_uninit_slice(Memory::bytes_for(&LIMITS)))
    }

    pub(super) fn maps(&mut self) -> MmState<'_> {
        let memory = Memory::carve(&mut self.0, &LIMITS).expect("as many bytes as they take");
        MmState::new(memory, FIRST_FRAME).expect("small tables can be numbered")
    }
}
