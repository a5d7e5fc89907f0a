//! The decision on a folio at the end of its inactive list, or of the oldest generation.

use super::referenced::{Referenced, Refs};
use crate::folio::FolioGuard;
use crate::lru::mglru::{is_executable, lru_gen_set_refs};
use crate::mm::VmFlags;
use crate::mm_state::MmState;
use crate::recency::Recency;

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

/// Decides on a locked folio from the result of
/// [`Engine::folio_referenced`](crate::Engine::folio_referenced), and updates the folio's
/// `REFERENCED` flag. If a VMA is locked or the result is unknown, that decides and the flag stays
/// (classic branch of Linux 7.3.4, vmscan.c).
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

/// Decides likewise on a folio of a generation. The first use found marks the folio, or activates
/// it if it is an executable page of a file. Any later use activates it (branch of the
/// multi-generational LRU of Linux 7.3.4, vmscan.c).
#[inline]
pub fn lru_gen_check_references(folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
    match vmas(found) {
        Err(decision) => decision,
        Ok(0) => FolioRef::Reclaim,
        Ok(_) if lru_gen_set_refs(folio.folio(), found.vm_flags) => FolioRef::Activate,
        Ok(_) => FolioRef::Keep,
    }
}

/// Returns the number of VMAs that used the folio, or the decision if it does not depend on that.
fn vmas(found: Referenced) -> Result<u32, FolioRef> {
    match found.refs {
        _ if found.vm_flags.contains(VmFlags::LOCKED) => Err(FolioRef::Activate),
        Refs::Unknown => Err(FolioRef::Keep),
        Refs::Vmas(nr) => Ok(nr),
    }
}

impl MmState<'_> {
    /// Decides by the rules of the lists in use. While they are being switched, the classic rules
    /// hold.
    #[inline]
    pub(super) fn check_references(&self, folio: &FolioGuard<'_>, found: Referenced) -> FolioRef {
        if self.lru_gen_settled() {
            lru_gen_check_references(folio, found)
        } else {
            folio_check_references(folio, found)
        }
    }
}
