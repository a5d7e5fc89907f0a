//! The LRU lists of one cgroup on one node, and the numbers reclaim balances them by.

pub(crate) mod place;

use crate::list::Ends;
use crate::lock::Lock;
use crate::lru_list::LruList;
use crate::mglru::MAX_NR_ZONES;
use crate::mglru::lrugen::LruGen;
use core::ops::RangeToInclusive;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What reclaiming one type cost lately, and the counters it comes of when reclaim last looked, in
/// pages (`struct lru_cost`). It changes under the lruvec's lock alone.
#[derive(Debug, Default)]
pub(crate) struct LruCost {
    /// A moving sum: transfers, 32 times each, and pages looked at in vain.
    pub(crate) count: AtomicU64,
    pub(crate) last_rotated: AtomicU64,
    pub(crate) last_io: AtomicU64,
}

/// All list state of a cgroup on a node. Lists change under `lock` alone, and so do its own sizes;
/// sums over the subtree change with any of its lists.
#[derive(Debug, Default)]
pub(crate) struct Lruvec {
    pub(crate) lock: Lock,
    pub(crate) lists: [Ends; 5],
    /// Pages on each list, by zone.
    nr_pages: [[AtomicU64; MAX_NR_ZONES]; 5],
    /// Pages on each list of this cgroup and all below.
    subtree: [AtomicU64; 5],
    /// What reclaiming each type of the subtree cost lately.
    pub(crate) cost: [LruCost; 2],
    /// Pages evicted or activated so far in the subtree: the clock that shadows read.
    pub(crate) nonresident_age: AtomicU64,
    /// `workingset_activate` of each type when reclaim last looked.
    pub(crate) refaults: [AtomicU64; 2],
    /// The generations, while they are in use.
    pub(crate) generations: LruGen,
}

impl Lruvec {
    /// Empty lists; its generations are born `now` and in use if `lru_gen` says so.
    pub(crate) fn init(&self, lru_gen: bool, now: u64) {
        self.generations.init(lru_gen, now);
        self.lists.iter().for_each(Ends::clear);
        let sizes = self.nr_pages.as_flattened().iter().chain(&self.subtree).chain(&self.refaults);
        let costs = self.cost.iter().flat_map(|of| [&of.count, &of.last_rotated, &of.last_io]);
        sizes.chain(costs).for_each(|n| n.store(0, Relaxed));
        // Shadows of the entry's last owner may still be about; a clock that goes on makes them
        // look old rather than from the future.
    }

    /// Pages of such zones on a list of this cgroup itself.
    pub(crate) fn size(&self, list: LruList, zones: RangeToInclusive<usize>) -> u64 {
        let zones = &self.nr_pages[list as usize][zones];
        at_least_none(zones.iter().map(|n| n.load(Relaxed)).fold(0, u64::wrapping_add))
    }

    /// Pages on the lists of one kind of this cgroup and all below.
    #[inline]
    pub(crate) fn subtree_size(&self, list: LruList) -> u64 {
        at_least_none(self.subtree[list as usize].load(Relaxed))
    }
}

/// A size; 0 where changes that a page-table walk has not handed in leave it negative.
#[inline]
fn at_least_none(size: u64) -> u64 {
    (size as i64).max(0) as u64
}
