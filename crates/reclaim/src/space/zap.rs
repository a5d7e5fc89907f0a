//! Removal of everything from a range: munmap, MADV_DONTNEED, exit.

use super::{SpaceError, after, read, set_absent};
use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::id::{FolioNr, MmId, SwapSlot};
use crate::mm::{Mm, VmFlags, Vma, pages, run};
use crate::unmap::{LeafTaken, flush_tlb_batched_pending};
use crate::world::World;
use pageout_paging::batch::BatchFlags;
use pageout_paging::contig::get_and_clear_ptes;
use pageout_paging::pte::Entry;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, VirtAddr, VirtRange, tlb};

/// The number of runs that are taken out before their table is unlocked and their folios are
/// released.
const BATCH: usize = 32;

/// The entries taken out of one table at once.
#[derive(Default)]
pub(super) struct Batch {
    runs: [Option<(FolioNr, u32, Pte)>; BATCH],
    slots: [Option<SwapSlot>; BATCH],
    pub(super) nr: usize,
    /// True if a TLB may hold any of them.
    valid: bool,
    /// True if a page was lent to a device, which may still use it.
    lent: bool,
}

impl Batch {
    /// Makes a batch of the folio of a PMD leaf that was taken out, with the leaf's old value.
    pub(super) fn of_leaf(id: FolioNr, was: Pte) -> Self {
        let mut batch = Self::default();
        batch.runs[0] = Some((id, 1, was));
        batch.nr = 1;
        batch
    }
}

impl<W: World> Engine<'_, W> {
    /// Unmaps `range` (Linux 7.3.4, do_munmap). Of VMAs and leaves that lie there only in part, the
    /// other part stays. Page tables stay until the address space ends.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn munmap_range(&mut self, mm: MmId, range: &VirtRange) -> Result<(), SpaceError> {
        let (mm, guard) = self.lock_mm(mm)?;
        let begun = self.begin(mm, range);
        if begun.is_ok() {
            self.remove_range(mm, range);
        }
        drop(guard);
        begun
    }

    /// Removes the VMAs of a range at whose ends VMAs were split. The caller holds the mmap lock.
    pub(super) fn remove_range(&mut self, mm: &Mm, range: &VirtRange) {
        let maps = self.maps;
        while let Some(id) = maps.first_vma_after(mm, range.start, range.end) {
            let vma = maps.vma_at(id);
            self.zap_range(mm, vma, &vma.range());
            self.remove_vma(id);
        }
    }
}

