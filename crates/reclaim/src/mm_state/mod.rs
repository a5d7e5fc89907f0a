//! All state of the engine, in the caller's memory: folios, address spaces, shadows and swap slots,
//! and cgroups.

mod entries;
mod folios;
mod free_list;

use crate::cgroup::Cgroups;
use crate::compaction::CompactionState;
use crate::folio::{Folio, FolioGuard, MAX_FRAMES};
use crate::id::{FolioId, FolioNr, MAX_NUMNODES, MemcgNr, NONE, NodeId};
use crate::lock::QueuedLock;
use crate::lru::{LruState, Node};
use crate::memory::{BadId, Memory, MemoryError, TableKind};
use crate::mm::{Deposits, Spaces};
use crate::page_cache::{SLOT, Stored, Tags, words_for};
use core::ptr;
use core::sync::atomic::AtomicU32;
use folios::Folios;
pub use folios::{AddFolioError, NodeStartError};
pub(crate) use free_list::FreeList;
use pageout_paging::Pfn;

/// The engine's tables: frames and their folios, address spaces, reverse maps, shadows, swap slots
/// and cgroups.
#[derive(Debug)]
pub struct MmState<'m> {
    pub(crate) folios: Folios<'m>,
    pub(crate) spaces: Spaces<'m>,
    pub(crate) stored: Stored<'m>,
    pub(crate) cgroups: Cgroups<'m>,
    pub(crate) lru: LruState<'m>,
    /// The lock of the lists of free entries.
    free: QueuedLock,
    /// The number of gathers that were dropped, not finished.
    pub(crate) dropped_tlb_batches: AtomicU32,
    pub(crate) compaction: CompactionState,
    /// The page tables in reserve for PMD leaves that are to be split.
    pub(crate) deposits: Deposits,
}

/// Returns the number of entries that a table stays below.
pub(crate) const fn most_entries(kind: TableKind) -> usize {
    match kind {
        // The index's chains use one bit of the numbers of folios and slots, and two numbers.
        TableKind::Folios | TableKind::Slots => SLOT as usize - 1,
        _ => NONE as usize,
    }
}

impl<'m> MmState<'m> {
    /// Makes empty maps over `memory`. Their first frame is `base`.
    ///
    /// # Errors
    /// [`MemoryError`] names a slice too long to number. The last frame's number has 44 bits.
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
            nodes,
            lruvecs,
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
        let long = |(len, kind): &(usize, TableKind)| *len >= most_entries(*kind);
        if let Some((_, kind)) = lengths.into_iter().find(long) {
            return Err(MemoryError::TooLong(kind));
        }
        if base.get().saturating_add(frames.len() as u64) > MAX_FRAMES {
            return Err(MemoryError::TooLong(TableKind::Frames));
        }
        if memcgs.len() >= usize::from(MemcgNr::NONE.0) {
            return Err(MemoryError::TooLong(TableKind::Memcgs));
        }
        if memcgs.is_empty() {
            return Err(MemoryError::NoRoot);
        }
        if nodes.is_empty() {
            return Err(MemoryError::NoNode);
        }
        if nodes.len() > MAX_NUMNODES {
            return Err(MemoryError::TooLong(TableKind::Nodes));
        }
        if lruvecs.len() != memcgs.len() * nodes.len() {
            let (memcgs, nodes) = (memcgs.len(), nodes.len());
            return Err(MemoryError::Lruvecs { found: lruvecs.len(), memcgs, nodes });
        }
        if tags.len() < words_for(folios.len()) {
            return Err(MemoryError::FewTags { folios: folios.len() });
        }
        let tags = Tags::new(tags, folios.len());
        nodes.fill_with(Node::default);
        Ok(Self {
            folios: Folios::new(base, frames, pages, folios),
            spaces: Spaces::new(vmas, mms, mappings),
            stored: Stored::new(tags, shadows, slots),
            cgroups: Cgroups::new(memcgs),
            lru: LruState::new(nodes, lruvecs, filters),
            free: QueuedLock::default(),
            dropped_tlb_batches: AtomicU32::new(0),
            compaction: CompactionState::default(),
            deposits: Deposits::default(),
        })
    }

    /// Returns the folio that holds `pfn`.
    #[inline]
    pub fn folio_of(&self, pfn: Pfn) -> Option<FolioId> {
        Some(self.folio_id(self.folio_nr_of(pfn)?))
    }

    /// Returns the entry of the folio that holds `pfn`.
    #[inline]
    pub(crate) fn folio_nr_of(&self, pfn: Pfn) -> Option<FolioNr> {
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

    /// Lets the frames from `first` on lie on `node`, up to the first frame of the next call. All
    /// frames lie on node 0 until this is called. A node may have several runs of frames. Call this
    /// before adding folios.
    ///
    /// # Errors
    /// [`NodeStartError`]; nothing is changed then.
    pub fn set_node_start(&self, first: Pfn, node: NodeId) -> Result<(), NodeStartError> {
        self.check_node(node)?;
        self.folios.set_node_start(first, node)
    }

    /// Returns the node of a frame.
    #[inline]
    pub fn node_of(&self, pfn: Pfn) -> NodeId {
        self.folios.node_of(pfn)
    }

    /// Returns the zone of a folio's frames, 0 to [`MAX_NR_ZONES`](crate::mglru::MAX_NR_ZONES) − 1.
    #[inline]
    pub fn zone_of(&self, folio: &Folio) -> usize {
        self.folios.zone_of(folio)
    }

    /// Returns a folio.
    ///
    /// # Errors
    /// [`BadId`] if it was freed.
    #[inline]
    pub fn folio(&self, id: FolioId) -> Result<&'m Folio, BadId> {
        Ok(self.folio_at(self.folio_nr(id)?))
    }

    /// Returns the entry of a folio.
    #[inline]
    pub(crate) fn folio_at(&self, nr: FolioNr) -> &'m Folio {
        self.folios.get(nr)
    }

    /// Returns the entry of the folio that a caller names.
    #[inline]
    pub(crate) fn folio_nr(&self, id: FolioId) -> Result<FolioNr, BadId> {
        let folio = self.folios.table.get(id.index());
        let live = folio.is_some_and(|folio| folio.generation() == id.generation);
        live.then_some(FolioNr(id.nr)).ok_or(BadId(TableKind::Folios))
    }

    /// Returns the entry of the folio that a caller names, if the guard is that of its lock.
    pub(crate) fn locked_nr(&self, guard: &FolioGuard<'_>, id: FolioId) -> Result<FolioNr, BadId> {
        let nr = self.folio_nr(id)?;
        let own = ptr::eq(guard.folio(), self.folio_at(nr));
        own.then_some(nr).ok_or(BadId(TableKind::Folios))
    }

    /// Returns the id of the folio that an entry has now.
    #[inline]
    pub(crate) fn folio_id(&self, nr: FolioNr) -> FolioId {
        FolioId { nr: nr.0, generation: self.folio_at(nr).generation() }
    }
}
