//! Folios for faults (frames, an entry in the table of folios, a charge), and page tables.

use super::{At, CountedTables, Fault, FaultKind};
use crate::corruption::Corruption;
use crate::folio::FolioFlags;
use crate::id::{FolioNr, MappingNr, MemcgNr};
use crate::memory::{OutOfMemory, OutOfTable, TableKind};
use crate::mm_state::AddFolioError;
use crate::world::World;
use pageout_paging::walk::make_table;
use pageout_paging::{Level, Order, Pfn};

/// The number of rounds of direct reclaim before an allocation of single pages fails (Linux 7.3.4,
/// MAX_RECLAIM_RETRIES).
const RETRIES: u32 = 16;

impl<W: World> At<'_, '_, W> {
    pub(super) fn put_folio(&mut self, id: FolioNr, refs: u32) {
        self.engine.put_folio(id, refs);
    }

    /// Makes a new folio, charged and with undefined content. The caller gets its only reference.
    pub(super) fn new_folio(
        &mut self,
        order: Order,
        memcg: MemcgNr,
        mapping: MappingNr,
        index: u64,
    ) -> Result<FolioNr, Fault> {
        let pfn = self.alloc_frames(order)?;
        self.folio_over(pfn, order, memcg, (mapping, index))
    }

    /// Makes such a folio over frames that were allocated for it, and frees them if that fails.
    pub(super) fn folio_over(
        &mut self,
        pfn: Pfn,
        order: Order,
        memcg: MemcgNr,
        (mapping, index): (MappingNr, u64),
    ) -> Result<FolioNr, Fault> {
        let flags = FolioFlags::empty();
        // A folio that is freed leaves its entry free. Large folios are not worth that reclaim.
        let retries = if order == Order::default() { RETRIES } else { 1 };
        let added = self.reclaiming(retries, |at| {
            match at.engine.add_folio_at(pfn, order, (mapping, index), flags) {
                Err(AddFolioError::OutOfTable(OutOfTable(TableKind::Folios))) => None,
                done => Some(done),
            }
        });
        let added = added.unwrap_or(Err(OutOfTable(TableKind::Folios).into()));
        let id = match added {
            Ok(id) => id,
            Err(AddFolioError::OutOfTable(full)) => {
                self.engine.world.free(pfn, order);
                return Err(Fault::OutOfMemory(full.into()));
            }
            // The frames are not freed: they are another folio's.
            Err(AddFolioError::FrameInUse | AddFolioError::BadId(_)) => {
                self.engine.world.corrupted(&Corruption::FrameInUse(pfn));
                return Err(Fault::OutOfMemory(OutOfMemory::Frames));
            }
        };
        if let Err(full) = self.engine.charge_at(id, memcg) {
            self.put_folio(id, 1);
            return Err(Fault::OutOfMemory(full));
        }
        Ok(id)
    }

    /// Allocates frames, after direct reclaim if needed. Large folios get only one try: they are
    /// not worth reclaim.
    fn alloc_frames(&mut self, order: Order) -> Result<Pfn, Fault> {
        let retries = if order == Order::default() { RETRIES } else { 1 };
        let pfn = self.reclaiming(retries, |at| at.engine.world.alloc(order));
        pfn.ok_or(Fault::OutOfMemory(OutOfMemory::Frames))
    }

    /// Returns the page table of the last level that covers the page (Linux 7.3.4, __pte_alloc: an
    /// allocation of a single page). Makes it if it is missing, after direct reclaim if needed. If
    /// another fault has made a leaf in its place, this fault is done: the access will find the
    /// leaf.
    pub(super) fn make_table(&mut self) -> Result<Pfn, Fault> {
        let (root, addr) = (self.mm.root(), self.addr);
        let made = self.reclaiming(RETRIES, |at| {
            let world = at.engine.world;
            let mut frames = CountedTables { world, ran_out: false };
            let made = make_table(world, root, addr, Level::Pte, &mut frames);
            (made.is_some() || !frames.ran_out).then(|| made.ok_or(Fault::Done(FaultKind::Minor)))
        });
        made.unwrap_or(Err(Fault::OutOfMemory(OutOfMemory::PageTables)))
    }

    /// Tries up to `retries` times, with direct reclaim in between, as long as that frees something
    /// (Linux 7.3.4, __alloc_pages_slowpath).
    fn reclaiming<T>(
        &mut self,
        retries: u32,
        mut attempt: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<T> {
        for left in (0..retries).rev() {
            let done = attempt(self);
            if done.is_some() || left == 0 || self.engine.try_to_free_pages() == 0 {
                return done;
            }
        }
        None
    }
}
