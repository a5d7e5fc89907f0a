//! Memory cgroups: who is charged for a folio, what it may use, what is protected.

use crate::errno::Errno;
use crate::id::MemcgId;
use crate::lock::Lock;
use crate::lruvec::Lruvec;
use crate::mglru::memcg_lru::MemcgLruLink;
use crate::mglru::mm_list::MmList;
use crate::scan::MAX_SWAPPINESS;
use crate::vmstat::VmStat;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering::Relaxed};

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
    pub(crate) swappiness: AtomicU8,
    /// Charged to it and to all below it.
    pub(crate) usage: AtomicU64,
    pub(crate) min: AtomicU64,
    pub(crate) low: AtomicU64,
    pub(crate) max: AtomicU64,
    /// Protection that its children claim together, and what it is left with itself: both computed
    /// on the way down in each reclaim walk.
    pub(crate) children_min: AtomicU64,
    pub(crate) children_low: AtomicU64,
    pub(crate) emin: AtomicU64,
    pub(crate) elow: AtomicU64,
    pub(crate) lruvec: Lruvec,
    /// When reclaim of the whole machine is to visit it.
    pub(crate) lru_link: MemcgLruLink,
    /// The address spaces of its processes.
    pub(crate) mm_list: MmList,
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
    /// Free pages at which background reclaim stops.
    pub(crate) high_watermark: AtomicU64,
}

impl Memcg {
    /// Swappiness of the root until it is set (the kernel's `vm_swappiness`).
    pub(crate) const SWAPPINESS: u8 = 60;

    pub(crate) fn init(&self, parent: MemcgId, swappiness: u8, lru_gen: bool, now: u64) {
        self.parent.store(parent.0, Relaxed);
        for link in [&self.child, &self.sibling, &self.walked] {
            link.store(MemcgId::NONE.0, Relaxed);
        }
        self.swappiness.store(swappiness, Relaxed);
        self.max.store(u64::MAX, Relaxed);
        let claimed = [&self.children_min, &self.children_low, &self.emin, &self.elow];
        for amount in claimed.into_iter().chain([&self.usage, &self.min, &self.low]) {
            amount.store(0, Relaxed);
        }
        self.lruvec.init(lru_gen, now);
        self.mm_list.init();
        self.vmstat.clear();
    }

    /// Pages charged to it and to all below it.
    #[inline]
    pub fn usage(&self) -> u64 {
        self.usage.load(Relaxed)
    }

    /// Pages it may use; `u64::MAX` without a limit.
    pub fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    /// Limits what it may use, in pages. A limit below its usage holds from the next charge on: it
    /// frees nothing by itself.
    pub fn set_max(&self, pages: u64) {
        self.max.store(pages, Relaxed);
    }

    /// Protects this many pages from all reclaim from above.
    pub fn set_min(&self, pages: u64) {
        self.min.store(pages, Relaxed);
    }

    /// Protects this many pages from reclaim from above, as long as there is anything else.
    pub fn set_low(&self, pages: u64) {
        self.low.store(pages, Relaxed);
    }

    /// How much rather anonymous memory is reclaimed than files' pages, 0 to 200.
    pub fn swappiness(&self) -> u8 {
        self.swappiness.load(Relaxed)
    }

    /// Sets how much rather anonymous memory is reclaimed than files' pages: at 100 alike, at 0
    /// not at all for a cgroup's own sake.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] above 200.
    pub fn set_swappiness(&self, swappiness: u8) -> Result<(), Errno> {
        if swappiness > MAX_SWAPPINESS {
            return Err(Errno::EINVAL);
        }
        self.swappiness.store(swappiness, Relaxed);
        Ok(())
    }

    /// Counters of what happened in this cgroup itself.
    pub fn vmstat(&self) -> &VmStat {
        &self.vmstat
    }
}
