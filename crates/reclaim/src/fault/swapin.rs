//! Faults on pages that were swapped out.

use super::{Access, At, Fault, FaultKind, Outcome};
use crate::folio::FolioFlags;
use crate::id::{FolioNr, SwapSlot};
use crate::mm::frames;
use crate::world::{Place, World};
use pageout_paging::contig::set_pte;
use pageout_paging::pte::SwapEntry;
use pageout_paging::{Format, Order, Pfn, Pte};

impl<W: World> At<'_, '_, W> {
    /// Brings the page of the swap entry `pte` back and maps it (Linux 7.3.4, do_swap_page).
    pub(super) fn swap_fault(&mut self, table: Pfn, pte: Pte, entry: SwapEntry) -> Outcome {
        let slot = SwapSlot::named_by(entry).ok_or(Fault::Unsupported)?;
        let (id, kind) = match self.engine.swap_cache_get(slot) {
            Some(id) => {
                self.await_content(id, Place::Swap(self.engine.maps.folio_at(id).swap()))?
            }
            None => self.swap_in(slot)?,
        };
        let guard = self.engine.lock_folio(id);
        let folio = self.engine.maps.folio_at(id);
        let page = u64::from(slot.0).wrapping_sub(u64::from(folio.swap().0));
        let cached = folio.flags().contains(FolioFlags::SWAPCACHE);
        if cached && page < folio.nr_pages() as u64 {
            let mapped = self.map_swapped(table, (pte, entry, slot), id, folio.pfn().add(page));
            if mapped {
                self.engine.put_entries(slot, 1);
                self.engine.try_to_free_swap(&guard);
            }
        }
        drop(guard);
        self.put_folio(id, 1);
        Ok(kind)
    }

    /// Maps the page in frame `pfn` in place of the swap entry, if that is still there.
    fn map_swapped(
        &mut self,
        table: Pfn,
        (swapped, entry, slot): (Pte, SwapEntry, SwapSlot),
        id: FolioNr,
        pfn: Pfn,
    ) -> bool {
        let folio = self.engine.maps.folio_at(id);
        // No other process names the slot or maps the folio: only the cache and this fault hold it.
        let sole = self.engine.maps.nr_slot_entries(slot) == 1 && folio.refs() == 2;
        let exclusive = entry.exclusive || (sole && folio.nr_pages() == 1);
        let mut pte = self.new_pte(pfn, exclusive);
        if exclusive && self.access == Access::Write {
            pte = W::Format::mkdirty(pte);
        }
        if entry.uffd_wp {
            pte = W::Format::mkuffd_wp(pte);
        }
        if !exclusive {
            pte = W::Format::wrprotect(pte);
        }
        let pt = self.lock(table);
        let unchanged = self.read(&pt) == swapped;
        if unchanged {
            // The folio may have been read for another page that had the slot before. Kernels too
            // give a folio its place with its first entry (Linux 7.3.4, folio_add_new_anon_rmap).
            if folio.mapcount() == 0 {
                let mapping = self.vma.anon().expect("a page that was swapped out is anonymous");
                let index = self.index() - pfn.offset_from(folio.pfn());
                self.engine.maps.set_place(folio, mapping, index);
            }
            self.engine.maps.set_anon_exclusive(pfn, 1, exclusive);
            folio.add_mappings(1);
            set_pte(self.engine.world, &pt, self.asid(), self.addr, pte, &frames(folio));
        }
        drop(pt);
        unchanged
    }

    /// Makes a folio for a slot, charged to its page's cgroup, and starts to read it.
    fn swap_in(&mut self, slot: SwapSlot) -> Result<(FolioNr, FaultKind), Fault> {
        let mapping = self.anon_mapping()?;
        let memcg = self.engine.maps.slot_memcg(slot);
        let id = self.new_folio(Order::default(), memcg, mapping, self.index())?;
        self.read_from_swap(id, slot)
    }

    /// Puts a new folio into the swap cache and starts to read it.
    pub(super) fn read_from_swap(
        &mut self,
        id: FolioNr,
        slot: SwapSlot,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        // No one else knows the folio, but a late end of a transfer may ask under its number.
        let guard = self.engine.lock_folio(id);
        guard.set(FolioFlags::READING);
        let added = self.engine.swap_cache_add_at(&guard, id, slot);
        drop(guard);
        let Ok(shadow) = added else {
            // Another fault was first, or the entry is gone: the access finds the new state.
            self.put_folio(id, 1);
            return Err(Fault::Done(FaultKind::Minor));
        };
        if let Some(shadow) = shadow {
            self.engine.workingset_refault_at(id, shadow);
        }
        self.engine.lru_add_at(id);
        self.submit_read(id, Place::Swap(slot))
    }
}
