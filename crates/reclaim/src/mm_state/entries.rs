//! Entries of the engine's tables: taking them and giving them back.

use super::free_list::FreeList;
use super::{MmState, NewFolio};
use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::id::{FolioId, MappingId, MappingNr, MmId, MmNr, NONE, VmaId};
use crate::mapping::MappingKind;
use crate::memory::{BadId, OutOfTable, TableKind};
use crate::mm::Mm;
use crate::rank::Rank;
use core::iter::successors;
use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Order, Pfn};

/// The reason why an address space or a mapping was not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoveError {
    /// The id names nothing: what it named has ended already.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A VMA is there still (EBUSY).
    #[error("a VMA of it is there still")]
    Mapped,
    /// An address space keeps its private copies of files' pages there (EBUSY).
    #[error("an address space keeps its private copies there")]
    HasCopies,
    /// The mapping is shared memory that was not truncated to nothing (EBUSY).
    #[error("the shared memory was not truncated to nothing")]
    HasPages,
}

/// The reason why a folio was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddFolioError {
    /// The table of folios is full, or the folio's frames lie outside of the table of frames or are
    /// not aligned to its size.
    #[error(transparent)]
    OutOfTable(#[from] OutOfTable),
    /// The mapping has ended.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// A frame of the run belongs to a folio (EEXIST).
    #[error("a frame belongs to another folio")]
    FrameInUse,
}

impl<E: Env> Engine<'_, E> {
    /// Adds an address space whose root table is in frame `root`.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table is full.
    pub fn add_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let nr = self.take_mm(root, asid)?;
        self.lru_gen_add_mm(nr);
        Ok(self.maps.mm_id(nr))
    }

    /// Adds an address space that no walk finds yet: only the caller knows it.
    pub(crate) fn take_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmNr, OutOfTable> {
        let maps = self.maps;
        let nr = self.take(&maps.spaces.free_mms, |i| &maps.spaces.mms[i].state);
        let nr = MmNr(nr.ok_or(OutOfTable(TableKind::Mms))?);
        let mm = maps.mm_at(nr);
        mm.init(root, asid);
        mm.generation.begin();
        Ok(nr)
    }

    /// Ends an address space without VMAs. Nothing is flushed.
    ///
    /// # Errors
    /// [`RemoveError::BadId`] if it has ended, and [`RemoveError::Mapped`] if it has a VMA; nothing
    /// is changed then.
    pub fn remove_mm(&mut self, id: MmId) -> Result<(), RemoveError> {
        let (mm, guard) = self.lock_mm(id)?;
        let vacant = mm.vmas.load(Relaxed) == NONE;
        let ends = vacant && mm.generation.end(id.generation);
        drop(guard);
        if !ends {
            return Err(if vacant { BadId(TableKind::Mms).into() } else { RemoveError::Mapped });
        }
        self.leave_copies(mm);
        self.put_mm(MmNr(id.nr));
        Ok(())
    }

    /// Frees the entry of an address space that has ended.
    pub(crate) fn put_mm(&mut self, nr: MmNr) {
        let maps = self.maps;
        self.lru_gen_exit_mm(nr);
        self.put(&maps.spaces.free_mms, &maps.mm_at(nr).state, nr.0);
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
        let nr = self.take(&maps.spaces.free_mappings, |i| &maps.spaces.mappings[i].orders);
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
            self.put(&maps.spaces.free_mappings, &mapping.orders, nr.0);
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
        self.add_folio_at(pfn, order, (MappingNr(mapping.nr), index), flags)
    }

    /// Adds a folio of a mapping that lives at least as long as the call.
    pub(crate) fn add_folio_at(
        &mut self,
        pfn: Pfn,
        order: Order,
        (mapping, index): (MappingNr, u64),
        flags: FolioFlags,
    ) -> Result<FolioId, AddFolioError> {
        let maps = self.maps;
        maps.folios.check_free(pfn, order)?;
        let id = self.take_folio().ok_or(OutOfTable(TableKind::Folios))?;
        let flags = flags | maps.mapping_at(mapping).kind().folio_flags();
        maps.folios.table[id as usize].init(pfn, order, mapping, index, flags);
        maps.folios.take_frames(FolioId(id));
        maps.mapping_at(mapping).named.fetch_add(1, Relaxed);
        Ok(FolioId(id))
    }

    /// Takes a free entry of the table of folios.
    pub(crate) fn take_folio(&self) -> Option<u32> {
        let maps = self.maps;
        self.take(&maps.folios.free, |i| &maps.folios.table[i].mapping)
    }

    /// Frees a folio that is on no list, and whose last reference the caller holds. The caller
    /// keeps its frames.
    ///
    /// # Panics
    /// If there are other references, such as that of an entry that maps it.
    pub fn remove_folio(&mut self, id: FolioId) {
        let maps = self.maps;
        let folio = maps.folio(id);
        assert_eq!(folio.refs(), 1, "a folio that is freed is used nowhere");
        maps.uncharge([folio].into_iter());
        maps.folios.forget_frames(folio);
        maps.mapping_at(folio.mapping()).named.fetch_sub(1, Relaxed);
        self.put_folios([id].into_iter());
    }

    /// Makes folios' entries free, under one hold of the lock.
    pub(crate) fn put_folios(&mut self, folios: impl Iterator<Item = FolioId>) {
        let maps = self.maps;
        let _guard = self.lock_write(Rank::FreeList, &maps.free);
        for id in folios {
            maps.folios.free.put(&maps.folio(id).mapping, id.0);
        }
    }

    /// Takes a free Bloom filter. Its content is as the last owner left it.
    pub(crate) fn take_filter(&mut self) -> Option<u32> {
        let maps = self.maps;
        self.take(&maps.cgroups.free_filters, |i| &maps.cgroups.filters[i].next)
    }

    pub(crate) fn put_filter(&mut self, id: u32) {
        let maps = self.maps;
        let link = &maps.cgroups.filters[id as usize].next;
        self.put(&maps.cgroups.free_filters, link, id);
    }

    pub(crate) fn take_vma(&mut self) -> Result<VmaId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.spaces.free_vmas, |i| maps.spaces.vmas[i].free_link());
        id.map(VmaId).ok_or(OutOfTable(TableKind::Vmas))
    }

    pub(crate) fn put_vma(&mut self, id: VmaId) {
        let maps = self.maps;
        self.put(&maps.spaces.free_vmas, maps.vma(id).free_link(), id.0);
    }

    /// Takes the first entry of a free list. `next` finds an entry's link.
    fn take<'a>(&self, from: &FreeList, next: impl Fn(usize) -> &'a AtomicU32) -> Option<u32> {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free);
        from.take(next)
    }

    /// Gives an entry back to its free list.
    fn put(&self, to: &FreeList, link: &AtomicU32, id: u32) {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free);
        to.put(link, id);
    }
}

impl MmState<'_> {
    /// Returns the numbers of the filters that no cgroup has. The caller keeps others from taking
    /// them.
    pub fn lru_gen_free_filters(&self) -> impl Iterator<Item = u32> {
        let named = |link: &AtomicU32| Some(link.load(Relaxed)).filter(|id| *id != NONE);
        let after = move |id: &u32| named(&self.cgroups.filters[*id as usize].next);
        successors(self.cgroups.free_filters.first(), after)
    }
}
