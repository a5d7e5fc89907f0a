//! Faults on pages that were swapped out.

use super::file::frames;
use super::{Access, At, Fault, FaultKind, Outcome};
use crate::folio::{FolioFlags, FolioId};
use crate::swap::{self, SwapSlot};
use crate::world::{Place, World};
use crate::{CpuCtx, Rank};
use pageout_paging::contig::set_pte;
use pageout_paging::pte::SwapEntry;
use pageout_paging::{Format, Order, Pfn, Pte};

impl<W: World> At<'_, '_, W> {
    /// Brings the page of the swap entry `pte` back and maps it (Linux 7.3.4, do_swap_page).
    pub(super) fn swap_fault(
        &self,
        cpu: &mut CpuCtx,
        table: Pfn,
        pte: Pte,
        entry: SwapEntry,
    ) -> Outcome {
        let slot = SwapSlot::named_by(entry).ok_or(Fault::Unsupported)?;
        let (id, kind) = match swap::find(self.maps, self.world, cpu, slot) {
            Some(id) => self.await_content(cpu, id, Place::Swap(self.maps.folio(id).swap()))?,
            None => self.swap_in(cpu, slot)?,
        };
        cpu.enter(Rank::Folio);
        let guard = self.maps.lock_folio(self.world, id);
        let folio = self.maps.folio(id);
        let page = u64::from(slot.0).wrapping_sub(u64::from(folio.swap().0));
        let cached = folio.flags().contains(FolioFlags::SWAPCACHE);
        if cached && page < folio.nr_pages() as u64 {
            let mapped =
                self.map_swapped(cpu, table, (pte, entry, slot), id, folio.pfn().add(page));
            if mapped {
                swap::free_entries(self.maps, self.world, cpu, slot, 1);
                swap::try_to_free_swap(self.maps, self.world, cpu, &guard);
            }
        }
        drop(guard);
        cpu.leave(Rank::Folio);
        self.release(cpu, id, 1);
        Ok(kind)
    }

    /// Maps the page in frame `pfn` in place of the swap entry, if that is still there.
    fn map_swapped(
        &self,
        cpu: &mut CpuCtx,
        table: Pfn,
        (swapped, entry, slot): (Pte, SwapEntry, SwapSlot),
        id: FolioId,
        pfn: Pfn,
    ) -> bool {
        let folio = self.maps.folio(id);
        // No other process names the slot or maps the folio: only the cache and this fault.
        let sole = self.maps.slot_entries(slot) == 1 && folio.refs() == 2;
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
        let pt = self.lock(cpu, table);
        let unchanged = self.read(&pt) == swapped;
        if unchanged {
            self.maps.set_anon_exclusive(pfn, 1, exclusive);
            folio.add_mappings(1);
            set_pte(self.world, &pt, self.asid(), self.addr, pte, &frames(folio));
        }
        self.unlock(cpu, pt);
        unchanged
    }

    /// Makes a folio for a slot, charged to the cgroup its page belonged to, and starts to read it.
    fn swap_in(&self, cpu: &mut CpuCtx, slot: SwapSlot) -> Result<(FolioId, FaultKind), Fault> {
        let mapping = self.anon_mapping(cpu)?;
        let memcg = self.maps.slot_memcg(slot);
        let id = self.new_folio(cpu, Order::default(), memcg, mapping, self.index())?;
        cpu.enter(Rank::Folio);
        let guard = self.maps.folio(id).try_lock().expect("no one else knows the folio");
        guard.set(FolioFlags::READING);
        let added = swap::insert(self.maps, self.world, cpu, &guard, id, slot);
        drop(guard);
        cpu.leave(Rank::Folio);
        let Ok(shadow) = added else {
            // Another fault was first, or the entry is gone: the access finds what is there now.
            self.release(cpu, id, 1);
            return Err(Fault::Done(FaultKind::Minor));
        };
        if let Some(shadow) = shadow {
            self.maps.workingset_refault(cpu, id, shadow);
        }
        self.maps.lru_add(self.world, cpu, id);
        self.submit_read(cpu, id, Place::Swap(slot))
    }
}
