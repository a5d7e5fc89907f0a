//! The address spaces that a cgroup's walks visit, and how far they are.
//!
//! An iteration gives each of them to one walk; several walks share it. The one that finds its end
//! opens a new generation. Address spaces that no CPU ran in since the last iteration are left out,
//! but for those that joined since.

pub(crate) mod iterate;

use crate::id::{MemcgId, NONE};
use crate::lock::Lock;
use crate::mglru::MIN_NR_GENS;
use crate::mglru::batch::MmStats;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Filters of a cgroup: one that is asked, one that is filled (`NR_BLOOM_FILTERS`).
const NR_BLOOM_FILTERS: u64 = 2;

/// In [`MmList::newcomer`]: all of them joined since the last iteration.
const ALL: u32 = NONE - 1;

/// A cgroup's address spaces in the order they joined, and how far walks of them are (the kernel's
/// `lru_gen_mm_list`, with the `lru_gen_mm_state` of the one node). Changed under `lock` alone.
#[derive(Debug, Default)]
pub(crate) struct MmList {
    lock: Lock,
    first: AtomicU32,
    last: AtomicU32,
    /// The generation up to which iterations have come to their end.
    seq: AtomicU64,
    /// The one given out last; none between iterations.
    given: AtomicU32,
    /// The first that joined since the last iteration and was not given out; see [`ALL`].
    newcomer: AtomicU32,
    stats: [AtomicU64; 4],
    filters: [AtomicU32; NR_BLOOM_FILTERS as usize],
}

/// An address space's place on such a list.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    prev: AtomicU32,
    next: AtomicU32,
    /// Walks that stand in it: it is not removed before they leave.
    walkers: AtomicU16,
    /// Whose list it is on.
    memcg: AtomicU16,
    /// A CPU ran in it since it was last given out.
    ran: AtomicBool,
}

impl Membership {
    /// Of an address space on no list.
    pub(crate) fn init(&self) {
        self.walkers.store(0, Relaxed);
        self.memcg.store(MemcgId::NONE.0, Relaxed);
        self.ran.store(false, Relaxed);
    }
}

impl MmList {
    /// An empty list, never walked.
    pub(crate) fn init(&self) {
        for link in [&self.first, &self.last, &self.given].into_iter().chain(&self.filters) {
            link.store(NONE, Relaxed);
        }
        self.newcomer.store(ALL, Relaxed);
        self.seq.store(MIN_NR_GENS, Relaxed);
        self.stats.iter().for_each(|n| n.store(0, Relaxed));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.load(Relaxed) == NONE
    }

    /// The generation up to which iterations have come to their end.
    pub(crate) fn seq(&self) -> u64 {
        self.seq.load(Relaxed)
    }

    fn add_stats(&self, stats: MmStats) {
        let MmStats { leaf_total, leaf_young, nonleaf_found, nonleaf_added } = stats;
        let counted = [leaf_total, leaf_young, nonleaf_found, nonleaf_added];
        for (sum, n) in self.stats.iter().zip(counted) {
            sum.store(sum.load(Relaxed) + n, Relaxed);
        }
    }

    fn filter(&self, seq: u64) -> &AtomicU32 {
        &self.filters[(seq % NR_BLOOM_FILTERS) as usize]
    }
}
