//! What is switched on (`/sys/kernel/mm/lru_gen/`).

use crate::maps::Maps;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

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
    caps: AtomicU8,
    /// The lists are being moved from one kind to the other: reclaim takes from both.
    switching: AtomicBool,
    /// Milliseconds for which memory in use is not evicted, unless nothing else is left; 0 is off.
    pub(crate) min_ttl_ms: AtomicU64,
}

impl Maps<'_> {
    /// What is switched on.
    pub fn lru_gen_caps(&self) -> LruGenCaps {
        LruGenCaps::from_bits_retain(self.lru_gen_state.caps.load(Relaxed))
    }

    /// Whether generations are in use (`lru_gen_enabled`).
    #[inline]
    pub(crate) fn lru_gen_enabled(&self) -> bool {
        self.lru_gen_caps().contains(LruGenCaps::CORE)
    }

    /// Whether lists are being moved from one kind to the other (`lru_gen_switching`).
    #[inline]
    pub(crate) fn lru_gen_switching(&self) -> bool {
        self.lru_gen_state.switching.load(Relaxed)
    }
}
