//! Entries of the tables of VMAs, address spaces, mappings and folios: taking them and giving them
//! back.

use super::mm_struct::Mm;
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, MappingKind};
use crate::id::{FolioId, FolioNr, MappingId, MappingNr, MmNr, NONE, VmaNr};
use crate::memory::{BadId, OutOfTable, TableKind};
use crate::mm_state::{AddFolioError, MmState};
use core::ops::Range;
use core::sync::atomic::{Ordering::AcqRel, Ordering::Relaxed};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Order, Pfn};

/// The properties of a new folio.
#[derive(Clone, Copy, Debug)]
pub struct NewFolio {
    /// The first frame, a multiple of the folio's pages.
    pub pfn: Pfn,
    /// The size.
    pub order: Order,
    /// The mapping whose pages it holds.
    pub mapping: MappingId,
    /// The offset of the folio's first page in the mapping, in pages.
    pub index: u64,
    /// The flags to add to those of the mapping's kind.
    pub flags: FolioFlags,
}

/// The reason why an address space or a mapping was not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoveError {
    /// The id names nothing: what it named has ended already.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A VMA is there still (EBUSY).
    #[error("a VMA still maps it")]
    Mapped,
    /// An address space keeps its private copies of files' pages there (EBUSY).
    #[error("an address space still has private copies of its pages")]
    HasCopies,
    /// The mapping is shared memory that was not truncated to nothing (EBUSY).
    #[error("the shared memory was not truncated to nothing")]
    HasPages,
}

