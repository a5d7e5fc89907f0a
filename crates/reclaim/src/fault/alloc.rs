//! Folios for faults: frames, a place in the table of folios, a charge.

use super::{At, Fault};
use crate::folio::{FolioFlags, FolioId};
use crate::maps::NewFolio;
use crate::memcg::MemcgId;
use crate::memory::OutOfMemory;
use crate::rmap::MappingId;
use crate::world::World;
use pageout_paging::{Order, Pfn};

/// Rounds of direct reclaim before an allocation of single pages fails (Linux 7.3.4,
/// MAX_RECLAIM_RETRIES).
const RETRIES: u32 = 16;

impl<W: World> At<'_, '_, W> {
    pub(super) fn release(&mut self, id: FolioId, refs: u32) {
        self.engine.release(id, refs);
    }

    /// A new folio, charged, its content undefined, with one reference that is the caller's.
    pub(super) fn new_folio(
        &mut self,
        order: Order,
        memcg: MemcgId,
        mapping: MappingId,
        index: u64,
    ) -> Result<FolioId, Fault> {
        let pfn = self.alloc_frames(order)?;
        self.folio_over(pfn, order, memcg, (mapping, index))
    }

    /// The same, over frames that were allocated for it and are given back if it cannot be made.
    pub(super) fn folio_over(
        &mut self,
        pfn: Pfn,
        order: Order,
        memcg: MemcgId,
        (mapping, index): (MappingId, u64),
    ) -> Result<FolioId, Fault> {
        let flags = FolioFlags::empty();
        let new = NewFolio { pfn, order, mapping, index, flags };
        let id = self.engine.add_folio(new).map_err(|full| {
            self.engine.world.free(pfn, order);
            Fault::OutOfMemory(full.into())
        })?;
        if let Err(full) = self.engine.charge(id, memcg) {
            self.release(id, 1);
            return Err(Fault::OutOfMemory(full));
        }
        Ok(id)
    }

    /// Frames, after direct reclaim if need be: large folios are not worth that.
    fn alloc_frames(&mut self, order: Order) -> Result<Pfn, Fault> {
        for _ in 0..RETRIES {
            if let Some(pfn) = self.engine.world.alloc(order) {
                return Ok(pfn);
            }
            let large = order > Order::default();
            if large || self.engine.try_to_free_pages() == 0 {
                break;
            }
        }
        Err(Fault::OutOfMemory(OutOfMemory::Frames))
    }
}
