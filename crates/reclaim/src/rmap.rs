//! Reverse maps: from a mapping's pages to the VMAs that map them.

use crate::folio::FolioFlags;
use crate::lock::Lock;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Index of a mapping in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MappingId(pub u32);

/// What a mapping's pages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingKind {
    /// Pages of a file, shared by every VMA that maps them (the kernel's `address_space`).
    File,
    /// Anonymous memory of one process (its `anon_vma`).
    Anon,
}

impl MappingKind {
    /// What every folio of such a mapping carries.
    pub fn folio_flags(self) -> FolioFlags {
        match self {
            Self::File => FolioFlags::empty(),
            Self::Anon => FolioFlags::ANON | FolioFlags::SWAPBACKED,
        }
    }
}

/// The VMAs that map a run of pages, sorted by page offset. A walk costs one step a VMA up to the
/// folio's last page, where kernels' interval tree costs a logarithm.
#[derive(Debug, Default)]
pub struct Mapping {
    pub(crate) lock: Lock,
    /// First VMA, or for a free mapping the next free one.
    pub(crate) head: AtomicU32,
    anon: AtomicU32,
}

impl Mapping {
    pub(crate) fn init(&self, kind: MappingKind) {
        self.anon.store(u32::from(kind == MappingKind::Anon), Relaxed);
    }

    /// What the pages are.
    pub fn kind(&self) -> MappingKind {
        match self.anon.load(Relaxed) {
            0 => MappingKind::File,
            _ => MappingKind::Anon,
        }
    }

    /// The lock of the reverse map, for a caller that changes what its VMAs map. Reclaim only tries
    /// it, and keeps a folio whose reverse map is locked.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}