impl<E: Env> Engine<'_, E> {
    /// Adds an address space that no walk finds yet: only the caller knows it.
    pub(crate) fn take_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmNr, OutOfTable> {
        let maps = self.maps;
        let nr = self.take_entry(&maps.spaces.free_mms, |i| &maps.spaces.mms.at(i).found);
        let nr = MmNr(nr.ok_or(OutOfTable(TableKind::Mms))?);
        let mm = maps.mm_at(nr);
        mm.init(root, asid);
        mm.generation.begin();
        Ok(nr)
    }

    /// Frees the entry of an address space that has ended and that no walk finds.
    pub(crate) fn put_mm(&mut self, nr: MmNr) {
        let maps = self.maps;
        self.put_entry(&maps.spaces.free_mms, &maps.mm_at(nr).found, nr.0);
    }

    /// Ends an address space's use of the mapping of its private copies, if it has one.
    pub(crate) fn leave_copies(&mut self, mm: &Mm) {
        let maps = self.maps;
        let Some(nr) = mm.anon() else { return };
        mm.set_anon(None);
        let mapping = maps.mapping_at(nr);
        if mapping.users.fetch_sub(1, AcqRel) == 1 {
            self.end_unknown_mapping(nr);
        }
    }

    /// Adds a mapping without VMAs or folios.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table is full.
    pub fn add_mapping(&mut self, kind: MappingKind) -> Result<MappingId, OutOfTable> {
        Ok(self.maps.mapping_id(self.take_mapping(kind)?))
    }

    /// Adds a mapping that only the caller knows.
    pub(crate) fn take_mapping(&mut self, kind: MappingKind) -> Result<MappingNr, OutOfTable> {
        let maps = self.maps;
        let nr =
            self.take_entry(&maps.spaces.free_mappings, |i| &maps.spaces.mappings.at(i).orders);
        let nr = MappingNr(nr.ok_or(OutOfTable(TableKind::Mappings))?);
        let mapping = maps.mapping_at(nr);
        mapping.init(kind);
        mapping.generation.begin();
        Ok(nr)
    }

    /// Ends a mapping that no VMA maps. Another mapping may have its entry from then on, so a
    /// file's pages must have left the index. An anonymous mapping's folios that reclaim still
    /// holds, or that are being written, are mapped by no entry and need no reverse map. A file's
    /// shadows stay under the entry's number, and do no harm.
    ///
    /// # Errors
    /// [`RemoveError`]; nothing is changed then.
    pub fn remove_mapping(&mut self, id: MappingId) -> Result<(), RemoveError> {
        let mapping = self.maps.mapping(id)?;
        if mapping.vmas.load(Relaxed) != NONE {
            return Err(RemoveError::Mapped);
        }
        if mapping.users.load(Relaxed) != 0 {
            return Err(RemoveError::HasCopies);
        }
        if mapping.kind() == MappingKind::Shmem && mapping.past.load(Relaxed) != 0 {
            return Err(RemoveError::HasPages);
        }
        let ended = self.end_mapping(MappingNr(id.nr), id.generation);
        ended.then_some(()).ok_or(BadId(TableKind::Mappings).into())
    }

    /// Frees the entry of a mapping that nobody names any more.
    pub(crate) fn end_unknown_mapping(&mut self, nr: MappingNr) {
        let generation = self.maps.mapping_at(nr).generation.now();
        assert!(self.end_mapping(nr, generation), "a mapping that nobody names ends once");
    }

    /// Frees the entry of a mapping, unless that generation of it has ended. Returns true if it
    /// did.
    fn end_mapping(&mut self, nr: MappingNr, generation: u32) -> bool {
        let maps = self.maps;
        let mapping = maps.mapping_at(nr);
        let ends = mapping.generation.end(generation);
        if ends {
            self.put_entry(&maps.spaces.free_mappings, &mapping.orders, nr.0);
        }
        ends
    }

    /// Adds a folio over free frames.
    ///
    /// # Errors
    /// [`AddFolioError`]; nothing is changed then.
    pub fn add_folio(&mut self, new: NewFolio) -> Result<FolioId, AddFolioError> {
        self.maps.mapping(new.mapping)?;
        let NewFolio { pfn, order, mapping, index, flags } = new;
        let nr = self.add_folio_at(pfn, order, (MappingNr(mapping.nr), index), flags)?;
        Ok(self.maps.folio_id(nr))
    }

    /// Adds a folio of a mapping that lives at least as long as the call.
    pub(crate) fn add_folio_at(
        &mut self,
        pfn: Pfn,
        order: Order,
        (mapping, index): (MappingNr, u64),
        flags: FolioFlags,
    ) -> Result<FolioNr, AddFolioError> {
        let maps = self.maps;
        maps.folios.check_free(pfn, order)?;
        let id = self.take_folio().ok_or(OutOfTable(TableKind::Folios))?;
        let flags = flags | maps.mapping_at(mapping).kind().folio_flags();
        maps.folio_at(id).init(pfn, order, mapping, index, flags, maps.node_of(pfn));
        maps.folios.take_frames(id);
        maps.mapping_at(mapping).named.fetch_add(1, Relaxed);
        Ok(id)
    }

    /// Makes new VMAs, address spaces and mappings free.
    pub(super) fn put_new_spaces(&mut self, [vmas, mms, mappings]: [Range<u32>; 3]) {
        let spaces = &self.maps.spaces;
        self.put_new(&spaces.free_vmas, vmas, |i| spaces.vmas.at(i).free_link());
        self.put_new(&spaces.free_mms, mms, |i| &spaces.mms.at(i).found);
        self.put_new(&spaces.free_mappings, mappings, |i| &spaces.mappings.at(i).orders);
    }

    pub(crate) fn take_vma(&mut self) -> Result<VmaNr, OutOfTable> {
        let maps = self.maps;
        let id = self.take_entry(&maps.spaces.free_vmas, |i| maps.spaces.vmas.at(i).free_link());
        let nr = VmaNr(id.ok_or(OutOfTable(TableKind::Vmas))?);
        maps.vma_at(nr).generation.begin();
        Ok(nr)
    }

    pub(crate) fn put_vma(&mut self, id: VmaNr) {
        let maps = self.maps;
        let vma = maps.vma_at(id);
        let ended = vma.generation.end(vma.generation.now());
        assert!(ended, "a VMA ends once");
        self.put_entry(&maps.spaces.free_vmas, vma.free_link(), id.0);
    }
}

impl<'m> MmState<'m> {
    /// Returns true if a VMA, the private copies of an address space, a folio, or a swap slot still
    /// name a mapping.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    pub fn mapping_is_used(&self, id: MappingId) -> Result<bool, BadId> {
        let mapping = self.mapping(id)?;
        Ok(mapping.vmas.load(Relaxed) != NONE
            || mapping.users.load(Relaxed) > 0
            || mapping.named.load(Relaxed) > 0)
    }

    /// Assigns a folio to the pages of `mapping` from page `index` on. The caller holds its lock,
    /// and no entry maps it.
    pub(crate) fn set_place(&self, folio: &Folio, mapping: MappingNr, index: u64) {
        self.mapping_at(folio.mapping()).named.fetch_sub(1, Relaxed);
        self.mapping_at(mapping).named.fetch_add(1, Relaxed);
        folio.set_place(mapping, index);
    }
}
