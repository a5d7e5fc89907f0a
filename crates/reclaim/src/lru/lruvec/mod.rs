//! The LRU lists of one cgroup on one node, and the numbers that reclaim balances them by.

pub(super) mod place;
mod stat;

use super::lru_list::LruList;
use crate::folio::MAX_NR_ZONES;
use crate::id::MemcgNr;
use crate::list::Ends;
use crate::lock::QueuedLock;
use crate::lru::mglru::lrugen::LruGen;
use crate::lru::mglru::{MemcgLruLink, MmIteration};
use core::ops::RangeToInclusive;
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use stat::LruvecStat;

/// The recent cost of reclaiming one type, and the counters that reclaim computed it from last
/// time, in pages (`struct lru_cost`). It changes only under the lruvec's lock.
#[derive(Debug, Default)]
pub(crate) struct LruCost {
    /// A moving sum: 32 for each transfer, and 1 for each page scanned in vain.
    pub(crate) count: AtomicU64,
    pub(crate) last_rotated: AtomicU64,
    pub(crate) last_io: AtomicU64,
}

/// All state of a cgroup on a node. Lists and their own sizes change only under `lock`. Sums
/// over the subtree change with any of its lists.
#[derive(Debug, Default)]
pub struct Lruvec {
    lock: QueuedLock,
    pub(super) lists: [Ends; 5],
    /// The pages on each list, by zone.
    nr_pages: [[AtomicU64; MAX_NR_ZONES]; 5],
    /// The pages on each list of this cgroup and all below.
    subtree: [AtomicU64; 5],
    /// The recent cost of reclaiming each type of the subtree.
    pub(crate) cost: [LruCost; 2],
    /// The pages evicted or activated so far in the subtree: the clock that shadows read.
    pub(super) nonresident_age: AtomicU64,
    /// The refaults of each type that were activated at once, at the last reclaim.
    pub(crate) refaults: [AtomicU64; 2],
    pub(crate) stat: LruvecStat,
    /// The generations, if they are in use.
    pub(crate) generations: LruGen,
    /// The iterations of walks of the cgroup's address spaces.
    pub(crate) iteration: MmIteration,
    /// The place in the order in which reclaim of the whole node visits cgroups.
    pub(crate) lru_link: MemcgLruLink,
    /// The cgroup at which the last partial walk of the subtree stopped.
    pub(super) walked: AtomicU16,
}

impl Lruvec {
    /// Empties the lists. The generations begin at time `now`, and are in use if `lru_gen` is set.
    pub(crate) fn init(&self, lru_gen: bool, now: u64) {
        self.generations.init(lru_gen, now);
        self.iteration.init();
        self.stat.clear();
        self.walked.store(MemcgNr::NONE.0, Relaxed);
        self.lists.iter().for_each(Ends::clear);
        let sizes = self.nr_pages.as_flattened().iter().chain(&self.subtree).chain(&self.refaults);
        let costs = self.cost.iter().flat_map(|of| [&of.count, &of.last_rotated, &of.last_io]);
        sizes.chain(costs).for_each(|n| n.store(0, Relaxed));
        // The clock of refaults goes on: shadows of the entry's last owner may still exist, and
        // look old by it. A reset clock would make them look like the future.
    }

    /// Returns the number of pages of such zones on a list of this cgroup itself.
    pub(crate) fn size(&self, list: LruList, zones: RangeToInclusive<usize>) -> u64 {
        let zones = &self.nr_pages[list as usize][zones];
        at_least_none(zones.iter().map(|n| n.load(Relaxed)).fold(0, u64::wrapping_add))
    }

    /// Returns the number of pages on a list of this cgroup and of all below.
    #[inline]
    pub(crate) fn subtree_size(&self, list: LruList) -> u64 {
        at_least_none(self.subtree[list as usize].load(Relaxed))
    }
}

/// Returns a size, or 0 if it is negative because a page-table walk has not handed in its changes.
#[inline]
fn at_least_none(size: u64) -> u64 {
    (size as i64).max(0) as u64
}
