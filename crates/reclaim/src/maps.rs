//! The engine's tables: folios, frames, VMAs, address spaces and mappings in the caller's memory.

use crate::cache::{SLOT, ShadowEntry};
use crate::compaction::CompactionState;
use crate::deposit::Deposits;
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, FolioId};
use crate::lock::Lock;
use crate::memcg::{Memcg, MemcgId, MemcgTree};
use crate::memory::{Memory, MemoryError, OutOfTable, TableKind};
use crate::mglru::memcg_lru::MemcgLru;
use crate::mglru::switch::LruGenState;
use crate::mglru::{BloomFilter, MAX_NR_ZONES};
use crate::mm::{Mm, MmId};
use crate::rank::Rank;
use crate::rmap::{Mapping, MappingId, MappingKind};
use crate::swap::Slot;
use crate::vma::{Vma, VmaId};
use core::array;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Order, Pfn};

/// No entry: the end of a list, a frame without a folio.
pub(crate) const NONE: u32 = u32::MAX;

/// What a new folio is.
#[derive(Clone, Copy, Debug)]
pub struct NewFolio {
    /// First frame, a multiple of the folio's pages.
    pub pfn: Pfn,
    /// Size.
    pub order: Order,
    /// Whose page it holds.
    pub mapping: MappingId,
    /// Offset of its first page in the mapping, in pages.
    pub index: u64,
    /// Flags besides those of the mapping's kind.
    pub flags: FolioFlags,
}

/// Frames to folios, address spaces, reverse maps: all the engine knows.
#[derive(Debug)]
pub struct Maps<'m> {
    base: Pfn,
    pub(crate) frames: &'m [AtomicU32],
    pub(crate) folios: &'m [Folio],
    vmas: &'m [Vma],
    mms: &'m [Mm],
    mappings: &'m [Mapping],
    pub(crate) pages: &'m [AtomicU8],
    pub(crate) memcgs: &'m [Memcg],
    pub(crate) tree: MemcgTree,
    pub(crate) memcg_lru: MemcgLru,
    pub(crate) shadows: &'m [ShadowEntry],
    pub(crate) slots: &'m [Slot],
    pub(crate) filters: &'m [BloomFilter],
    /// First frame of each zone but the first.
    zone_starts: [AtomicU64; MAX_NR_ZONES - 1],
    /// Guards the file index and the swap cache, and the three numbers below.
    pub(crate) index: Lock,
    /// Shadows stored so far.
    pub(crate) shadow_clock: AtomicU32,
    pub(crate) free_slots: AtomicU32,
    /// Where the last search for free slots ended.
    pub(crate) slot_cursor: AtomicU32,
    /// Gathers that were dropped, not finished.
    pub(crate) dropped_gathers: AtomicU32,
    /// What is switched on of the multi-generational LRU.
    pub(crate) lru_gen_state: LruGenState,
    pub(crate) compaction: CompactionState,
    /// Page tables for PMD leaves that are to be split.
    pub(crate) deposits: Deposits,
    free: FreeLists,
}

/// Heads of the lists of free entries, one a table, under one lock.
#[derive(Debug, Default)]
struct FreeLists {
    lock: Lock,
    folios: AtomicU32,
    vmas: AtomicU32,
    mms: AtomicU32,
    mappings: AtomicU32,
    filters: AtomicU32,
}