impl<W: World> Engine<'_, W> {
    /// Takes out every entry of a range of a VMA. The caller holds the mmap lock.
    pub(super) fn zap_range(&mut self, mm: &Mm, vma: &Vma, range: &VirtRange) {
        for span in spans(self.world, mm.root(), range.clone()) {
            match span {
                Span::Ptes { frame, range, .. } => {
                    let mut addr = range.start;
                    while addr < range.end {
                        addr = self.zap_batch((mm, vma), frame, addr..range.end);
                    }
                }
                Span::PmdLeaf { frame, range } => self.zap_leaf((mm, vma), frame, range),
            }
        }
    }

    /// Takes out entries of one table until the batch is full, and releases their folios. Returns
    /// the first address left.
    fn zap_batch(&mut self, (mm, vma): (&Mm, &Vma), frame: Pfn, range: VirtRange) -> VirtAddr {
        let (addr, batch) = self.take_batch(mm, frame, range);
        self.put_batch(vma.flags(), batch);
        addr
    }

    /// Takes out entries of one table until the batch is full. Returns the first address left, and
    /// the batch. The entries are flushed from every TLB and no longer counted as mappings; the
    /// batch has their references.
    pub(super) fn take_batch(&self, mm: &Mm, frame: Pfn, range: VirtRange) -> (VirtAddr, Batch) {
        let (maps, world) = (self.maps, self.world);
        let mut batch = Batch::default();
        let mut addr = range.start;
        let pt = self.lock_table(frame);
        flush_tlb_batched_pending(world, mm);
        while addr < range.end && batch.nr < BATCH {
            addr = self.take_out(&pt, mm, addr..range.end, &mut batch);
        }
        let nr = pages::<W::Format>(&(range.start..addr));
        if batch.valid {
            tlb::forget(world, mm.asid(), range.start, nr, Level::Pte);
        } else if batch.lent {
            tlb::forget_secondary(world, mm.asid(), range.start, nr, Level::Pte);
        }
        for (id, nr, was) in batch.runs.iter().flatten() {
            if W::Format::is_dirty(*was) {
                maps.note_dirty(maps.folio_at(*id));
            }
            maps.folio_at(*id).sub_mapcount(*nr);
        }
        drop(pt);
        (addr, batch)
    }

    /// Releases the folios and slots taken out of a VMA with such flags. The caller holds no
    /// folio's lock.
    pub(super) fn put_batch(&mut self, flags: VmFlags, batch: Batch) {
        for (id, nr, was) in batch.runs.into_iter().flatten() {
            let file = !self.maps.folio_at(id).flags().contains(FolioFlags::ANON);
            if file && W::Format::is_young(was) && !flags.intersects(VmFlags::NO_RECENCY) {
                self.mark_accessed_at(id);
            }
            self.put_folio(id, nr);
        }
        for slot in batch.slots.into_iter().flatten() {
            self.free_slot(slot);
        }
    }

    /// Takes out the run or the other entry at the start of `range`, and returns the address after
    /// it.
    fn take_out(
        &self,
        pt: &LockedTable<'_, W>,
        mm: &Mm,
        range: VirtRange,
        batch: &mut Batch,
    ) -> VirtAddr {
        let maps = self.maps;
        let addr = range.start;
        let mut pte = read(pt, addr);
        match W::Format::entry(pte) {
            Entry::None => {}
            Entry::Present | Entry::ProtNone => {
                let folio = maps.folio_nr_of(W::Format::pfn(pte));
                let nr = run(maps, pt, addr, range.end, &mut pte, BatchFlags::NONE);
                let was = get_and_clear_ptes(self.world, pt, mm.asid(), addr, nr);
                batch.valid |= W::Format::is_valid(was);
                if let Some(id) = folio {
                    batch.runs[batch.nr] = Some((id, nr as u32, was));
                    batch.nr += 1;
                }
                return after::<W::Format>(addr, nr);
            }
            Entry::Swap(entry) => {
                set_absent(pt, addr, Pte::NONE);
                if let Some(slot) = SwapSlot::named_by(entry) {
                    batch.slots[batch.nr] = Some(slot);
                    batch.nr += 1;
                } else if let Some(id) = entry.lent().and_then(|pfn| maps.folio_nr_of(pfn)) {
                    batch.lent = true;
                    batch.runs[batch.nr] = Some((id, 1, Pte::NONE));
                    batch.nr += 1;
                }
            }
        }
        after::<W::Format>(addr, 1)
    }

    /// Takes out a PMD leaf. If only a part of it lies in the range, it is split first. Once its
    /// table is locked, entries may be there, if reclaim has split it, or nothing.
    fn zap_leaf(&mut self, (mm, vma): (&Mm, &Vma), frame: Pfn, range: VirtRange) {
        if pages::<W::Format>(&range) < W::Format::nr_pages(Level::Pmd) {
            self.split_leaf(frame, (mm, vma), range.start);
            return self.zap_range(mm, vma, &range);
        }
        match self.take_leaf(mm, frame, range.start) {
            None => self.zap_range(mm, vma, &range),
            Some(taken) => self.give_up_leaf(vma.flags(), taken),
        }
    }

    /// Takes out a PMD leaf whole, unless it is gone.
    pub(super) fn take_leaf(&self, mm: &Mm, frame: Pfn, addr: VirtAddr) -> Option<LeafTaken> {
        let pt = self.lock_table(frame);
        flush_tlb_batched_pending(self.world, mm);
        let taken = self.take_out_leaf(&pt, mm, addr);
        drop(pt);
        taken
    }

    /// Releases the parts of a leaf that was taken out of a VMA with such flags (Linux 7.3.4,
    /// zap_huge_pmd).
    fn give_up_leaf(&mut self, flags: VmFlags, taken: LeafTaken) {
        if let Some(table) = taken.table {
            self.world.free_table(table);
        }
        if let Some(id) = taken.folio {
            self.put_batch(flags, Batch::of_leaf(id, taken.was));
        }
    }

    /// Counts one entry less for a slot, and releases the folio that is then only in the swap cache
    /// (Linux 7.3.4, swap_put_entries_direct).
    pub(super) fn free_slot(&mut self, slot: SwapSlot) {
        let maps = self.maps;
        self.put_entries(slot, 1);
        if maps.nr_slot_entries(slot) > 0 {
            return;
        }
        if let Some(id) = self.swap_cache_get(slot) {
            if let Some(guard) = self.try_lock_folio(id) {
                self.try_to_free_swap(&guard);
            }
            self.put_folio(id, 1);
        }
    }
}
