//! Folios, and the frames that belong to them.

use crate::folio::{Folio, MAX_FRAMES, MAX_NR_ZONES, placed};
use crate::id::{FolioNr, MAX_NUMNODES, NONE, NodeId};
use crate::memory::{BadId, OutOfTable, TableKind};
use crate::mm_state::free_list::FreeList;
use core::array;
use core::ops::Range;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use pageout_paging::{Order, Pfn};

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

/// The reason why a run of frames was not assigned to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NodeStartError {
    /// There is no such node ([`Limits::nodes`](crate::Limits)).
    #[error(transparent)]
    BadId(#[from] BadId),
    /// The run does not begin after all runs of earlier calls.
    #[error("runs of frames are named in ascending order")]
    Order,
    /// There are 32 runs already.
    #[error("memory has at most 32 runs of frames on one node each")]
    TooMany,
}

/// The number of runs of frames on one node that can be told apart.
const NODE_STARTS: usize = 2 * MAX_NUMNODES;

/// The tables of frames, of pages and of folios.
#[derive(Debug)]
pub(crate) struct Folios<'m> {
    base: Pfn,
    frames: &'m [AtomicU32],
    pages: &'m [AtomicU8],
    pub(crate) table: &'m [Folio],
    /// The first frame of each zone but the first, as folios have it ([`placed`]).
    zone_starts: [AtomicU64; MAX_NR_ZONES - 1],
    /// The place of the first frame of each run of frames on one node, in order, and in its low
    /// bits the node. Frames before the first run lie on node 0.
    node_starts: [AtomicU64; NODE_STARTS],
    pub(super) free: FreeList,
}

impl<'m> Folios<'m> {
    /// Makes tables without folios. Their first frame is `base`.
    pub(super) fn new(
        base: Pfn,
        frames: &'m [AtomicU32],
        pages: &'m [AtomicU8],
        table: &'m [Folio],
    ) -> Self {
        frames.iter().for_each(|frame| frame.store(NONE, Relaxed));
        for folio in table {
            folio.bucket.store(NONE, Relaxed);
            folio.clear_generation();
        }
        let zone_starts = array::from_fn(|_| AtomicU64::new(u64::MAX));
        let node_starts = array::from_fn(|_| AtomicU64::new(u64::MAX));
        let free = FreeList::of(table.iter().map(|folio| &folio.mapping));
        Self { base, frames, pages, table, zone_starts, node_starts, free }
    }

    #[inline]
    pub(crate) fn get(&self, id: FolioNr) -> &'m Folio {
        &self.table[id.0 as usize]
    }

    /// Returns the folio that a frame belongs to.
    #[inline]
    pub(super) fn of(&self, pfn: Pfn) -> Option<FolioNr> {
        let i = usize::try_from(pfn.offset_from(self.base)).ok()?;
        let id = self.frames.get(i)?.load(Acquire);
        (id != NONE).then_some(FolioNr(id))
    }

    /// Checks that a folio may have the frames from `first` on.
    ///
    /// # Errors
    /// [`OutOfTable`] of frames if some lie outside of the table or `first` is not aligned to the
    /// folio's size, and [`AddFolioError::FrameInUse`].
    pub(crate) fn check_free(&self, first: Pfn, order: Order) -> Result<(), AddFolioError> {
        let nr = order.nr_pages();
        let aligned = first.get().is_multiple_of(nr as u64);
        let frames = self.frames(first, nr).filter(|_| aligned);
        let mut frames = frames.ok_or(OutOfTable(TableKind::Frames))?.iter();
        match frames.all(|frame| frame.load(Relaxed) == NONE) {
            true => Ok(()),
            false => Err(AddFolioError::FrameInUse),
        }
    }

    /// Returns the first frame of a range that belongs to a folio.
    pub(crate) fn first_in_use(&self, range: Range<Pfn>) -> Option<Pfn> {
        let end = self.base.add(self.frames.len() as u64).min(range.end);
        let mut pfn = range.start.max(self.base);
        while pfn < end {
            if self.of(pfn).is_some() {
                return Some(pfn);
            }
            pfn = pfn.add(1);
        }
        None
    }

    /// Returns the entries of `nr` frames, or `None` if some lie outside of the table.
    fn frames(&self, first: Pfn, nr: usize) -> Option<&'m [AtomicU32]> {
        let first = usize::try_from(first.offset_from(self.base)).ok()?;
        self.frames.get(first..)?.get(..nr)
    }

    #[inline]
    fn frames_of(&self, folio: &Folio) -> &'m [AtomicU32] {
        let first = folio.pfn().offset_from(self.base) as usize;
        &self.frames[first..first + folio.nr_pages()]
    }

    /// Enters the folio in the table for each of its frames.
    ///
    /// # Panics
    /// If one of them already belongs to a folio.
    pub(crate) fn take_frames(&self, id: FolioNr) {
        for frame in self.frames_of(self.get(id)) {
            assert_eq!(frame.load(Relaxed), NONE, "a frame belongs to one folio");
            // A CPU that finds the folio by its frame finds it initialised.
            frame.store(id.0, Release);
        }
    }

    /// Enters a folio of one page in the table for its frame, whatever folio the frame belonged to.
    pub(crate) fn take_frame_over(&self, id: FolioNr) {
        self.frames_of(self.get(id))[0].store(id.0, Release);
    }

    /// Removes the folio from the table for each of its frames.
    #[inline]
    pub(crate) fn forget_frames(&self, folio: &Folio) {
        self.frames_of(folio).iter().for_each(|frame| frame.store(NONE, Relaxed));
    }

    /// Returns the state bytes of `nr` pages, from the one in frame `first` on.
    #[inline]
    pub(crate) fn pages(&self, first: Pfn, nr: usize) -> &'m [AtomicU8] {
        let first = first.offset_from(self.base) as usize;
        &self.pages[first..first + nr]
    }

    pub(super) fn set_zone_start(&self, zone: usize, first: Pfn) {
        // A zone may begin past all frames.
        let first = Pfn::new(first.get().min(MAX_FRAMES - 1));
        self.zone_starts[zone - 1].store(placed(first), Relaxed);
    }

    /// Lets the frames from `first` on lie on `node`.
    pub(super) fn set_node_start(&self, first: Pfn, node: NodeId) -> Result<(), NodeStartError> {
        let first = placed(Pfn::new(first.get().min(MAX_FRAMES - 1)));
        let nr =
            self.node_starts.iter().take_while(|start| start.load(Relaxed) != u64::MAX).count();
        let last = nr.checked_sub(1).map(|last| self.node_starts[last].load(Relaxed));
        if last.is_some_and(|last| last >= first) {
            return Err(NodeStartError::Order);
        }
        let free = self.node_starts.get(nr).ok_or(NodeStartError::TooMany)?;
        free.store(first | u64::from(node.0), Relaxed);
        Ok(())
    }

    #[inline]
    pub(super) fn node_of(&self, pfn: Pfn) -> NodeId {
        // The node is in bits below the place, so that it makes no start larger than the place.
        let of = placed(pfn) | (MAX_NUMNODES as u64 - 1);
        let starts = self.node_starts.iter().map(|start| start.load(Relaxed));
        let last = starts.take_while(|start| *start <= of).last();
        NodeId(last.map_or(0, |start| start as u8))
    }

    #[inline]
    pub(super) fn zone_of(&self, folio: &Folio) -> usize {
        self.zone_starts.iter().filter(|start| folio.is_from(start.load(Relaxed))).count()
    }
}
