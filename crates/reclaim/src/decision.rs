//! What the classic LRU does with a folio at the end of its inactive list.

use crate::folio::{FolioFlags, FolioGuard};
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
/// moves its `REFERENCED` flag along (Linux 7.1.5, vmscan.c, classic LRU).
pub fn folio_check_references(folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
    let was_referenced = !folio.test_and_clear(FolioFlags::REFERENCED).is_empty();
    if found.vm_flags.contains(VmFlags::LOCKED) {
        return FolioRef::Activate;
    }
    let anon = folio.folio().flags().contains(FolioFlags::SWAPBACKED);
    match found.refs {
        Refs::Unknown => FolioRef::Keep,
        Refs::Vmas(0) if was_referenced && !anon => FolioRef::ReclaimClean,
        Refs::Vmas(0) => FolioRef::Reclaim,
        Refs::Vmas(nr) => {
            folio.set(FolioFlags::REFERENCED);
            let executable = found.vm_flags.contains(VmFlags::EXEC) && !anon;
            if was_referenced || nr > 1 || executable {
                FolioRef::Activate
            } else {
                FolioRef::Keep
            }
        }
    }
}
