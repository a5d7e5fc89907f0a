//! Address spaces, their VMAs, and the mappings whose pages these map.

use super::free_list::FreeList;
use crate::id::NONE;
use crate::mapping::Mapping;
use crate::mm::Mm;
use crate::vma::Vma;
use core::sync::atomic::Ordering::Relaxed;

/// The tables of VMAs, of address spaces and of mappings.
#[derive(Debug)]
pub(crate) struct Spaces<'m> {
    pub(super) vmas: &'m [Vma],
    pub(super) mms: &'m [Mm],
    pub(super) mappings: &'m [Mapping],
    pub(super) free_vmas: FreeList,
    pub(super) free_mms: FreeList,
    pub(super) free_mappings: FreeList,
}

impl<'m> Spaces<'m> {
    /// Makes tables whose entries are all free.
    pub(super) fn new(vmas: &'m [Vma], mms: &'m [Mm], mappings: &'m [Mapping]) -> Self {
        for mapping in mappings {
            mapping.vmas.store(NONE, Relaxed);
            mapping.named.store(0, Relaxed);
            mapping.generation.clear();
        }
        mms.iter().for_each(|mm| mm.generation.clear());
        Self {
            vmas,
            mms,
            mappings,
            free_vmas: FreeList::of(vmas.iter().map(Vma::free_link)),
            free_mms: FreeList::of(mms.iter().map(|mm| &mm.state)),
            free_mappings: FreeList::of(mappings.iter().map(|mapping| &mapping.orders)),
        }
    }
}
