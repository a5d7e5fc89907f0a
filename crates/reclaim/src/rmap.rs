//! Reverse maps: from a mapping's pages to the VMAs that map them.

use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::lock::{Lock, WriteGuard};
use crate::maps::{Maps, NONE};
use crate::rank::{Rank, Ranked};
use crate::vma::{Vma, VmaId};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::{Env, Order};

/// Index of a mapping in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MappingId(pub u32);

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

/// The locks of the reverse maps of one VMA, held.
#[derive(Debug)]
pub(crate) struct RmapGuards<'m> {
    _file: Option<Ranked<'m, WriteGuard<'m>>>,
    _anon: Option<Ranked<'m, WriteGuard<'m>>>,
}

impl<'m> Maps<'m> {
    /// The VMAs of a mapping, by page offset. The caller holds the mapping's lock.
    #[inline]
    pub(crate) fn vmas_of(&self, mapping: &Mapping) -> impl Iterator<Item = &'m Vma> {
        let kind = mapping.kind();
        let first = self.vma_at(&mapping.head);
        core::iter::successors(first, move |vma| self.vma_at(vma.next_of(kind)))
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Takes the locks of the VMA's reverse maps for writing, the file's first.
    pub(crate) fn lock_rmaps(&self, vma: &Vma) -> RmapGuards<'e> {
        let take = |rank, id: Option<MappingId>| {
            id.map(|id| self.lock_write(rank, &self.maps.mapping(id).lock))
        };
        let file = take(Rank::Rmap, vma.file());
        RmapGuards { _file: file, _anon: take(Rank::RmapOfAnon, vma.anon()) }
    }
}

impl<'m> Maps<'m> {
    /// Lists a VMA in both its reverse maps, whose locks are held.
    pub(crate) fn rmap_insert(&self, id: VmaId) {
        let vma = self.vma(id);
        for mapping in [vma.file(), vma.anon()].into_iter().flatten() {
            self.rmap_insert_in(mapping, id);
        }
    }

    /// Lists a VMA in one of its reverse maps, whose lock is held.
    pub(crate) fn rmap_insert_in(&self, mapping: MappingId, id: VmaId) {
        let (mapping, vma) = (self.mapping(mapping), self.vma(id));
        let kind = mapping.kind();
        let mut link = &mapping.head;
        while let Some(next) = self.vma_at(link).filter(|next| next.pgoff() < vma.pgoff()) {
            link = next.next_of(kind);
        }
        vma.next_of(kind).store(link.load(Relaxed), Relaxed);
        link.store(id.0, Relaxed);
    }

    /// Takes a VMA off both its reverse maps, whose locks are held.
    ///
    /// # Panics
    /// If it is not listed.
    pub(crate) fn rmap_remove(&self, id: VmaId) {
        let vma = self.vma(id);
        for mapping in [vma.file(), vma.anon()].into_iter().flatten().map(|m| self.mapping(m)) {
            let kind = mapping.kind();
            let mut link = &mapping.head;
            while link.load(Relaxed) != id.0 {
                let next = self.vma_at(link).expect("a VMA to remove is in its mapping's list");
                link = next.next_of(kind);
            }
            link.store(vma.next_of(kind).load(Relaxed), Relaxed);
            vma.next_of(kind).store(NONE, Relaxed);
        }
    }
}