impl<'m> Maps<'m> {
    /// Empty maps over `memory`; its first frame is `base`.
    ///
    /// # Errors
    /// [`MemoryError`] names a slice too long to number.
    pub fn new(memory: Memory<'m>, base: Pfn) -> Result<Self, MemoryError> {
        let Memory { frames, pages, folios, vmas, mms, mappings, memcgs, shadows, slots, filters } =
            memory;
        let lengths = [
            (frames.len(), TableKind::Frames),
            (folios.len(), TableKind::Folios),
            (vmas.len(), TableKind::Vmas),
            (mms.len(), TableKind::Mms),
            (mappings.len(), TableKind::Mappings),
            (slots.len(), TableKind::Slots),
            (filters.len(), TableKind::Filters),
        ];
        // What the index has in its chains is numbered with a bit less.
        let most = |kind| match kind {
            TableKind::Folios | TableKind::Slots => SLOT,
            _ => NONE,
        };
        let long = |(len, kind): &(usize, TableKind)| *len >= most(*kind) as usize;
        if let Some((_, kind)) = lengths.into_iter().find(long) {
            return Err(MemoryError::TooLong(kind));
        }
        if memcgs.len() >= usize::from(MemcgId::NONE.0) {
            return Err(MemoryError::TooLong(TableKind::Memcgs));
        }
        if memcgs.is_empty() {
            return Err(MemoryError::NoRoot);
        }
        let free = FreeLists::default();
        let maps = Self {
            base,
            frames,
            pages,
            folios,
            vmas,
            mms,
            mappings,
            memcgs,
            tree: MemcgTree::default(),
            memcg_lru: MemcgLru::default(),
            shadows,
            slots,
            filters,
            zone_starts: array::from_fn(|_| AtomicU64::new(u64::MAX)),
            index: Lock::default(),
            shadow_clock: AtomicU32::new(0),
            free_slots: AtomicU32::new(slots.len() as u32),
            slot_cursor: AtomicU32::new(0),
            dropped_gathers: AtomicU32::new(0),
            lru_gen_state: LruGenState::default(),
            compaction: CompactionState::default(),
            deposits: Deposits::default(),
            free,
        };
        maps.frames.iter().for_each(|frame| frame.store(NONE, Relaxed));
        chain(maps.folios.iter().map(|folio| &folio.mapping), &maps.free.folios);
        chain(maps.vmas.iter().map(|vma| &vma.next), &maps.free.vmas);
        chain(maps.mms.iter().map(|mm| &mm.state), &maps.free.mms);
        chain(maps.mappings.iter().map(|mapping| &mapping.orders), &maps.free.mappings);
        maps.mappings.iter().for_each(|mapping| mapping.head.store(NONE, Relaxed));
        chain(maps.filters.iter().map(|filter| &filter.next), &maps.free.filters);
        maps.folios.iter().for_each(|folio| folio.bucket.store(NONE, Relaxed));
        maps.shadows.iter().for_each(ShadowEntry::clear);
        maps.slots.iter().for_each(Slot::clear);
        maps.init_memcgs();
        Ok(maps)
    }
}

impl<E: Env> Engine<'_, E> {
    /// Adds an address space whose root table is in frame `root`.
    ///
    /// # Errors
    /// [`OutOfTable`] if there are as many as fit.
    pub fn add_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let id = self.take_mm(root, asid)?;
        self.lru_gen_add_mm(id);
        Ok(id)
    }

    /// The same, but no walk finds it yet: it is the caller's alone.
    pub(crate) fn take_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.free.mms, |i| &maps.mms[i].state);
        let id = MmId(id.ok_or(OutOfTable(TableKind::Mms))?);
        maps.mm(id).init(root, asid);
        Ok(id)
    }

    /// Frees an address space that no VMA names.
    pub fn remove_mm(&mut self, id: MmId) {
        let maps = self.maps;
        self.lru_gen_exit_mm(id);
        self.put(&maps.free.mms, &maps.mm(id).state, id.0);
    }

    /// Adds a mapping without VMAs or folios.
    ///
    /// # Errors
    /// [`OutOfTable`] if there are as many as fit.
    pub fn add_mapping(&mut self, kind: MappingKind) -> Result<MappingId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.free.mappings, |i| &maps.mappings[i].orders);
        let id = MappingId(id.ok_or(OutOfTable(TableKind::Mappings))?);
        maps.mapping(id).init(kind);
        Ok(id)
    }

    /// Frees a mapping that no VMA maps. Its number may be another's from then on, so the pages of
    /// a file have left the index before. Folios of an anonymous one that reclaim still holds, or
    /// of which a write goes on, are mapped by no entry, and are asked for no reverse map. Shadows
    /// of a file stay under its number, and do no harm.
    ///
    /// # Panics
    /// If a VMA maps it, an address space keeps its private copies there, or it is shared memory
    /// that was not truncated to nothing.
    pub fn remove_mapping(&mut self, id: MappingId) {
        let maps = self.maps;
        let mapping = maps.mapping(id);
        assert_eq!(mapping.head.load(Relaxed), NONE, "a mapping that is freed has no VMA");
        assert_eq!(mapping.users.load(Relaxed), 0, "no address space keeps its copies there");
        let shmem = mapping.kind() == MappingKind::Shmem;
        let empty = !shmem || mapping.past.load(Relaxed) == 0;
        assert!(empty, "shared memory that ends has no pages");
        self.put(&maps.free.mappings, &mapping.orders, id.0);
    }

    /// Adds a folio over free frames.
    ///
    /// # Errors
    /// [`OutOfTable`] of folios if there are as many as fit, of frames if its frames lie outside of
    /// the table or are not aligned to its size.
    ///
    /// # Panics
    /// If one of its frames already belongs to a folio.
    pub fn add_folio(&mut self, new: NewFolio) -> Result<FolioId, OutOfTable> {
        let maps = self.maps;
        let nr = new.order.nr_pages();
        let first = new.pfn.offset_from(maps.base);
        let frames = usize::try_from(first).ok().and_then(|i| maps.frames.get(i..)?.get(..nr));
        let aligned = new.pfn.get().is_multiple_of(nr as u64);
        let frames = frames.filter(|_| aligned).ok_or(OutOfTable(TableKind::Frames))?;
        let free = |frame: &AtomicU32| frame.load(Relaxed) == NONE;
        assert!(frames.iter().all(free), "a frame belongs to one folio");
        let id = self.take_folio().ok_or(OutOfTable(TableKind::Folios))?;
        let flags = new.flags | maps.mapping(new.mapping).kind().folio_flags();
        maps.folios[id as usize].init(new.pfn, new.order, new.mapping, new.index, flags);
        for frame in frames {
            // Whoever finds the folio by its frame finds it initialised.
            frame.store(id, Release);
        }
        Ok(FolioId(id))
    }

    /// Takes a free entry of the table of folios.
    pub(crate) fn take_folio(&self) -> Option<u32> {
        let maps = self.maps;
        self.take(&maps.free.folios, |i| &maps.folios[i].mapping)
    }

    /// Frees a folio that is on no list and to which the caller holds the last reference. Its
    /// frames are the caller's.
    ///
    /// # Panics
    /// If there are others, which includes an entry that maps it.
    pub fn remove_folio(&mut self, id: FolioId) {
        let maps = self.maps;
        let folio = maps.folio(id);
        assert_eq!(folio.refs(), 1, "a folio that is freed is used nowhere");
        maps.uncharge([folio].into_iter());
        maps.forget_frames(folio);
        self.put_folios([id].into_iter());
    }
}

