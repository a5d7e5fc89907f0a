//! Faults on pages of shared memory: in its index, swapped out, or never stored to.

use super::{At, Fault, FaultKind};
use crate::folio::FolioFlags;
use crate::id::{FolioNr, MappingNr, SwapSlot};
use crate::page_cache::Found;
use crate::world::{Place, World};
use pageout_paging::Order;

impl<W: World> At<'_, '_, W> {
    /// Returns the folio of a page, with a reference (Linux 7.3.4, shmem_get_folio). It is the one
    /// in the index, one that is swapped in, or a new one of zeros. The folio may leave the index
    /// before the caller locks it.
    pub(super) fn shmem_get_folio(
        &mut self,
        mapping: MappingNr,
        index: u64,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        match self.engine.filemap_get_entry(mapping, index) {
            Some(Found::Folio(id)) => Ok((id, FaultKind::Minor)),
            Some(Found::Slot(slot)) => self.shmem_swapin_folio((mapping, index), slot),
            None => Ok((self.add_new(mapping, index)?, FaultKind::Minor)),
        }
    }

    /// Brings a page that was swapped out back into the index, with the rest of its folio if the
    /// swap cache still has that. If the folio is being written, the fault is pending (Linux 7.3.4,
    /// shmem_swapin_folio).
    fn shmem_swapin_folio(
        &mut self,
        place: (MappingNr, u64),
        slot: SwapSlot,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        let (id, kind) = match self.engine.swap_cache_get(slot) {
            Some(id) => {
                self.await_content(id, Place::Swap(self.engine.maps.folio_at(id).swap()))?
            }
            None => self.shmem_read(place, slot)?,
        };
        let guard = self.engine.lock_folio(id);
        let flags = guard.folio().flags();
        let writing = flags.contains(FolioFlags::WRITEBACK);
        let read = flags & (FolioFlags::READING | FolioFlags::UPTODATE) == FolioFlags::UPTODATE;
        let taken = !writing && read && self.engine.shmem_take_back(&guard, id);
        drop(guard);
        if taken {
            return Ok((id, kind));
        }
        let pending = Fault::Pending(self.engine.maps.folio_id(id));
        self.put_folio(id, 1);
        Err(if writing { pending } else { Fault::Done(FaultKind::Minor) })
    }

    /// Makes a folio for a slot, charged to its page's cgroup, and starts to read it.
    fn shmem_read(
        &mut self,
        (mapping, index): (MappingNr, u64),
        slot: SwapSlot,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        let memcg = self.engine.maps.slot_memcg(slot);
        let id = self.new_folio(Order::default(), memcg, mapping, index)?;
        self.read_from_swap(id, slot)
    }
}
