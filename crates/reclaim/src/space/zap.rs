//! Taking everything out of a range: munmap, MADV_DONTNEED, exit.

use super::{SpaceError, after, flush_tlb_batched_pending, read, run, set_absent};
use crate::folio::{FolioFlags, FolioId};
use crate::maps::Maps;
use crate::mm::{Mm, MmId};
use crate::swap::{self, SwapSlot};
use crate::vma::{VmFlags, Vma};
use crate::world::World;
use crate::{CpuCtx, Rank};
use pageout_paging::batch::BatchFlags;
use pageout_paging::contig::get_and_clear_ptes;
use pageout_paging::pte::Entry;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, Table, VirtAddr, VirtRange, tlb};

/// Runs taken out before their table's lock is given up and their folios are let go.
const BATCH: usize = 32;

/// What was taken out of one table at once.
#[derive(Default)]
struct Batch {
    runs: [Option<(FolioId, u32, Pte)>; BATCH],
    slots: [Option<SwapSlot>; BATCH],
    nr: usize,
    /// Whether a TLB may hold any of it.
    valid: bool,
    /// Whether a device may.
    lent: bool,
}

impl Maps<'_> {
    /// Removes what is mapped in `range`, and what only a part of lies there keeps the other part
    /// (Linux 7.3.4, do_munmap). Page tables stay until the address space ends.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn munmap_range<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        mm: MmId,
        range: &VirtRange,
    ) -> Result<(), SpaceError> {
        let mm = self.mm(mm);
        let guard = self.lock_mmap(world, cpu, mm);
        let begun = self.begin(world, cpu, mm, range);
        if begun.is_ok() {
            self.remove_range(world, cpu, mm, range);
        }
        self.unlock_mmap(cpu, guard);
        begun
    }

    /// Removes the VMAs of a range at whose ends none goes on. The caller holds the mmap lock.
    pub(super) fn remove_range<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        mm: &Mm,
        range: &VirtRange,
    ) {
        while let Some(id) = self.first_vma_after(mm, range.start, range.end) {
            let vma = self.vma(id);
            zap_range(self, world, cpu, mm, vma, &vma.range());
            self.remove_vma(world, cpu, id);
        }
    }
}

/// Takes out every entry of a range of a VMA. The caller holds the mmap lock.
pub(super) fn zap_range<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    mm: &Mm,
    vma: &Vma,
    range: &VirtRange,
) {
    for span in spans(world, mm.root(), range.clone()) {
        match span {
            Span::Ptes { frame, range, .. } => {
                let mut addr = range.start;
                while addr < range.end {
                    addr = zap_batch(maps, world, cpu, (mm, vma), frame, addr..range.end);
                }
            }
            Span::PmdLeaf { frame, range } => zap_leaf(maps, world, cpu, mm, frame, range.start),
        }
    }
}

/// Takes out entries of one table until the batch is full; the first address left.
fn zap_batch<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    (mm, vma): (&Mm, &Vma),
    frame: Pfn,
    range: VirtRange,
) -> VirtAddr {
    let mut batch = Batch::default();
    let mut addr = range.start;
    cpu.enter(Rank::PageTable);
    let pt = LockedTable::lock(world, frame);
    flush_tlb_batched_pending(world, mm);
    while addr < range.end && batch.nr < BATCH {
        addr = take_out(maps, world, &pt, mm, addr..range.end, &mut batch);
    }
    let nr = super::pages::<W::Format>(&(range.start..addr));
    if batch.valid {
        tlb::forget(world, mm.asid(), range.start, nr, Level::Pte);
    } else if batch.lent {
        tlb::forget_secondary(world, mm.asid(), range.start, nr, Level::Pte);
    }
    for (id, nr, was) in batch.runs.iter().flatten() {
        if W::Format::is_dirty(*was) {
            maps.folio(*id).note_dirty();
        }
        maps.folio(*id).take_mappings(*nr);
    }
    drop(pt);
    cpu.leave(Rank::PageTable);
    for (id, nr, was) in batch.runs.into_iter().flatten() {
        let file = !maps.folio(id).flags().contains(FolioFlags::ANON);
        if file && W::Format::is_young(was) && !vma.flags().intersects(VmFlags::NO_RECENCY) {
            maps.mark_accessed(world, cpu, id);
        }
        maps.release(world, cpu, id, nr);
    }
    for slot in batch.slots.into_iter().flatten() {
        free_slot(maps, world, cpu, slot);
    }
    addr
}

/// Takes out the run or the other entry at the start of `range`; the address after it.
fn take_out<W: World>(
    maps: &Maps<'_>,
    world: &W,
    pt: &LockedTable<'_, W>,
    mm: &Mm,
    range: VirtRange,
    batch: &mut Batch,
) -> VirtAddr {
    let addr = range.start;
    let mut pte = read(pt, addr);
    match W::Format::entry(pte) {
        Entry::None => {}
        Entry::Present | Entry::ProtNone => {
            let folio = maps.folio_of(W::Format::pfn(pte));
            let nr = run(maps, pt, addr, range.end, &mut pte, BatchFlags::NONE);
            let was = get_and_clear_ptes(world, pt, mm.asid(), addr, nr);
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
            } else if let Some(id) = entry.lent().and_then(|pfn| maps.folio_of(pfn)) {
                batch.lent = true;
                batch.runs[batch.nr] = Some((id, 1, Pte::NONE));
                batch.nr += 1;
            }
        }
    }
    after::<W::Format>(addr, 1)
}

/// Takes out a PMD leaf, which lies in the range as a whole.
fn zap_leaf<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    mm: &Mm,
    frame: Pfn,
    addr: VirtAddr,
) {
    cpu.enter(Rank::PageTable);
    let pt = LockedTable::lock(world, frame);
    flush_tlb_batched_pending(world, mm);
    let was = pt.table().swap(W::Format::index(Level::Pmd, addr), Pte::NONE);
    tlb::forget(world, mm.asid(), addr, 1, Level::Pmd);
    let folio = maps.folio_of(W::Format::pfn(was));
    if let Some(folio) = folio.map(|id| maps.folio(id)) {
        if W::Format::is_dirty(was) {
            folio.note_dirty();
        }
        folio.take_mappings(1);
    }
    drop(pt);
    cpu.leave(Rank::PageTable);
    if let Some(id) = folio {
        maps.release(world, cpu, id, 1);
    }
}

/// Counts one entry less for a slot, and lets go of the folio that the swap cache keeps for no one
/// (Linux 7.3.4, swap_put_entries_direct).
pub(super) fn free_slot<W: World>(maps: &Maps<'_>, world: &W, cpu: &mut CpuCtx, slot: SwapSlot) {
    swap::free_entries(maps, world, cpu, slot, 1);
    if maps.slot_entries(slot) > 0 {
        return;
    }
    if let Some(id) = swap::find(maps, world, cpu, slot) {
        cpu.enter(Rank::Folio);
        if let Some(guard) = maps.folio(id).try_lock() {
            swap::try_to_free_swap(maps, world, cpu, &guard);
        }
        cpu.leave(Rank::Folio);
        maps.release(world, cpu, id, 1);
    }
}
