//! All state of the engine, in the caller's memory: folios, address spaces, shadows and swap slots,
//! and cgroups.

pub(crate) mod cgroups;
mod entries;
mod folios;
mod free_list;
mod spaces;
mod stored;

use crate::cache::SLOT;
use crate::cache::tags::{Tags, words_for};
use crate::compaction::state::CompactionState;
use crate::deposit::Deposits;
use crate::folio::{Folio, FolioFlags};
use crate::id::{FolioId, MappingId, MappingNr, MemcgId, MmId, MmNr, NONE, VmaId};
use crate::lock::Lock;
use crate::mapping::Mapping;
use crate::memcg::Memcg;
use crate::memory::{BadId, Memory, MemoryError, TableKind};
use crate::mm::Mm;
use crate::vma::Vma;
use cgroups::Cgroups;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
pub use entries::{AddFolioError, RemoveError};
use folios::Folios;
use pageout_paging::{Order, Pfn};
use spaces::Spaces;
use stored::Stored;

/// The properties of a new folio.
#[derive(Clone, Copy, Debug)]
pub struct NewFolio {
    /// The first frame, a multiple of the folio's pages.
    pub pfn: Pfn,
    /// The size.
    pub order: Order,
    /// The mapping whose pages it holds.
    pub mapping: MappingId,
    /// The offset of its first page in the mapping, in pages.
    pub index: u64,
    /// The flags to add to those of the mapping's kind.
    pub flags: FolioFlags,
}

/// The engine's tables: frames and their folios, address spaces, reverse maps, shadows, swap slots
/// and cgroups.
#[derive(Debug)]
pub struct MmState<'m> {
    pub(crate) folios: Folios<'m>,
    spaces: Spaces<'m>,
    pub(crate) stored: Stored<'m>,
    pub(crate) cgroups: Cgroups<'m>,
    /// The lock of the lists of free entries.
    free: Lock,
    /// The number of gathers that were dropped, not finished.
    pub(crate) dropped_tlb_batches: AtomicU32,
    pub(crate) compaction: CompactionState,
    /// The page tables in reserve for PMD leaves that are to be split.
    pub(crate) deposits: Deposits,
}

impl<'m> MmState<'m> {
    /// Makes empty maps over `memory`. Their first frame is `base`.
    ///
    /// # Errors
    /// [`MemoryError`] names a slice too long to number.
    pub fn new(memory: Memory<'m>, base: Pfn) -> Result<Self, MemoryError> {
        let Memory {
            frames,
            pages,
            folios,
            tags,
            vmas,
            mms,
            mappings,
            memcgs,
            shadows,
            slots,
            filters,
        } = memory;
        let lengths = [
            (frames.len(), TableKind::Frames),
            (folios.len(), TableKind::Folios),
            (vmas.len(), TableKind::Vmas),
            (mms.len(), TableKind::Mms),
            (mappings.len(), TableKind::Mappings),
            (slots.len(), TableKind::Slots),
            (filters.len(), TableKind::Filters),
        ];
        // The index's chains use one bit of the numbers of folios and slots.
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
        if tags.len() < words_for(folios.len()) {
            return Err(MemoryError::FewTags { folios: folios.len() });
        }
        let tags = Tags::new(tags, folios.len());
        Ok(Self {
            folios: Folios::new(base, frames, pages, folios),
            spaces: Spaces::new(vmas, mms, mappings),
            stored: Stored::new(tags, shadows, slots),
            cgroups: Cgroups::new(memcgs, filters),
            free: Lock::default(),
            dropped_tlb_batches: AtomicU32::new(0),
            compaction: CompactionState::default(),
            deposits: Deposits::default(),
        })
    }

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

    /// Returns the folios charged to a cgroup itself. It reads the whole table of folios, for those
    /// that are on no list.
    pub(crate) fn charged_to(&self, memcg: MemcgId) -> impl Iterator<Item = &'m Folio> {
        self.folios.table.iter().filter(move |folio| folio.memcg() == memcg)
    }

    /// Returns the folio that holds `pfn`.
    #[inline]
    pub fn folio_of(&self, pfn: Pfn) -> Option<FolioId> {
        self.folios.of(pfn)
    }

    /// Sets the first frame of a zone of physical memory other than the first, in the order of
    /// zones. Until it is set, the zone is empty and its frames belong to the one before. Call this
    /// before adding folios.
    ///
    /// # Panics
    /// If `zone` is not 1 to [`MAX_NR_ZONES`](crate::mglru::MAX_NR_ZONES) − 1.
    pub fn set_zone_start(&self, zone: usize, first: Pfn) {
        self.folios.set_zone_start(zone, first);
    }

    /// Returns the zone of a folio's frames, 0 to [`MAX_NR_ZONES`](crate::mglru::MAX_NR_ZONES) − 1.
    #[inline]
    pub fn zone_of(&self, folio: &Folio) -> usize {
        self.folios.zone_of(folio)
    }

    /// Returns a folio.
    #[inline]
    pub fn folio(&self, id: FolioId) -> &'m Folio {
        self.folios.get(id)
    }

    /// Returns a folio that a caller names.
    pub(crate) fn try_folio(&self, id: FolioId) -> Result<&'m Folio, BadId> {
        self.folios.table.get(id.0 as usize).ok_or(BadId(TableKind::Folios))
    }

    /// Returns a VMA.
    #[inline]
    pub fn vma(&self, id: VmaId) -> &'m Vma {
        &self.spaces.vmas[id.0 as usize]
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

    /// Returns the entry of an address space.
    #[inline]
    pub(crate) fn mm_at(&self, nr: MmNr) -> &'m Mm {
        &self.spaces.mms[nr.0 as usize]
    }

    /// Returns the entry of a mapping.
    #[inline]
    pub(crate) fn mapping_at(&self, nr: MappingNr) -> &'m Mapping {
        &self.spaces.mappings[nr.0 as usize]
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

    /// Returns a cgroup.
    #[inline]
    pub fn memcg(&self, id: MemcgId) -> &Memcg {
        &self.cgroups.table[usize::from(id.0)]
    }
}
