//! What is done with a folio at the end of its inactive list, or of the oldest generation.

use crate::folio::{Folio, FolioFlags, FolioGuard};
use crate::maps::Maps;
use crate::mglru::generation::lru_gen_set_refs;
use crate::recency::Recency;
use crate::referenced::{Referenced, Refs};
use crate::vma::VmFlags;

/// The decision, under the kernel's names (`FOLIOREF_…`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolioRef {
    /// Reclaim it.
    Reclaim,
    /// Put it back.
    Keep,
    /// Make it active.
    Activate,
}

/// Decides on a locked folio from what
/// [`Engine::folio_referenced`](crate::Engine::folio_referenced) found, and moves its `REFERENCED`
/// flag along, unless a locked VMA or an unknown answer decides alone (classic branch of Linux
/// 7.3.4, vmscan.c).
#[inline]
pub fn folio_check_references(folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
    let nr = match vmas(found) {
        Ok(nr) => nr,
        Err(decision) => return decision,
    };
    let folio = folio.folio();
    let before = folio.note_use(Recency::NONE, Recency::REFERENCED);
    let was_referenced = before.contains(Recency::REFERENCED);
    if nr == 0 {
        return FolioRef::Reclaim;
    }
    folio.note_use(Recency::REFERENCED, Recency::NONE);
    let executable = is_executable(folio, found.vm_flags);
    if was_referenced || nr > 1 || executable { FolioRef::Activate } else { FolioRef::Keep }
}

/// The same for a folio of a generation: the first sighting marks it, or makes a file's executable
/// page active, as any further one does (branch of the multi-generational LRU of Linux 7.3.4,
/// vmscan.c).
#[inline]
pub fn lru_gen_check_references(folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
    match vmas(found) {
        Err(decision) => decision,
        Ok(0) => FolioRef::Reclaim,
        Ok(_) if lru_gen_set_refs(folio.folio(), found.vm_flags) => FolioRef::Activate,
        Ok(_) => FolioRef::Keep,
    }
}

/// Whether a VMA with such flags maps the folio as executable pages of a file
/// (`is_exec_file_folio`): they are kept at their first use, since each program waits for its own.
#[inline]
pub(crate) fn is_executable(folio: &Folio, vm_flags: VmFlags) -> bool {
    vm_flags.contains(VmFlags::EXEC) && !folio.flags().contains(FolioFlags::SWAPBACKED)
}

/// How many VMAs used the folio, unless that does not matter.
fn vmas(found: Referenced) -> Result<u32, FolioRef> {
    match found.refs {
        _ if found.vm_flags.contains(VmFlags::LOCKED) => Err(FolioRef::Activate),
        Refs::Unknown => Err(FolioRef::Keep),
        Refs::Vmas(nr) => Ok(nr),
    }
}

impl Maps<'_> {
    /// Decides by the rules of the lists in use; while they are switched, by the classic ones.
    #[inline]
    pub(crate) fn check_references(&self, folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
        if self.lru_gen_settled() {
            lru_gen_check_references(folio, found)
        } else {
            folio_check_references(folio, found)
        }
    }
}
