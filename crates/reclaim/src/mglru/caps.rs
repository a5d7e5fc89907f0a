//! What is switched on of the multi-generational LRU.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};

bitflags::bitflags! {
    /// The bits of `/sys/kernel/mm/lru_gen/enabled`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LruGenCaps: u8 {
        /// Generations instead of the classic lists.
        const CORE = 1;
        /// Young bits of leaf entries are cleared in batches, by walking page tables.
        const MM_WALK = 2;
        /// Those of entries that lead to PTE tables too.
        const NONLEAF_YOUNG = 4;
    }
}

/// What holds for all cgroups.
#[derive(Debug, Default)]
pub(crate) struct LruGenState {
    pub(super) caps: AtomicU8,
    /// The lists are being moved from one kind to the other: reclaim takes from both.
    pub(super) switching: AtomicBool,
    /// Milliseconds for which memory in use is not evicted, unless nothing else is left; 0 is off.
    pub(crate) min_ttl_ms: AtomicU64,
}
