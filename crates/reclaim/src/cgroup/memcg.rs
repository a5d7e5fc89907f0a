//! Memory cgroups: the owners of charges, with their limits and protections.

use crate::id::MemcgNr;
use crate::life::Generation;
use crate::lock::QueuedLock;
use crate::lru::mglru::MmList;
use crate::vmstat::VmStat;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering::Relaxed};
use pageout_uapi::{Errno, MAX_SWAPPINESS};

/// A cgroup. Amounts are in pages.
#[derive(Debug, Default)]
pub struct Memcg {
    /// The parent (the root's is itself). In a free entry, the next free one.
    pub(super) parent: AtomicU16,
    /// The first child, and the next child of its parent.
    pub(super) child: AtomicU16,
    pub(super) sibling: AtomicU16,
    pub(super) generation: Generation,
    pub(super) swappiness: AtomicU8,
    /// The number of pages charged to it and to all below it.
    pub(crate) usage: AtomicU64,
    pub(super) min: AtomicU64,
    pub(super) low: AtomicU64,
    max: AtomicU64,
    /// The protection that the cgroup's children claim together, and the protection in effect for
    /// itself. Both are computed on the way down in each reclaim walk.
    pub(super) children_min: AtomicU64,
    pub(super) children_low: AtomicU64,
    pub(super) emin: AtomicU64,
    pub(super) elow: AtomicU64,
    /// The address spaces of the cgroup's processes.
    pub(crate) mm_list: MmList,
    pub(crate) vmstat: VmStat,
}

/// Returns the number of uses of an entry before that of a generation, modulo 2^16.
fn uses_before(generation: u32) -> u16 {
    (generation / 2) as u16
}

/// The state of the tree of cgroups as a whole.
#[derive(Debug, Default)]
pub(super) struct MemcgTree {
    /// The lock of the tree's shape: read to walk it, written to change it.
    pub(super) lock: QueuedLock,
    /// The first free entry.
    pub(super) free: AtomicU16,
    /// True if children share the part of their parent's protection that no child claims (the mount
    /// option `memory_recursiveprot`).
    pub(super) recursive: AtomicBool,
}

impl Memcg {
    /// The swappiness of the root until it is set (the kernel's `vm_swappiness`).
    pub(super) const SWAPPINESS: u8 = 60;

    pub(super) fn init(&self, parent: MemcgNr, swappiness: u8) {
        self.parent.store(parent.0, Relaxed);
        self.child.store(MemcgNr::NONE.0, Relaxed);
        self.sibling.store(MemcgNr::NONE.0, Relaxed);
        self.swappiness.store(swappiness, Relaxed);
        self.max.store(u64::MAX, Relaxed);
        let claimed = [&self.children_min, &self.children_low, &self.emin, &self.elow];
        for amount in claimed.into_iter().chain([&self.usage, &self.min, &self.low]) {
            amount.store(0, Relaxed);
        }
        self.mm_list.init();
        self.vmstat.clear();
        self.generation.begin();
    }

    /// Returns true if the entry is in use, by the cgroup before which it had as many.
    pub(super) fn is_online_as(&self, before: u16) -> bool {
        let generation = self.generation.now();
        generation % 2 == 1 && uses_before(generation) == before
    }

    /// Returns the number of cgroups, modulo 2^16, that had the entry before.
    pub(super) fn before(&self) -> u16 {
        uses_before(self.generation.now())
    }

    /// Returns the cgroup above; the root has none.
    #[inline]
    pub(crate) fn parent(&self) -> MemcgNr {
        MemcgNr(self.parent.load(Relaxed))
    }

    /// Returns the number of pages charged to the cgroup and to all below it.
    #[inline]
    pub fn usage(&self) -> u64 {
        self.usage.load(Relaxed)
    }

    /// Returns the limit in pages, or `u64::MAX` if there is none.
    pub fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    /// Sets the limit in pages. A limit below the usage takes effect at the next charge; setting it
    /// frees nothing.
    pub fn set_max(&self, pages: u64) {
        self.max.store(pages, Relaxed);
    }

    /// Sets `memory.min` in pages: reclaim for an ancestor's limit never takes them.
    pub fn set_min(&self, pages: u64) {
        self.min.store(pages, Relaxed);
    }

    /// Sets `memory.low` in pages: reclaim for an ancestor's limit takes them only if nothing else
    /// is left to reclaim.
    pub fn set_low(&self, pages: u64) {
        self.low.store(pages, Relaxed);
    }

    /// Returns the preference for reclaiming anonymous memory over files' pages, 0 to 200.
    pub fn swappiness(&self) -> u8 {
        self.swappiness.load(Relaxed)
    }

    /// Sets the preference for reclaiming anonymous memory over files' pages. At 100 both are
    /// alike. At 0 the cgroup's own reclaim takes no anonymous memory.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for values above 200.
    pub fn set_swappiness(&self, swappiness: u8) -> Result<(), Errno> {
        if swappiness > MAX_SWAPPINESS {
            return Err(Errno::EINVAL);
        }
        self.swappiness.store(swappiness, Relaxed);
        Ok(())
    }

    /// Returns the event counters of this cgroup itself.
    pub fn vmstat(&self) -> &VmStat {
        &self.vmstat
    }
}
