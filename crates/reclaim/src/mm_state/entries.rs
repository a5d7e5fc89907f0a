//! Entries of the engine's tables: taking them and giving them back.

use super::free_list::FreeList;
use super::{MmState, NewFolio};
use crate::engine::Engine;
use crate::id::{FolioId, MappingId, MmId, NONE, VmaId};
use crate::mapping::MappingKind;
use crate::memory::{OutOfTable, TableKind};
use crate::rank::Rank;
use core::iter::successors;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Pfn};

impl<E: Env> Engine<'_, E> {
    /// Adds an address space whose root table is in frame `root`.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table is full.
    pub fn add_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let id = self.take_mm(root, asid)?;
        self.lru_gen_add_mm(id);
        Ok(id)
    }

    /// Adds an address space that no walk finds yet: only the caller knows it.
    pub(crate) fn take_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.spaces.free_mms, |i| &maps.spaces.mms[i].state);
        let id = MmId(id.ok_or(OutOfTable(TableKind::Mms))?);
        maps.mm(id).init(root, asid);
        Ok(id)
    }

    /// Frees an address space that no VMA names.
    pub fn remove_mm(&mut self, id: MmId) {
        let maps = self.maps;
        self.lru_gen_exit_mm(id);
        self.put(&maps.spaces.free_mms, &maps.mm(id).state, id.0);
    }

    /// Adds a mapping without VMAs or folios.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table is full.
    pub fn add_mapping(&mut self, kind: MappingKind) -> Result<MappingId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.spaces.free_mappings, |i| &maps.spaces.mappings[i].orders);
        let id = MappingId(id.ok_or(OutOfTable(TableKind::Mappings))?);
        maps.mapping(id).init(kind);
        Ok(id)
    }

    /// Frees a mapping that no VMA maps. Its number may be another mapping's from then on, so a
    /// file's pages must have left the index. An anonymous mapping's folios that reclaim still
    /// holds, or that are being written, are mapped by no entry and need no reverse map. A file's
    /// shadows stay under the number, and do no harm.
    ///
    /// # Panics
    /// If a VMA maps it or an address space keeps its private copies there. Likewise if it is
    /// shared memory that was not truncated to nothing.
    pub fn remove_mapping(&mut self, id: MappingId) {
        let maps = self.maps;
        let mapping = maps.mapping(id);
        assert_eq!(mapping.head.load(Relaxed), NONE, "a mapping that is freed has no VMA");
        assert_eq!(mapping.users.load(Relaxed), 0, "no address space keeps its copies there");
        let shmem = mapping.kind() == MappingKind::Shmem;
        let empty = !shmem || mapping.past.load(Relaxed) == 0;
        assert!(empty, "shared memory that ends has no pages");
        self.put(&maps.spaces.free_mappings, &mapping.orders, id.0);
    }

    /// Adds a folio over free frames.
    ///
    /// # Errors
    /// [`OutOfTable`] of folios if their table is full. [`OutOfTable`] of frames if the folio's
    /// frames lie outside of the table or are not aligned to its size.
    ///
    /// # Panics
    /// If one of its frames already belongs to a folio.
    pub fn add_folio(&mut self, new: NewFolio) -> Result<FolioId, OutOfTable> {
        let maps = self.maps;
        let nr = new.order.nr_pages();
        let frames = maps.folios.frames(new.pfn, nr);
        let aligned = new.pfn.get().is_multiple_of(nr as u64);
        let frames = frames.filter(|_| aligned).ok_or(OutOfTable(TableKind::Frames))?;
        let free = |frame: &AtomicU32| frame.load(Relaxed) == NONE;
        assert!(frames.iter().all(free), "a frame belongs to one folio");
        let id = self.take_folio().ok_or(OutOfTable(TableKind::Folios))?;
        let flags = new.flags | maps.mapping(new.mapping).kind().folio_flags();
        maps.folios.table[id as usize].init(new.pfn, new.order, new.mapping, new.index, flags);
        maps.folios.take_frames(FolioId(id));
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
        let id = self.take(&maps.spaces.free_vmas, |i| &maps.spaces.vmas[i].next);
        id.map(VmaId).ok_or(OutOfTable(TableKind::Vmas))
    }

    pub(crate) fn put_vma(&mut self, id: VmaId) {
        let maps = self.maps;
        self.put(&maps.spaces.free_vmas, &maps.vma(id).next, id.0);
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
