//! VMAs: ranges of an address space that map a run of a mapping's pages.

use super::tree::Links;
use crate::folio::{Folio, MappingKind};
use crate::id::{MappingId, MappingNr, MmId, MmNr, NONE};
use crate::life::Generation;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::{Format, VirtAddr, VirtRange};

bitflags::bitflags! {
    /// The properties of a VMA that reclaim reads, with the kernel's names (`VM_…`).
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
        /// Stores reach the file (MAP_SHARED); otherwise they make private copies.
        const SHARED = 1 << 7;
        /// userfaultfd write-protects pages of it.
        const UFFD_WP = 1 << 8;
    }
}

impl VmFlags {
    /// The flags of VMAs whose accesses do not predict further ones (the kernel's
    /// `vma_has_recency`).
    pub const NO_RECENCY: Self = Self::SEQ_READ.union(Self::RAND_READ).union(Self::NOREUSE);
}

/// A VMA, in 112 bytes. It is in the tree of its address space by address. It is in the reverse
/// maps of its file and of its anonymous pages by page offset. To change it, a task holds the mmap
/// lock for writing and the locks of its reverse maps. Each of these locks keeps it as it is.
///
/// The offsets of anonymous pages are those of the VMA's file. In anonymous memory they begin at
/// the page number of the address where it was first mapped. So one offset serves both reverse
/// maps.
#[derive(Debug, Default)]
pub struct Vma {
    start: AtomicU64,
    end: AtomicU64,
    pgoff: AtomicU64,
    flags: AtomicU32,
    mm: AtomicU32,
    file: AtomicU32,
    anon: AtomicU32,
    pub(crate) generation: Generation,
    /// The place among the VMAs of the address space.
    pub(super) by_address: Links,
    in_file: Interval,
    in_anon: Interval,
}

const _: () = assert!(size_of::<Vma>() == 112, "112 bytes a VMA");

/// The place of a VMA in a reverse map, in 24 bytes.
#[derive(Debug, Default)]
pub(super) struct Interval {
    pub(super) links: Links,
    /// The greatest end of this VMA and of those below it in the tree, as a page offset.
    pub(super) past: AtomicU64,
}

/// The properties of a new VMA.
#[derive(Clone, Debug)]
pub struct NewVma {
    /// The address space.
    pub mm: MmId,
    /// The addresses, page-aligned.
    pub range: VirtRange,
    /// The flags.
    pub flags: VmFlags,
    /// The mapping whose pages it maps.
    pub mapping: MappingId,
    /// The page of the mapping at `range.start`. For anonymous memory, it is the page number of
    /// that address.
    pub pgoff: u64,
}

impl Vma {
    pub(crate) fn init(&self, new: &NewVma, kind: MappingKind) {
        self.set_range(&new.range, new.pgoff);
        self.set_flags(new.flags);
        self.mm.store(new.mm.nr, Relaxed);
        let (file, anon) = match kind {
            MappingKind::File | MappingKind::Shmem => (new.mapping.nr, NONE),
            MappingKind::Anon => (NONE, new.mapping.nr),
        };
        self.file.store(file, Relaxed);
        self.anon.store(anon, Relaxed);
    }

    /// Makes this VMA map `range` from page `pgoff` on, otherwise as `other` does.
    pub(crate) fn init_like(&self, other: &Vma, mm: MmNr, range: &VirtRange, pgoff: u64) {
        self.set_range(range, pgoff);
        self.set_flags(other.flags());
        self.mm.store(mm.0, Relaxed);
        self.file.store(other.file.load(Relaxed), Relaxed);
        self.anon.store(other.anon.load(Relaxed), Relaxed);
    }

    pub(crate) fn set_range(&self, range: &VirtRange, pgoff: u64) {
        self.start.store(range.start.get(), Relaxed);
        self.end.store(range.end.get(), Relaxed);
        self.pgoff.store(pgoff, Relaxed);
    }

    pub(crate) fn set_flags(&self, flags: VmFlags) {
        self.flags.store(flags.bits(), Relaxed);
    }

    /// Returns the place in the reverse map of its file, or of its anonymous pages.
    #[inline]
    pub(super) fn interval(&self, kind: MappingKind) -> &Interval {
        match kind {
            MappingKind::File | MappingKind::Shmem => &self.in_file,
            MappingKind::Anon => &self.in_anon,
        }
    }

    /// Returns the link that names the next free entry while this one is free.
    pub(super) fn free_link(&self) -> &AtomicU32 {
        &self.by_address.above
    }

    /// Returns the file or the shared memory that it maps, or `None` for anonymous memory.
    #[inline]
    pub(crate) fn file(&self) -> Option<MappingNr> {
        let id = self.file.load(Relaxed);
        (id != NONE).then_some(MappingNr(id))
    }

    /// Returns the reverse map of the VMA's anonymous pages. A file's VMA has none before its first
    /// such page.
    #[inline]
    pub(crate) fn anon(&self) -> Option<MappingNr> {
        let id = self.anon.load(Relaxed);
        (id != NONE).then_some(MappingNr(id))
    }

    pub(crate) fn set_anon(&self, mapping: MappingNr) {
        self.anon.store(mapping.0, Relaxed);
    }

    /// Returns true if a store makes a private copy of the page.
    #[inline]
    pub fn is_private(&self) -> bool {
        !self.flags().contains(VmFlags::SHARED)
    }

    /// Returns the first address.
    #[inline]
    pub fn start(&self) -> VirtAddr {
        VirtAddr::new(self.start.load(Relaxed))
    }

    /// Returns the first address past the end.
    #[inline]
    pub fn end(&self) -> VirtAddr {
        VirtAddr::new(self.end.load(Relaxed))
    }

    /// Returns the page of the mapping at [`Vma::start`].
    #[inline]
    pub fn pgoff(&self) -> u64 {
        self.pgoff.load(Relaxed)
    }

    /// Returns the flags.
    #[inline]
    pub fn flags(&self) -> VmFlags {
        VmFlags::from_bits_retain(self.flags.load(Relaxed))
    }

    /// Returns the address space.
    #[inline]
    pub(crate) fn mm(&self) -> MmNr {
        MmNr(self.mm.load(Relaxed))
    }

    /// Returns the addresses.
    pub fn range(&self) -> VirtRange {
        self.start()..self.end()
    }

    /// Returns the page of the mapping after the last one that it maps.
    #[inline]
    pub(crate) fn past<F: Format>(&self) -> u64 {
        self.pgoff_at::<F>(self.end())
    }

    /// Returns the page of the mapping at `addr`, which lies in the VMA or at its end.
    #[inline]
    pub fn pgoff_at<F: Format>(&self, addr: VirtAddr) -> u64 {
        self.pgoff() + ((addr.get() - self.start().get()) >> F::PAGE_SHIFT)
    }

    /// Returns the range in which the VMA would map all of the folio's pages that it shares. Also
    /// returns the offset of the first of them in the folio. Returns `None` if it shares none.
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
