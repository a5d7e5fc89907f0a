//! Moves and resizes of mapped ranges (mremap).

use super::protect::KEEP_WRITE;
use super::{SpaceError, after, forget_lent, read, set_absent};
use crate::engine::Engine;
use crate::id::{MmId, VmaNr};
use crate::memory::OutOfMemory;
use crate::mm::{Mm, Vma, WorldTables, is_pages, leaf_start, pages, run};
use crate::mm_state::MmState;
use crate::unmap::flush_tlb_batched_pending;
use crate::world::World;
use pageout_paging::contig::get_and_clear_ptes;
use pageout_paging::pte::Entry;
use pageout_paging::walk::{Descent, Span, descend, make_table, spans};
use pageout_paging::{Format, Level, Pfn, Pte, Table, VirtAddr, VirtRange, tlb};

impl<W: World> Engine<'_, W> {
    /// Moves the mapping of `old`, a part of one VMA, to `new`. If both begin at the same address,
    /// shrinks or grows it in place (Linux 7.3.4, mremap and move_page_tables). Pages keep their
    /// place in their mappings. A PMD leaf moves whole if it is aligned in both places and the new
    /// place has nothing, not even an empty table. Any other is split.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then, except that page tables made stay.
    pub fn mremap(&mut self, mm: MmId, old: &VirtRange, new: &VirtRange) -> Result<(), SpaceError> {
        if !is_pages::<W::Format>(old) || !is_pages::<W::Format>(new) {
            return Err(SpaceError::BadRange);
        }
        let (mm, guard) = self.lock_mm(mm)?;
        let done = if old.start == new.start {
            self.resize_in_place(mm, old, new.end)
        } else {
            self.relocate(mm, old, new)
        };
        drop(guard);
        done
    }
}

impl MmState<'_> {
    /// Returns the VMA that holds all of a range.
    fn vma_around(&self, mm: &Mm, range: &VirtRange) -> Result<VmaNr, SpaceError> {
        let found = self.find_vma(mm, range.start);
        found.filter(|id| range.end <= self.vma_at(*id).end()).ok_or(SpaceError::NotMapped)
    }
}

impl<W: World> Engine<'_, W> {
    /// Changes the end of a mapped range to `end`.
    fn resize_in_place(
        &mut self,
        mm: &Mm,
        old: &VirtRange,
        end: VirtAddr,
    ) -> Result<(), SpaceError> {
        let maps = self.maps;
        let id = maps.vma_around(mm, old)?;
        if end < old.end {
            let tail = end..old.end;
            self.begin(mm, &tail)?;
            self.remove_range(mm, &tail);
        } else if end > old.end {
            let vma = maps.vma_at(id);
            fits_mapping::<W>(vma.pgoff(), &(vma.start()..end))?;
            // The range beyond must be free, even of the rest of this VMA.
            if old.end != vma.end() || maps.first_vma_after(mm, old.end, end).is_some() {
                return Err(SpaceError::Overlap);
            }
            let guards = self.lock_rmaps(vma);
            vma.set_range(&(vma.start()..end), vma.pgoff());
            maps.rmap_resized::<W::Format>(id);
            drop(guards);
        }
        Ok(())
    }

    fn relocate(&mut self, mm: &Mm, old: &VirtRange, new: &VirtRange) -> Result<(), SpaceError> {
        let (maps, world) = (self.maps, self.world);
        let vma = maps.vma_at(maps.vma_around(mm, old)?);
        fits_mapping::<W>(vma.pgoff_at::<W::Format>(old.start), new)?;
        let overlap = new.start < old.end && old.start < new.end;
        if overlap || maps.first_vma_after(mm, new.start, new.end).is_some() {
            return Err(SpaceError::Overlap);
        }
        // All steps that can fail come first.
        let moved = old.start..after::<W::Format>(old.start, pages_moved::<W>(old, new));
        self.split_leaves_at(mm, old);
        self.split_leaves_at(mm, &moved);
        self.split_leaves_in_part(mm, vma, &moved, new.start);
        make_tables(world, mm, &moved, new.start)?;
        let target = self.take_vma()?;
        if let Err(full) = self.split_range(mm, old) {
            self.put_vma(target);
            return Err(full.into());
        }
        let source = maps.find_vma(mm, old.start).expect("just found");
        let vma = maps.vma_at(source);
        maps.vma_at(target).init_like(vma, vma.mm(), new, vma.pgoff());
        self.list_vma(target);
        // Otherwise a reverse walk that has passed the new VMA, and not yet reached the old one,
        // would miss the pages that move in between.
        let mut guards = self.lock_rmaps(vma);
        while !has_tables(world, mm, &moved, new.start) {
            // Reclaim has split a leaf.
            drop(guards);
            if let Err(error) = make_tables(world, mm, &moved, new.start) {
                self.remove_vma(target);
                self.merge_range(mm, old);
                return Err(error);
            }
            guards = self.lock_rmaps(vma);
        }
        self.move_entries(mm, &moved, new.start);
        drop(guards);
        // The part that did not fit is unmapped.
        self.remove_range(mm, old);
        self.merge_range(mm, new);
        Ok(())
    }
}