impl<'m> Maps<'m> {
    /// Whether a VMA, the private copies of an address space, a folio, or a swap slot still name a
    /// mapping. It looks at every frame and every slot, and is for the end of a file or of memory
    /// that processes shared.
    pub fn mapping_is_used(&self, id: MappingId) -> bool {
        let mapping = self.mapping(id);
        let folios = self.frames.iter().map(|frame| frame.load(Acquire)).filter(|id| *id != NONE);
        mapping.head.load(Relaxed) != NONE
            || mapping.users.load(Relaxed) > 0
            || self.slots.iter().any(|slot| slot.mapping.load(Relaxed) == id.0)
            || folios.into_iter().any(|folio| self.folio(FolioId(folio)).mapping() == id)
    }

    /// Makes a frame belong to a folio, which is found initialised by it.
    pub(crate) fn set_frame(&self, pfn: Pfn, id: FolioId) {
        self.frames[self.frame_number(pfn)].store(id.0, Release);
    }

    /// Makes the folio's frames belong to no folio.
    #[inline]
    pub(crate) fn forget_frames(&self, folio: &Folio) {
        let first = folio.pfn().offset_from(self.base) as usize;
        for frame in &self.frames[first..first + folio.nr_pages()] {
            frame.store(NONE, Relaxed);
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Makes folios' entries free, under one hold of the lock.
    pub(crate) fn put_folios(&mut self, folios: impl Iterator<Item = FolioId>) {
        let maps = self.maps;
        let _guard = self.lock_write(Rank::FreeList, &maps.free.lock);
        for id in folios {
            maps.folio(id).mapping.store(maps.free.folios.load(Relaxed), Relaxed);
            maps.free.folios.store(id.0, Relaxed);
        }
    }
}

impl<'m> Maps<'m> {
    /// The folios charged to a cgroup itself.
    pub(crate) fn charged_to(&self, memcg: MemcgId) -> impl Iterator<Item = &'m Folio> {
        self.folios.iter().filter(move |folio| folio.memcg() == memcg)
    }

    /// The folio that holds `pfn`.
    #[inline]
    pub fn folio_of(&self, pfn: Pfn) -> Option<FolioId> {
        let i = usize::try_from(pfn.offset_from(self.base)).ok()?;
        let id = self.frames.get(i)?.load(Acquire);
        (id != NONE).then_some(FolioId(id))
    }

    /// Where a zone of physical memory but the first begins, in the order of zones; until it is
    /// set, a zone is empty and its frames belong to the one before. Set before folios are added.
    ///
    /// # Panics
    /// If `zone` is not 1 to [`MAX_NR_ZONES`] − 1.
    pub fn set_zone_start(&self, zone: usize, first: Pfn) {
        self.zone_starts[zone - 1].store(first.get(), Relaxed);
    }

    /// The zone of a folio's frames, 0 to [`MAX_NR_ZONES`] − 1.
    #[inline]
    pub fn zone_of(&self, folio: &Folio) -> usize {
        let pfn = folio.pfn().get();
        self.zone_starts.iter().filter(|start| start.load(Relaxed) <= pfn).count()
    }

    /// The filters that no cgroup has, by number, for whoever keeps others from taking them.
    pub fn lru_gen_free_filters(&self) -> impl Iterator<Item = u32> {
        let named = |link: &AtomicU32| Some(link.load(Relaxed)).filter(|id| *id != NONE);
        let after = move |id: &u32| named(&self.filters[*id as usize].next);
        core::iter::successors(named(&self.free.filters), after)
    }
}

impl<E: Env> Engine<'_, E> {
    /// Takes a free Bloom filter, as it was left.
    pub(crate) fn take_filter(&mut self) -> Option<u32> {
        let maps = self.maps;
        self.take(&maps.free.filters, |i| &maps.filters[i].next)
    }

