//! Memory cgroups: who is charged for a folio, what it may use, what is protected.

use crate::lock::Lock;
use crate::lruvec::Lruvec;
use crate::maps::Maps;
use crate::vmstat::VmStat;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering::Relaxed};

/// Index of a cgroup in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemcgId(pub u16);

impl MemcgId {
    /// The root of the hierarchy: everything is charged to it in the end, nothing limits it.
    pub const ROOT: Self = Self(0);
    /// No cgroup.
    pub(crate) const NONE: Self = Self(u16::MAX);
}

/// One cgroup. Amounts are pages.
#[derive(Debug, Default)]
pub struct Memcg {
    /// Its parent (itself for the root), or for a free one the next free.
    pub(crate) parent: AtomicU16,
    /// Its first child, and the next child of its parent.
    pub(crate) child: AtomicU16,
    pub(crate) sibling: AtomicU16,
    /// Where the last partial walk of its subtree stopped.
    pub(crate) walked: AtomicU16,
    pub(crate) alive: AtomicBool,
    pub(crate) swappiness: AtomicU8,
    /// Charged to it and to all below it.
    pub(crate) usage: AtomicU64,
    pub(crate) min: AtomicU64,
    pub(crate) low: AtomicU64,
    pub(crate) max: AtomicU64,
    /// Effective protection, computed on the way down in each reclaim walk.
    pub(crate) emin: AtomicU64,
    pub(crate) elow: AtomicU64,
    pub(crate) lruvec: Lruvec,
    pub(crate) vmstat: VmStat,
}

/// What holds for the tree of cgroups as a whole.
#[derive(Debug, Default)]
pub(crate) struct MemcgTree {
    /// Read to walk the tree, written to change its shape.
    pub(crate) lock: Lock,
    /// The first free entry.
    pub(crate) free: AtomicU16,
    /// Whether a child gets a share of what its parent's protection leaves over (the mount
    /// option `memory_recursiveprot`).
    pub(crate) recursive: AtomicBool,
}

impl Memcg {
    fn init(&self, parent: MemcgId, swappiness: u8) {
        self.parent.store(parent.0, Relaxed);
        for link in [&self.child, &self.sibling, &self.walked] {
            link.store(MemcgId::NONE.0, Relaxed);
        }
        self.alive.store(true, Relaxed);
        self.swappiness.store(swappiness, Relaxed);
        self.max.store(u64::MAX, Relaxed);
        for amount in [&self.usage, &self.min, &self.low, &self.emin, &self.elow] {
            amount.store(0, Relaxed);
        }
        self.lruvec.clear();
        self.vmstat.clear();
    }

    /// Counters of what happened in this cgroup itself.
    pub fn vmstat(&self) -> &VmStat {
        &self.vmstat
    }
}

impl Maps<'_> {
    pub(crate) fn init_memcgs(&self) {
        self.memcgs[0].init(MemcgId::ROOT, 60);
        let rest = &self.memcgs[1..];
        for (next, memcg) in (2..).zip(rest) {
            let last = usize::from(next) == self.memcgs.len();
            memcg.parent.store(if last { MemcgId::NONE.0 } else { next }, Relaxed);
            memcg.alive.store(false, Relaxed);
        }
        self.tree.free.store(if rest.is_empty() { MemcgId::NONE.0 } else { 1 }, Relaxed);
    }

    /// A cgroup.
    #[inline]
    pub fn memcg(&self, id: MemcgId) -> &Memcg {
        &self.memcgs[usize::from(id.0)]
    }

    /// A cgroup, its parent and so on up to the root.
    #[inline]
    pub(crate) fn ancestors(&self, id: MemcgId) -> impl Iterator<Item = &Memcg> {
        let parent = |id: &MemcgId| {
            (*id != MemcgId::ROOT).then(|| MemcgId(self.memcg(*id).parent.load(Relaxed)))
        };
        core::iter::successors(Some(id), parent).map(|id| self.memcg(id))
    }
}