/// Returns an error if a range would end past the last page offset.
fn fits_mapping<W: World>(pgoff: u64, range: &VirtRange) -> Result<(), SpaceError> {
    let end = pgoff.checked_add(pages::<W::Format>(range) as u64);
    end.map(|_| ()).ok_or(SpaceError::BadRange)
}

/// Returns the number of pages of `old` that fit into `new`.
fn pages_moved<W: World>(old: &VirtRange, new: &VirtRange) -> usize {
    pages::<W::Format>(old).min(pages::<W::Format>(new))
}

/// Returns the addresses from `to` on, with the level of the table for each, that the entries in
/// `range` need there.
fn tables_needed<W: World>(
    world: &W,
    mm: &Mm,
    range: &VirtRange,
    to: VirtAddr,
) -> impl Iterator<Item = (VirtAddr, Level)> {
    let from = range.start;
    spans(world, mm.root(), range.clone()).flat_map(move |span| {
        let (part, level) = match span {
            Span::Ptes { range, .. } => (range, Level::Pte),
            Span::PmdLeaf { range, .. } => (range, Level::Pmd),
        };
        // If the two are not aligned alike, one table's entries may go to two.
        let last = VirtAddr::new(part.end.get() - W::Format::PAGE_SIZE);
        [part.start, last].map(|at| (moved(at, from, to), level))
    })
}

/// Makes the tables that the entries in `range` need at `to`.
fn make_tables<W: World>(
    world: &W,
    mm: &Mm,
    range: &VirtRange,
    to: VirtAddr,
) -> Result<(), SpaceError> {
    for (at, level) in tables_needed(world, mm, range, to) {
        let made = make_table(world, mm.root(), at, level, &mut WorldTables(world));
        made.ok_or(SpaceError::OutOfMemory(OutOfMemory::PageTables))?;
    }
    Ok(())
}

/// Returns true if all of those tables exist.
fn has_tables<W: World>(world: &W, mm: &Mm, range: &VirtRange, to: VirtAddr) -> bool {
    tables_needed(world, mm, range, to).all(|(at, level)| {
        let found = descend(world, mm.root(), at);
        match level {
            Level::Pte => matches!(found, Descent::PteTable(..)),
            _ => found == Descent::Absent(Level::Pmd),
        }
    })
}

/// Returns true if the leaf at `part` may move whole to `at` (Linux 7.3.4, move_huge_pmd). It must
/// lie in the range as a whole and be aligned there as well. The place must have nothing, not even
/// an empty table.
fn moves_whole<W: World>(world: &W, mm: &Mm, part: &VirtRange, at: VirtAddr) -> bool {
    pages::<W::Format>(part) == W::Format::nr_pages(Level::Pmd)
        && leaf_start::<W::Format>(at) == at
        && matches!(descend(world, mm.root(), at), Descent::Absent(_))
}

