//! What the classic LRU does with a folio at the end of its inactive list.

use crate::folio::{FolioFlags, FolioGuard};
use crate::recency::Recency;
use crate::referenced::{Referenced, Refs};
use crate::vma::VmFlags;

/// The decision, under the kernel's names (`FOLIOREF_…`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolioRef {
    /// Reclaim it.
    Reclaim,
    /// Reclaim it if that takes no write-out.
    ReclaimClean,
    /// Leave it on the inactive list.
    Keep,
    /// Move it to the active list.
    Activate,
}

/// Decides on a locked folio from what [`folio_referenced`](crate::folio_referenced) found, and
/// moves its `REFERENCED` flag along, unless a locked VMA or an unknown answer decides alone
/// (classic branch of Linux 7.1.5, vmscan.c).
pub fn folio_check_references(folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
    if found.vm_flags.contains(VmFlags::LOCKED) {
        return FolioRef::Activate;
    }
    let Refs::Vmas(nr) = found.refs else {
        return FolioRef::Keep;
    };
    let folio = folio.folio();
    let before = folio.note_use(Recency::NONE, Recency::REFERENCED);
    let was_referenced = before.contains(Recency::REFERENCED);
    let file = !folio.flags().contains(FolioFlags::SWAPBACKED);
    if nr == 0 {
        return if was_referenced && file { FolioRef::ReclaimClean } else { FolioRef::Reclaim };
    }
    folio.note_use(Recency::REFERENCED, Recency::NONE);
    let executable = found.vm_flags.contains(VmFlags::EXEC) && file;
    if was_referenced || nr > 1 || executable { FolioRef::Activate } else { FolioRef::Keep }
}
