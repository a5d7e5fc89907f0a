//! Address spaces.
use crate::id::{MappingNr, MemcgNr, NONE};
use crate::life::Generation;
use crate::lock::QueuedLock;
use crate::lru::mglru::Membership;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::mmu::Asid;
use pageout_paging::{FlushBatch, Pfn};

/// An address space, in 64 bytes.
#[derive(Debug, Default)]
pub struct Mm {
    root: AtomicU64,
    asid: AtomicU32,
    exiting: AtomicBool,
    /// The mmap lock: held to read VMAs, and for writing to change them.
    pub(crate) lock: QueuedLock,
    /// The top of the tree of VMAs by address.
    pub(crate) vmas: AtomicU32,
    /// The VMA found last. In a free entry, the next free one.
    pub(super) found: AtomicU32,
    /// The reverse map of private copies of files' pages. Forking shares it with the family.
    anon: AtomicU32,
    fault_around: AtomicU32,
    pub(crate) generation: Generation,
    /// The deferred invalidations that are not known to be complete.
    pub(crate) flush_batch: FlushBatch,
    memcg: AtomicU16,
    /// The place among the address spaces that walks of its cgroup visit.
    pub(crate) walked: Membership,
}

const _: () = assert!(size_of::<Mm>() == 64, "64 bytes an address space");

impl Mm {
    pub(super) fn init(&self, root: Pfn, asid: Asid) {
        self.root.store(root.get(), Relaxed);
        self.asid.store(asid.0, Relaxed);
        self.exiting.store(false, Relaxed);
        self.vmas.store(NONE, Relaxed);
        self.found.store(NONE, Relaxed);
        self.anon.store(NONE, Relaxed);
        self.fault_around.store(0, Relaxed);
        self.memcg.store(MemcgNr::ROOT.0, Relaxed);
        self.walked.init();
    }

    /// Returns the frame of the root table.
    #[inline]
    pub fn root(&self) -> Pfn {
        Pfn::new(self.root.load(Relaxed))
    }

    /// Returns the address space's tag in TLBs.
    #[inline]
    pub fn asid(&self) -> Asid {
        Asid(self.asid.load(Relaxed))
    }

    /// Marks the process as exiting, or its memory as taken by the OOM reaper: its accesses no
    /// longer matter.
    pub fn set_exiting(&self) {
        self.exiting.store(true, Relaxed);
    }

    /// Returns true if the process is exiting.
    #[inline]
    pub fn is_exiting(&self) -> bool {
        self.exiting.load(Relaxed)
    }

    /// Returns the cgroup that the address space's faults are charged to; the root at first.
    #[inline]
    pub(crate) fn memcg(&self) -> MemcgNr {
        MemcgNr(self.memcg.load(Relaxed))
    }

    pub(crate) fn store_memcg(&self, memcg: MemcgNr) {
        self.memcg.store(memcg.0, Relaxed);
    }

    /// Returns the number of bytes around a fault on a file's page that are mapped along with it if
    /// they are in memory (Linux: 64 KiB, `fault_around_bytes`). The default is 0: only the page
    /// itself.
    #[inline]
    pub fn fault_around(&self) -> u64 {
        self.fault_around.load(Relaxed).into()
    }

    /// Sets [`Mm::fault_around`] to `bytes`, rounded down to a power of two.
    pub fn set_fault_around(&self, bytes: u32) {
        self.fault_around.store(bytes.checked_ilog2().map_or(0, |log| 1 << log), Relaxed);
    }

    pub(crate) fn inherit_fault_around(&self, parent: &Self) {
        self.fault_around.store(parent.fault_around.load(Relaxed), Relaxed);
    }

    pub(crate) fn anon(&self) -> Option<MappingNr> {
        let id = self.anon.load(Relaxed);
        (id != NONE).then_some(MappingNr(id))
    }

    pub(crate) fn set_anon(&self, mapping: Option<MappingNr>) {
        self.anon.store(mapping.map_or(NONE, |id| id.0), Relaxed);
    }

    /// Sets the reverse map of private copies unless there is one. Returns the one that is set
    /// then.
    pub(crate) fn propose_anon(&self, mapping: MappingNr) -> MappingNr {
        let set = self.anon.compare_exchange(NONE, mapping.0, Relaxed, Relaxed);
        set.map_or_else(MappingNr, |_| mapping)
    }
}
