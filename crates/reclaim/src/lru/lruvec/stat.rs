//! The events of one lruvec by which reclaim balances the two types of memory.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Pages of a lruvec by event, since the cgroup was added. [`VmStat`](crate::VmStat) has
/// the same for the cgroup on all nodes.
#[derive(Debug, Default)]
pub(crate) struct LruvecStat {
    /// Scanned in vain.
    pub(crate) rotated: [AtomicU64; 2],
    /// Refaulted and activated at once.
    pub(crate) activated: [AtomicU64; 2],
    /// Refaulted as part of a working set.
    pub(crate) restored: [AtomicU64; 2],
    /// Written out by reclaim, of both types.
    pub(crate) written: AtomicU64,
}

impl LruvecStat {
    /// Counts pages of a type that were scanned in vain.
    #[inline]
    pub(crate) fn add_rotated(&self, kind: usize, nr: u64) {
        if nr != 0 {
            self.rotated[kind].fetch_add(nr, Relaxed);
        }
    }

    fn counts(&self) -> impl Iterator<Item = &AtomicU64> {
        let by_type = [&self.rotated, &self.activated, &self.restored].into_iter().flatten();
        by_type.chain([&self.written])
    }

    /// Adds the counts of another, which is removed.
    pub(in crate::lru) fn absorb(&self, other: &Self) {
        for (sum, n) in self.counts().zip(other.counts()) {
            sum.fetch_add(n.load(Relaxed), Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        self.counts().for_each(|n| n.store(0, Relaxed));
    }
}
