//! Mappings: files, shared memory and anonymous memory, whose pages VMAs map.

use crate::folio::FolioFlags;
use crate::lock::Lock;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::Order;

/// What a mapping's pages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingKind {
    /// Pages of a file, shared by every VMA that maps them (the kernel's `address_space`).
    File,
    /// Pages shared by every VMA that maps them, with no file behind them: what is out of memory is
    /// in swap, and a page that no one stored to is zeros (Linux 7.3.4, mm/shmem.c: shared
    /// anonymous mappings, memfd, tmpfs).
    Shmem,
    /// Anonymous memory of one process and those forked from it. Kernels have an `anon_vma` a
    /// process, chained; one for the family only makes walks visit VMAs that map none of a folio.
    Anon,
}

impl MappingKind {
    /// What every folio of such a mapping carries.
    pub fn folio_flags(self) -> FolioFlags {
        match self {
            Self::File => FolioFlags::empty(),
            Self::Shmem => FolioFlags::SWAPBACKED,
            Self::Anon => FolioFlags::ANON | FolioFlags::SWAPBACKED,
        }
    }
}

/// The VMAs that map a run of pages, sorted by page offset. A walk costs one step a VMA up to the
/// folio's last page, where kernels' interval tree costs a logarithm.
#[derive(Debug, Default)]
pub struct Mapping {
    pub(crate) lock: Lock,
    /// First VMA; a free mapping has none, for whoever comes too late.
    pub(crate) head: AtomicU32,
    /// Address spaces whose private copies of files' pages are here.
    pub(crate) users: AtomicU32,
    /// Orders of the folios that the file index ever had of it, a bit each; for a free mapping the
    /// next free one.
    pub(crate) orders: AtomicU32,
    kind: AtomicU8,
    order: AtomicU8,
    size: AtomicU64,
    /// Past the last page that the index ever had of it since it was truncated there.
    pub(crate) past: AtomicU64,
    /// Changes when shadows kept under its number become another's.
    pub(crate) salt: AtomicU32,
}

impl Mapping {
    pub(crate) fn init(&self, kind: MappingKind) {
        self.kind.store(kind as u8, Relaxed);
        self.past.store(0, Relaxed);
        self.forget_shadows();
        self.order.store(0, Relaxed);
        self.size.store(u64::MAX, Relaxed);
        self.users.store(0, Relaxed);
        self.orders.store(0, Relaxed);
    }

    /// Finds no shadow again that was kept for its pages.
    pub(crate) fn forget_shadows(&self) {
        self.salt.store(self.salt.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The largest order of the folios that faults make for it; 0 at first.
    #[inline]
    pub fn order(&self) -> Order {
        Order::new(self.order.load(Relaxed)).unwrap_or_default()
    }

    /// Sets the largest order of the folios that faults make for it from now on.
    pub fn set_order(&self, order: Order) {
        self.order.store(order.get(), Relaxed);
    }

    /// How many pages it has, from page 0; `u64::MAX` at first, which is no end.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    /// Sets how many pages a file or shared memory has: its bytes, rounded up. A fault past them,
    /// where nothing is mapped, is refused ([`Fault::PastEnd`](crate::Fault::PastEnd)); one before
    /// maps none of them beside its own, by whatever folio they are in (Linux 7.3.4, `i_size` in
    /// filemap_fault, filemap_map_pages and finish_fault; kernels let a PMD leaf of shared memory
    /// reach past it). What is mapped stays: when it shrinks,
    /// [`Engine::truncate`](crate::Engine::truncate) is to follow.
    pub fn set_size(&self, pages: u64) {
        self.size.store(pages, Relaxed);
    }

    /// What the pages are.
    #[inline]
    pub fn kind(&self) -> MappingKind {
        const SHMEM: u8 = MappingKind::Shmem as u8;
        const ANON: u8 = MappingKind::Anon as u8;
        match self.kind.load(Relaxed) {
            ANON => MappingKind::Anon,
            SHMEM => MappingKind::Shmem,
            _ => MappingKind::File,
        }
    }

    /// The lock of the reverse map, for a caller that changes what its VMAs map. Reclaim only tries
    /// it, and keeps a folio whose reverse map is locked.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}
