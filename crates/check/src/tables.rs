//! The size of the engine's own tables.

use super::world::FRAMES;
use pageout_reclaim::Limits;

/// Swap slots: one for each page, and the 64 that have to be free before generations of anonymous
/// memory are evicted (Linux 7.3.4, get_swappiness: MIN_LRU_BATCH).
pub(super) const SLOTS: u32 = FRAMES as u32 + 64;

/// The limits of the engine.
pub(super) const LIMITS: Limits = Limits {
    frames: FRAMES,
    folios: FRAMES,
    vmas: 8,
    mms: 3,
    mappings: 4,
    memcgs: 1,
    nodes: 1,
    shadows: 8,
    slots: SLOTS as usize,
    filters: 2,
};
