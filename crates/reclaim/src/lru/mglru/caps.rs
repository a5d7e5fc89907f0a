//! The parts of the multi-generational LRU that are on.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use pageout_uapi::lru_gen::Enabled;

bitflags::bitflags! {
    /// The bits of `/sys/kernel/mm/lru_gen/enabled`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LruGenCaps: u8 {
        /// Generations instead of the classic lists.
        const CORE = 1;
        /// The clearing of leaf entries' young bits in batches, by walking page tables.
        const MM_WALK = 2;
        /// The clearing of young bits in entries that lead to PTE tables, too.
        const NONLEAF_YOUNG = 4;
    }
}

/// Takes the bits of what is written to the file; others are ignored.
impl From<Enabled> for LruGenCaps {
    fn from(Enabled(bits): Enabled) -> Self {
        Self::from_bits_truncate(bits as u8)
    }
}

impl From<LruGenCaps> for Enabled {
    fn from(caps: LruGenCaps) -> Self {
        Self(caps.bits().into())
    }
}

/// The state of the LRU common to all cgroups.
#[derive(Debug, Default)]
pub(crate) struct LruGenState {
    pub(super) caps: AtomicU8,
    /// True while the lists are being moved from one kind to the other: reclaim takes from both.
    pub(super) switching: AtomicBool,
    /// The time in milliseconds for which memory in use is not evicted, unless nothing else is
    /// left; 0 is off.
    pub(crate) min_ttl_ms: AtomicU64,
}
