//! VMAs: ranges of an address space that map a run of a mapping's pages.

use crate::folio::Folio;
use crate::mm::MmId;
use crate::rmap::MappingId;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::{Format, VirtAddr, VirtRange};

bitflags::bitflags! {
    /// Properties of a VMA that reclaim looks at, named as kernels name them (`VM_…`).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct VmFlags: u32 {
        /// Readable.
        const READ = 1 << 0;
        /// Writable.
        const WRITE = 1 << 1;
        /// Executable.
        const EXEC = 1 << 2;
        /// Locked into memory (mlock).
        const LOCKED = 1 << 3;
        /// Will be read in order: an access says nothing about the next.
        const SEQ_READ = 1 << 4;
        /// Will be read at random: an access says nothing about the next.
        const RAND_READ = 1 << 5;
        /// The file behind it was opened or advised for one use only (FMODE_NOREUSE).
        const NOREUSE = 1 << 6;
    }
}

impl VmFlags {
    /// Any of these: accesses do not predict further accesses (the kernel's `vma_has_recency`).
    pub const NO_RECENCY: Self = Self::SEQ_READ.union(Self::RAND_READ).union(Self::NOREUSE);
}

/// Index of a VMA in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VmaId(pub u32);

/// One VMA, 40 bytes. Written before it is listed in its mapping; listed, taken off and walked
/// under that mapping's lock.
#[derive(Debug, Default)]
pub struct Vma {
    start: AtomicU64,
    end: AtomicU64,
    pgoff: AtomicU64,
    flags: AtomicU32,
    mm: AtomicU32,
    pub(crate) mapping: AtomicU32,
    /// The next VMA of the mapping, or for a free one the next free.
    pub(crate) next: AtomicU32,
}

/// What a new VMA maps.
#[derive(Clone, Debug)]
pub struct NewVma {
    /// The address space.
    pub mm: MmId,
    /// Addresses, page-aligned.
    pub range: VirtRange,
    /// Properties.
    pub flags: VmFlags,
    /// Whose pages it maps.
    pub mapping: MappingId,
    /// Page of the mapping at `range.start`.
    pub pgoff: u64,
}

impl Vma {
    pub(crate) fn init(&self, new: &NewVma) {
        self.start.store(new.range.start.get(), Relaxed);
        self.end.store(new.range.end.get(), Relaxed);
        self.pgoff.store(new.pgoff, Relaxed);
        self.flags.store(new.flags.bits(), Relaxed);
        self.mm.store(new.mm.0, Relaxed);
        self.mapping.store(new.mapping.0, Relaxed);
    }

    /// First address.
    pub fn start(&self) -> VirtAddr {
        VirtAddr::new(self.start.load(Relaxed))
    }

    /// First address past the end.
    pub fn end(&self) -> VirtAddr {
        VirtAddr::new(self.end.load(Relaxed))
    }

    /// Page of the mapping at [`Vma::start`].
    pub fn pgoff(&self) -> u64 {
        self.pgoff.load(Relaxed)
    }

    /// Properties.
    pub fn flags(&self) -> VmFlags {
        VmFlags::from_bits_retain(self.flags.load(Relaxed))
    }

    /// The address space.
    pub fn mm(&self) -> MmId {
        MmId(self.mm.load(Relaxed))
    }

    /// Where the VMA maps the folio's pages, were they all mapped: the intersection of both, with
    /// the first page's offset into the folio. `None` if they share no page.
    #[inline]
    pub fn range_of<F: Format>(&self, folio: &Folio) -> Option<(VirtRange, usize)> {
        let (start, end) = (self.start(), self.end());
        let pages = (end.get() - start.get()) >> F::PAGE_SHIFT;
        let (pgoff, index) = (self.pgoff(), folio.index());
        let first = index.max(pgoff);
        let last = (index + folio.nr_pages() as u64).min(pgoff + pages);
        let at = |page: u64| start.add((page - pgoff) << F::PAGE_SHIFT);
        (first < last).then(|| (at(first)..at(last), (first - index) as usize))
    }
}