    pub(crate) fn put_filter(&mut self, id: u32) {
        let maps = self.maps;
        let link = &maps.filters[id as usize].next;
        self.put(&maps.free.filters, link, id);
    }
}

impl<'m> Maps<'m> {
    /// Number of a frame in the tables of frames and of pages.
    #[inline]
    pub(crate) fn frame_number(&self, pfn: Pfn) -> usize {
        pfn.offset_from(self.base) as usize
    }

    /// A folio.
    #[inline]
    pub fn folio(&self, id: FolioId) -> &'m Folio {
        &self.folios[id.0 as usize]
    }

    /// A VMA.
    #[inline]
    pub fn vma(&self, id: VmaId) -> &'m Vma {
        &self.vmas[id.0 as usize]
    }

    /// An address space.
    #[inline]
    pub fn mm(&self, id: MmId) -> &'m Mm {
        &self.mms[id.0 as usize]
    }

    /// A mapping.
    #[inline]
    pub fn mapping(&self, id: MappingId) -> &'m Mapping {
        &self.mappings[id.0 as usize]
    }

    /// The VMA that a link names.
    #[inline]
    pub(crate) fn vma_at(&self, link: &AtomicU32) -> Option<&'m Vma> {
        let id = link.load(Relaxed);
        (id != NONE).then(|| self.vma(VmaId(id)))
    }
}

impl<E: Env> Engine<'_, E> {
    pub(crate) fn take_vma(&mut self) -> Result<VmaId, OutOfTable> {
        let maps = self.maps;
        let id = self.take(&maps.free.vmas, |i| &maps.vmas[i].next);
        id.map(VmaId).ok_or(OutOfTable(TableKind::Vmas))
    }

    pub(crate) fn put_vma(&mut self, id: VmaId) {
        let maps = self.maps;
        self.put(&maps.free.vmas, &maps.vma(id).next, id.0);
    }

    /// Takes the first entry of a free list, whose links `next` finds.
    fn take<'a>(&self, head: &AtomicU32, next: impl Fn(usize) -> &'a AtomicU32) -> Option<u32> {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free.lock);
        let id = head.load(Relaxed);
        if id != NONE {
            head.store(next(id as usize).load(Relaxed), Relaxed);
        }
        (id != NONE).then_some(id)
    }

    /// Gives an entry back to its free list.
    fn put(&self, head: &AtomicU32, link: &AtomicU32, id: u32) {
        let _guard = self.lock_write(Rank::FreeList, &self.maps.free.lock);
        link.store(head.load(Relaxed), Relaxed);
        head.store(id, Relaxed);
    }
}

/// Chains all entries of a table into its free list, in order.
fn chain<'a>(links: impl ExactSizeIterator<Item = &'a AtomicU32>, head: &AtomicU32) {
    let len = links.len() as u32;
    for (i, link) in (1..).zip(links) {
        link.store(if i < len { i } else { NONE }, Relaxed);
    }
    head.store(if len > 0 { 0 } else { NONE }, Relaxed);
}
