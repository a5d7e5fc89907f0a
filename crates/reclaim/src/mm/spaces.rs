//! Address spaces, their VMAs, and the mappings whose pages these map.

use super::mapping::Mapping;
use super::mm_struct::Mm;
use super::vma::Vma;
use crate::folio::Folio;
use crate::id::{MappingId, MappingNr, MemcgId, MmId, MmNr, NONE, VmaId, VmaNr};
use crate::memory::{BadId, TableKind};
use crate::mm_state::{FreeList, MmState};
use crate::table::{Part, Room, Table};
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

/// The tables of VMAs, of address spaces and of mappings.
#[derive(Debug)]
pub(crate) struct Spaces<'m> {
    pub(super) vmas: Table<'m, Vma>,
    pub(super) mms: Table<'m, Mm>,
    pub(super) mappings: Table<'m, Mapping>,
    pub(super) free_vmas: FreeList,
    pub(super) free_mms: FreeList,
    pub(super) free_mappings: FreeList,
}

impl<'m> Spaces<'m> {
    /// Makes tables whose entries are all free.
    pub(crate) fn new(vmas: &'m [Vma], mms: &'m [Mm], mappings: &'m [Mapping]) -> Self {
        clear(vmas, mms, mappings);
        Self {
            vmas: Table::new(vmas),
            mms: Table::new(mms),
            mappings: Table::new(mappings),
            free_vmas: FreeList::of(vmas.iter().map(Vma::free_link)),
            free_mms: FreeList::of(mms.iter().map(|mm| &mm.found)),
            free_mappings: FreeList::of(mappings.iter().map(|mapping| &mapping.orders)),
        }
    }
}

impl Spaces<'_> {
    /// Returns the length of each table, and by how many parts it can grow.
    pub(super) fn rooms(&self) -> [(TableKind, Room); 3] {
        [
            (TableKind::Vmas, self.vmas.room()),
            (TableKind::Mms, self.mms.room()),
            (TableKind::Mappings, self.mappings.room()),
        ]
    }

    /// Lets the tables grow by entries that were cleared and are on no list. Returns their numbers.
    pub(crate) fn add(
        &self,
        vmas: &'static Part<Vma>,
        mms: &'static Part<Mm>,
        mappings: &'static Part<Mapping>,
    ) -> [Range<u32>; 3] {
        [self.vmas.add(vmas), self.mms.add(mms), self.mappings.add(mappings)]
    }
}

/// Makes entries free, as before their first use.
pub(super) fn clear(vmas: &[Vma], mms: &[Mm], mappings: &[Mapping]) {
    for mapping in mappings {
        mapping.vmas.store(NONE, Relaxed);
        mapping.named.store(0, Relaxed);
        mapping.generation.clear();
    }
    mms.iter().for_each(|mm| mm.generation.clear());
    vmas.iter().for_each(|vma| vma.generation.clear());
}

impl<'m> MmState<'m> {
    /// Returns a VMA.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    #[inline]
    pub fn vma(&self, id: VmaId) -> Result<&'m Vma, BadId> {
        Ok(self.vma_at(self.vma_nr(id)?))
    }

    /// Returns an address space.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    #[inline]
    pub fn mm(&self, id: MmId) -> Result<&'m Mm, BadId> {
        let mm = self.spaces.mms.get(id.index());
        mm.filter(|mm| mm.generation.now() == id.generation).ok_or(BadId(TableKind::Mms))
    }

    /// Returns a mapping.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    #[inline]
    pub fn mapping(&self, id: MappingId) -> Result<&'m Mapping, BadId> {
        let mapping = self.spaces.mappings.get(id.index());
        let live = mapping.filter(|mapping| mapping.generation.now() == id.generation);
        live.ok_or(BadId(TableKind::Mappings))
    }

    /// Returns the mapping in which [`Folio::index`] is an offset.
    #[inline]
    pub fn mapping_of(&self, folio: &Folio) -> MappingId {
        self.mapping_id(folio.mapping())
    }

    /// Returns the address space of a VMA.
    pub fn mm_of(&self, vma: &Vma) -> MmId {
        self.mm_id(vma.mm())
    }

    /// Returns the entry of a VMA.
    #[inline]
    pub(crate) fn vma_at(&self, nr: VmaNr) -> &'m Vma {
        self.spaces.vmas.at(nr.0)
    }

    /// Returns the entry of the VMA that a caller names.
    pub(super) fn vma_nr(&self, id: VmaId) -> Result<VmaNr, BadId> {
        let vma = self.spaces.vmas.get(id.index());
        let live = vma.is_some_and(|vma| vma.generation.now() == id.generation);
        live.then_some(VmaNr(id.nr)).ok_or(BadId(TableKind::Vmas))
    }

    /// Returns the id of the VMA that an entry has now.
    pub(super) fn vma_id(&self, nr: VmaNr) -> VmaId {
        VmaId { nr: nr.0, generation: self.vma_at(nr).generation.now() }
    }

    /// Returns the entry of an address space.
    #[inline]
    pub(crate) fn mm_at(&self, nr: MmNr) -> &'m Mm {
        self.spaces.mms.at(nr.0)
    }

    /// Returns the cgroup of an address space, to which its memory is charged.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    pub fn memcg_of_mm(&self, id: MmId) -> Result<MemcgId, BadId> {
        Ok(self.memcg_id(self.mm(id)?.memcg()))
    }

    /// Returns the entry of a mapping.
    #[inline]
    pub(crate) fn mapping_at(&self, nr: MappingNr) -> &'m Mapping {
        self.spaces.mappings.at(nr.0)
    }

    /// Takes note that `nr` folios no longer name a mapping, if there is one.
    #[inline]
    pub(crate) fn unname(&self, mapping: Option<MappingNr>, nr: u32) {
        if let Some(mapping) = mapping {
            self.mapping_at(mapping).named.fetch_sub(nr, Relaxed);
        }
    }

    /// Returns the id of the address space that an entry has now.
    #[inline]
    pub(crate) fn mm_id(&self, nr: MmNr) -> MmId {
        MmId { nr: nr.0, generation: self.mm_at(nr).generation.now() }
    }

    /// Returns the id of the mapping that an entry has now.
    #[inline]
    pub(crate) fn mapping_id(&self, nr: MappingNr) -> MappingId {
        MappingId { nr: nr.0, generation: self.mapping_at(nr).generation.now() }
    }
}