/// Returns the new address of `addr` in a move from `from` to `to`.
fn moved(addr: VirtAddr, from: VirtAddr, to: VirtAddr) -> VirtAddr {
    to.add(addr.get() - from.get())
}

impl<W: World> Engine<'_, W> {
    /// Splits the PMD leaves of a range that cannot move to `to` whole.
    fn split_leaves_in_part(&mut self, mm: &Mm, vma: &Vma, range: &VirtRange, to: VirtAddr) {
        let world = self.world;
        for span in spans(world, mm.root(), range.clone()) {
            if let Span::PmdLeaf { frame, range: part } = span
                && !moves_whole(world, mm, &part, moved(part.start, range.start, to))
            {
                self.split_leaf(frame, (mm, vma), part.start);
            }
        }
    }

    /// Moves the PMD leaf at `addr` in the table in `frame` to `at`. Its page table in reserve
    /// stays.
    fn move_leaf(&mut self, mm: &Mm, frame: Pfn, addr: VirtAddr, at: VirtAddr) {
        let world = self.world;
        let pt = self.lock_table(frame);
        flush_tlb_batched_pending(world, mm);
        let was = pt.table().swap(W::Format::index(Level::Pmd, addr), Pte::NONE);
        if W::Format::is_valid(was) {
            tlb::forget(world, mm.asid(), addr, 1, Level::Pmd);
        }
        drop(pt);
        let made = make_table(world, mm.root(), at, Level::Pmd, &mut WorldTables(world));
        let pt = self.lock_table(made.expect("its table was made"));
        pt.table().set(W::Format::index(Level::Pmd, at), was);
        drop(pt);
    }

    /// Moves the entries of a range to `to`, run by run. Blocks stay contiguous where they are
    /// aligned there as well. No TLB holds an entry of the old place when the new one is written.
    /// The caller holds the locks of the reverse maps, so that no leaf is split.
    fn move_entries(&mut self, mm: &Mm, range: &VirtRange, to: VirtAddr) {
        let world = self.world;
        for span in spans(world, mm.root(), range.clone()) {
            let (frame, part) = match span {
                Span::Ptes { frame, range, .. } => (frame, range),
                Span::PmdLeaf { frame, range: part } => {
                    self.move_leaf(mm, frame, part.start, moved(part.start, range.start, to));
                    continue;
                }
            };
            let mut addr = part.start;
            while addr < part.end {
                let at = moved(addr, range.start, to);
                let room = W::Format::PTES - W::Format::index(Level::Pte, at);
                let end = part.end.min(after::<W::Format>(addr, room));
                let (pte, nr) = self.take_entries(mm, frame, addr..end);
                if !pte.is_none() {
                    let made =
                        make_table(world, mm.root(), at, Level::Pte, &mut WorldTables(world));
                    let frame = made.expect("its table was made");
                    self.set_entries(frame, at, pte, nr);
                }
                addr = after::<W::Format>(addr, nr);
            }
        }
    }

    /// Takes out the first entries of `range` in one table: a run, or one entry that is not
    /// present.
    fn take_entries(&mut self, mm: &Mm, frame: Pfn, range: VirtRange) -> (Pte, usize) {
        let world = self.world;
        let addr = range.start;
        let pt = self.lock_table(frame);
        flush_tlb_batched_pending(world, mm);
        let mut pte = read(&pt, addr);
        let taken = match W::Format::entry(pte) {
            Entry::None => (pte, 1),
            Entry::Present | Entry::ProtNone => {
                let nr = run(self.maps, &pt, addr, range.end, &mut pte, KEEP_WRITE);
                let was = get_and_clear_ptes(world, &pt, mm.asid(), addr, nr);
                if W::Format::is_valid(was) {
                    tlb::forget(world, mm.asid(), addr, nr, Level::Pte);
                }
                (was, nr)
            }
            Entry::Swap(entry) => {
                set_absent(&pt, addr, Pte::NONE);
                forget_lent(world, mm, addr, entry);
                (pte, 1)
            }
        };
        drop(pt);
        taken
    }
}
