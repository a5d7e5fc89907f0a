//! The LRU lists of one cgroup on one node, and the numbers reclaim balances them by.

use crate::list::Ends;
use crate::lock::Lock;
use core::sync::atomic::AtomicU64;

/// The classic lists, in the kernel's order (`enum lru_list`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LruList {
    /// Inactive anonymous folios.
    InactiveAnon,
    /// Active anonymous folios.
    ActiveAnon,
    /// Inactive folios of files.
    InactiveFile,
    /// Active folios of files.
    ActiveFile,
    /// Folios that cannot be reclaimed: mlocked.
    Unevictable,
}

impl LruList {
    /// Every list.
    pub const ALL: [Self; 5] = [
        Self::InactiveAnon,
        Self::ActiveAnon,
        Self::InactiveFile,
        Self::ActiveFile,
        Self::Unevictable,
    ];
}

/// All list state of a cgroup on a node. Lists and sizes change under `lock` alone.
#[derive(Debug, Default)]
pub(crate) struct Lruvec {
    pub(crate) lock: Lock,
    pub(crate) lists: [Ends; 5],
    /// Pages on each list.
    pub(crate) nr_pages: [AtomicU64; 5],
    /// What reclaiming each type cost lately (`anon_cost`, `file_cost`).
    pub(crate) cost: [AtomicU64; 2],
    /// Pages evicted or activated so far: the clock that shadows read.
    pub(crate) nonresident_age: AtomicU64,
    /// `workingset_activate` of each type when reclaim last looked.
    pub(crate) refaults: [AtomicU64; 2],
}
