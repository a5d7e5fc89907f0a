//! Memory cgroups: who is charged for a folio, what it may use, what is protected.

use crate::lruvec::Lruvec;
use crate::vmstat::VmStat;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU64};

/// Index of a cgroup in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemcgId(pub u16);

impl MemcgId {
    /// The root of the hierarchy: everything is charged to it in the end, nothing limits it.
    pub const ROOT: Self = Self(0);
}

/// One cgroup. Amounts are pages.
#[derive(Debug, Default)]
pub struct Memcg {
    /// Its parent (itself for the root), or for a free one the next free.
    pub(crate) parent: AtomicU16,
    /// Its children, its folios' and its own existence: 0 for a free one.
    pub(crate) users: AtomicU16,
    pub(crate) usage: AtomicU64,
    pub(crate) min: AtomicU64,
    pub(crate) low: AtomicU64,
    pub(crate) max: AtomicU64,
    /// Effective protection, computed on the way down in each reclaim walk.
    pub(crate) emin: AtomicU64,
    pub(crate) elow: AtomicU64,
    pub(crate) swappiness: AtomicU8,
    pub(crate) lruvec: Lruvec,
    pub(crate) vmstat: VmStat,
}
