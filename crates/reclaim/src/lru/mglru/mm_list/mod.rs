//! The address spaces that a cgroup's walks visit, and the state of their iterations.
//!
//! An iteration gives each address space to one walk; several walks share the iteration. The walk
//! that finds its end opens a new generation. An iteration skips address spaces in which no CPU ran
//! since the last one, except those that joined since.

pub(super) mod iterate;

use super::MIN_NR_GENS;
use super::batch::MmStats;
use crate::id::{MemcgNr, NONE};
use crate::lock::QueuedLock;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Relaxed};

/// The number of filters of a lruvec: one that is read, and one that is filled
/// (`NR_BLOOM_FILTERS`).
const NR_BLOOM_FILTERS: u64 = 2;

/// The value of [`MmIteration::newcomer`] if all of them joined since the last iteration.
const ALL: u32 = NONE - 1;

/// A cgroup's address spaces in the order in which they joined (the kernel's `lru_gen_mm_list`). It
/// changes only under `lock`.
#[derive(Debug, Default)]
pub(crate) struct MmList {
    lock: QueuedLock,
    first: AtomicU32,
    last: AtomicU32,
}

/// The state of the iterations of a cgroup's address spaces for one node (the kernel's
/// `lru_gen_mm_state`). It changes only under the lock of the cgroup's [`MmList`].
#[derive(Debug, Default)]
pub(crate) struct MmIteration {
    /// The generation up to which iterations have ended.
    seq: AtomicU64,
    /// The address space given out last, or `NONE` between iterations.
    given: AtomicU32,
    /// The first that joined since the last iteration and was not given out yet; see [`ALL`].
    newcomer: AtomicU32,
    stats: [AtomicU64; 4],
    filters: [AtomicU32; NR_BLOOM_FILTERS as usize],
}

/// The place of an address space on such a list.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    prev: AtomicU32,
    next: AtomicU32,
    /// The number of walks that have been given the address space and not left it yet; with
    /// [`ENDED`] once it has ended. Its entry is not free before the last of them has left.
    walkers: AtomicU16,
    /// The cgroup whose list it is on.
    memcg: AtomicU16,
    /// A bit for each node for which the address space was not given out since a CPU ran in it.
    ran: AtomicU16,
}

/// The address space has ended. Walks are fewer than this.
const ENDED: u16 = 1 << 15;

impl Membership {
    /// Lets a walk have the address space.
    fn enter(&self) {
        self.walkers.fetch_add(1, Relaxed);
    }

    /// Ends a walk. Returns true if it was the last in an address space that has ended.
    fn leave(&self) -> bool {
        self.walkers.fetch_sub(1, AcqRel) == ENDED | 1
    }

    /// Takes note that the address space has ended. Returns true if no walk has it.
    pub(crate) fn end(&self) -> bool {
        self.walkers.fetch_or(ENDED, AcqRel) == 0
    }

    /// Sets the place of an address space that is on no list.
    pub(crate) fn init(&self) {
        self.walkers.store(0, Relaxed);
        self.memcg.store(MemcgNr::NONE.0, Relaxed);
        self.ran.store(0, Relaxed);
    }
}

impl MmList {
    /// Sets an empty list.
    pub(crate) fn init(&self) {
        self.first.store(NONE, Relaxed);
        self.last.store(NONE, Relaxed);
    }

    pub(in crate::lru) fn is_empty(&self) -> bool {
        self.first.load(Relaxed) == NONE
    }
}

impl MmIteration {
    /// Sets the state of a list that was never walked.
    pub(in crate::lru) fn init(&self) {
        for link in [&self.given].into_iter().chain(&self.filters) {
            link.store(NONE, Relaxed);
        }
        self.newcomer.store(ALL, Relaxed);
        self.seq.store(MIN_NR_GENS, Relaxed);
        self.stats.iter().for_each(|n| n.store(0, Relaxed));
    }

    /// Returns the generation up to which iterations have ended.
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
