//! Folios: the unit of reclaim, 2^order frames with one state.

use crate::lock::{Lock, WriteGuard};
use crate::rmap::MappingId;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use pageout_paging::{Order, Pfn};

bitflags::bitflags! {
    /// State of a folio, named as kernels name it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct FolioFlags: u32 {
        /// Seen referenced once since this was last cleared.
        const REFERENCED = 1 << 0;
        /// Swap, if anything, backs it (anonymous and shared memory).
        const SWAPBACKED = 1 << 1;
        /// Locked into memory.
        const MLOCKED = 1 << 2;
        /// Being watched by idle-page tracking.
        const IDLE = 1 << 3;
        /// Idle-page tracking cleared a young bit: counts as young once.
        const YOUNG = 1 << 4;
        /// Device memory: never on an LRU list.
        const ZONE_DEVICE = 1 << 5;
        /// Anonymous memory.
        const ANON = 1 << 6;
    }
}

/// Index of a folio in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FolioId(pub u32);

/// One folio's state, 40 bytes. Flags are plain stores by whoever holds the folio's lock.
#[derive(Debug, Default)]
pub struct Folio {
    index: AtomicU64,
    pfn: AtomicU64,
    /// The mapping, or for a free folio the next free one.
    pub(crate) mapping: AtomicU32,
    mapcount: AtomicU32,
    refs: AtomicU32,
    flags: AtomicU32,
    lock: Lock,
    order: AtomicU8,
}

/// A folio's lock, held.
#[derive(Debug)]
pub struct FolioGuard<'a> {
    folio: &'a Folio,
    _lock: WriteGuard<'a>,
}

impl Folio {
    pub(crate) fn init(
        &self,
        pfn: Pfn,
        order: Order,
        mapping: MappingId,
        index: u64,
        flags: FolioFlags,
    ) {
        self.pfn.store(pfn.get(), Relaxed);
        self.order.store(order.get(), Relaxed);
        self.index.store(index, Relaxed);
        self.flags.store(flags.bits(), Relaxed);
        self.mapcount.store(0, Relaxed);
        self.refs.store(1, Relaxed);
        self.mapping.store(mapping.0, Relaxed);
    }

    /// First frame.
    #[inline]
    pub fn pfn(&self) -> Pfn {
        Pfn::new(self.pfn.load(Relaxed))
    }

    /// Pages, a power of two.
    #[inline]
    pub fn nr_pages(&self) -> usize {
        1 << self.order.load(Relaxed)
    }

    /// Offset of the first page in the mapping, in pages.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index.load(Relaxed)
    }

    /// Whose page offsets [`Folio::index`] counts.
    #[inline]
    pub fn mapping(&self) -> MappingId {
        MappingId(self.mapping.load(Relaxed))
    }

    /// Entries that map the folio; a PMD leaf counts once.
    #[inline]
    pub fn mapcount(&self) -> u32 {
        self.mapcount.load(Relaxed)
    }

    /// References: one a mapping entry, one of whoever allocated the folio. Whoever holds the last
    /// one and reads 1 sees all that was done under the others.
    #[inline]
    pub fn refs(&self) -> u32 {
        self.refs.load(Acquire)
    }

    /// Flags.
    #[inline]
    pub fn flags(&self) -> FolioFlags {
        FolioFlags::from_bits_retain(self.flags.load(Relaxed))
    }

    /// Takes the folio's lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<FolioGuard<'_>> {
        self.lock.try_write().map(|lock| FolioGuard { folio: self, _lock: lock })
    }

    /// Changes flags. The caller holds the folio's lock.
    #[inline]
    pub(crate) fn update_flags(&self, set: FolioFlags, clear: FolioFlags) {
        self.flags.store(((self.flags() | set) - clear).bits(), Relaxed);
    }

    pub(crate) fn add_mappings(&self, nr: u32) {
        self.refs.fetch_add(nr, Relaxed);
        self.mapcount.fetch_add(nr, Relaxed);
    }

    pub(crate) fn remove_mappings(&self, nr: u32) {
        let before = self.mapcount.fetch_sub(nr, Relaxed);
        assert!(before >= nr, "mapcount {before} covers the {nr} entries removed");
        // After all else: from here on the folio may be freed and used anew.
        self.refs.fetch_sub(nr, Release);
    }
}

impl<'a> FolioGuard<'a> {
    /// The folio.
    pub fn folio(&self) -> &'a Folio {
        self.folio
    }

    /// Sets flags, with a plain store.
    pub fn set(&self, flags: FolioFlags) {
        self.folio.update_flags(flags, FolioFlags::empty());
    }

    /// Clears flags, with a plain store; which of them were set.
    pub fn test_and_clear(&self, flags: FolioFlags) -> FolioFlags {
        let were = self.folio.flags() & flags;
        self.folio.update_flags(FolioFlags::empty(), flags);
        were
    }
}
