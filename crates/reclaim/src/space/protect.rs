//! Changes of protection: mprotect, and userfaultfd's write protection.

use super::{SpaceError, after, forget_lent, read, set_absent};
use crate::engine::Engine;
use crate::id::MmId;
use crate::memory::OutOfMemory;
use crate::mm::{Mm, VmFlags, keep_state, leaf_at, prot_of, rewrite_leaf, run};
use crate::unmap::flush_tlb_batched_pending;
use crate::world::World;
use pageout_paging::batch::BatchFlags;
use pageout_paging::contig::{get_and_clear_ptes, set_ptes};
use pageout_paging::pte::{Entry, SwapEntry, SwapKind};
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, VirtAddr, VirtRange, tlb};

/// The flags of a VMA that mprotect changes.
const PROT: VmFlags = VmFlags::READ.union(VmFlags::WRITE).union(VmFlags::EXEC);

/// The flags for runs of entries that agree in the bits kept of each: writable and soft-dirty.
pub(super) const KEEP_WRITE: BatchFlags =
    BatchFlags { respect_write: true, respect_soft_dirty: true, ..BatchFlags::NONE };

/// The new values of a VMA's flags, of entries that map a page, and of swap entries.
struct Change<V, P, S> {
    flags: V,
    present: P,
    swapped: S,
}

impl<W: World> Engine<'_, W> {
    /// Sets the protection of a range to `prot`, of READ, WRITE and EXEC; none of them is PROT_NONE
    /// (Linux 7.3.4, mprotect_fixup and change_protection). The first store to a page that becomes
    /// writable still faults, since the page may be shared.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn mprotect(
        &mut self,
        mm: MmId,
        range: &VirtRange,
        prot: VmFlags,
    ) -> Result<(), SpaceError> {
        let prot = prot & PROT;
        let present = |level, pte| {
            let write = W::Format::is_write(pte);
            let leaf = W::Format::leaf(level, W::Format::pfn(pte), prot_of(prot, write));
            keep_state::<W::Format>(leaf, pte)
        };
        let change =
            Change { flags: |flags| (flags - PROT) | prot, present, swapped: |entry| entry };
        self.change_vmas(mm, range, false, &change)
    }

    /// Begins or ends userfaultfd's write protection of a range (Linux 7.3.4, mwriteprotect_range).
    /// Only pages that are mapped or swapped out are protected: there are no markers over holes. A
    /// file's PMD leaf is split into entries first, since each may leave a marker.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn set_uffd_wp(&mut self, mm: MmId, range: &VirtRange, on: bool) -> Result<(), SpaceError> {
        if on && W::Format::UFFD_WP == 0 {
            return Err(SpaceError::NoMark);
        }
        let flags = |flags: VmFlags| match on {
            true => flags | VmFlags::UFFD_WP,
            false => flags - VmFlags::UFFD_WP,
        };
        let present = |_, pte: Pte| match on {
            true => W::Format::mkuffd_wp(pte),
            false => Pte(pte.0 & !W::Format::UFFD_WP),
        };
        let swapped = |entry| SwapEntry { uffd_wp: on, ..entry };
        self.change_vmas(mm, range, on, &Change { flags, present, swapped })
    }

    /// Changes the flags of the VMAs of a range, and every entry that maps a page. If files' pages
    /// are `marked`, their leaves are split first.
    fn change_vmas<V, P, S>(
        &mut self,
        mm: MmId,
        range: &VirtRange,
        marked: bool,
        change: &Change<V, P, S>,
    ) -> Result<(), SpaceError>
    where
        V: Fn(VmFlags) -> VmFlags,
        P: Fn(Level, Pte) -> Pte,
        S: Fn(SwapEntry) -> SwapEntry,
    {
        let maps = self.maps;
        let (mm, guard) = self.lock_mm(mm)?;
        let covered = if maps.covers(mm, range) { Ok(()) } else { Err(SpaceError::NotMapped) };
        // This comes first, since a leaf that lies partly in the range would be taken out
        // otherwise.
        let marked = |engine: &mut Self| match marked {
            true => engine.split_file_leaves(mm, range),
            false => Ok(()),
        };
        let begun = covered.and_then(|()| marked(self)).and_then(|()| self.begin(mm, range));
        if begun.is_ok() {
            maps.each_vma(mm, range, |id| {
                let vma = maps.vma_at(id);
                vma.set_flags((change.flags)(vma.flags()));
                self.rewrite(mm, &vma.range(), change);
            });
            self.merge_range(mm, range);
        }
        drop(guard);
        begun
    }
}

impl<W: World> Engine<'_, W> {
    /// Replaces every entry of a range that maps a page, run by run. No TLB holds the old entries
    /// when the new ones are written: a run may become a contiguous block or stop being one.
    fn rewrite<V, P: Fn(Level, Pte) -> Pte, S: Fn(SwapEntry) -> SwapEntry>(
        &mut self,
        mm: &Mm,
        range: &VirtRange,
        change: &Change<V, P, S>,
    ) {
        let world = self.world;
        for span in spans(world, mm.root(), range.clone()) {
            let (frame, range) = match span {
                Span::Ptes { frame, range, .. } => (frame, range),
                Span::PmdLeaf { frame, range } => {
                    self.rewrite_whole(mm, frame, range, change);
                    continue;
                }
            };
            let pt = self.lock_table(frame);
            flush_tlb_batched_pending(world, mm);
            let mut addr = range.start;
            while addr < range.end {
                let at = addr..range.end;
                addr = self.rewrite_run(mm, &pt, at, change);
            }
            drop(pt);
        }
    }

    /// Replaces a PMD leaf that lies in the range as a whole (Linux 7.3.4, change_huge_pmd). If
    /// reclaim has split it meanwhile, replaces its entries.
    fn rewrite_whole<V, P: Fn(Level, Pte) -> Pte, S: Fn(SwapEntry) -> SwapEntry>(
        &mut self,
        mm: &Mm,
        frame: Pfn,
        range: VirtRange,
        change: &Change<V, P, S>,
    ) {
        let present = |pmd| (change.present)(Level::Pmd, pmd);
        let pt = self.lock_table(frame);
        let leaf = leaf_at(&pt, range.start);
        if leaf.is_some_and(|pmd| present(pmd) != pmd) {
            rewrite_leaf(self.world, &pt, mm, range.start, present);
        }
        drop(pt);
        if leaf.is_none() {
            self.rewrite(mm, &range, change);
        }
    }

    /// Splits files' leaves that lie at least partly in a range into entries.
    fn split_file_leaves(&mut self, mm: &Mm, range: &VirtRange) -> Result<(), SpaceError> {
        let (maps, world) = (self.maps, self.world);
        for span in spans(world, mm.root(), range.clone()) {
            let Span::PmdLeaf { frame, range } = span else {
                continue;
            };
            let vma = maps.vma_at(maps.find_vma(mm, range.start).expect("the range is covered"));
            let table = world.alloc_table();
            let table = table.ok_or(SpaceError::OutOfMemory(OutOfMemory::PageTables))?;
            let pt = self.lock_table(frame);
            let leaf = leaf_at(&pt, range.start).filter(|pmd| !self.is_anon_leaf(*pmd));
            if leaf.is_some() {
                self.split_into(&pt, (mm, vma), range.start, table);
            }
            drop(pt);
            if leaf.is_none() {
                world.free_table(table);
            }
        }
        Ok(())
    }

    fn rewrite_run<V, P: Fn(Level, Pte) -> Pte, S: Fn(SwapEntry) -> SwapEntry>(
        &self,
        mm: &Mm,
        pt: &LockedTable<'_, W>,
        range: VirtRange,
        change: &Change<V, P, S>,
    ) -> VirtAddr {
        let world = self.world;
        let addr = range.start;
        let mut pte = read(pt, addr);
        let plain = W::Format::mknoncont(pte);
        match W::Format::entry(pte) {
            Entry::None => {}
            Entry::Present | Entry::ProtNone if (change.present)(Level::Pte, plain) != plain => {
                let nr = run(self.maps, pt, addr, range.end, &mut pte, KEEP_WRITE);
                replace(world, mm, pt, addr, nr, &|pte| (change.present)(Level::Pte, pte));
                return after::<W::Format>(addr, nr);
            }
            Entry::Present | Entry::ProtNone => {}
            Entry::Swap(entry) => {
                // Once it has moved, the first store to the page faults, as for a mapped one.
                let new = (change.swapped)(entry.wrprotect());
                // A marker without a flag is replaced by an empty entry.
                let nothing = new.kind == SwapKind::Marker && !new.uffd_wp;
                set_absent(pt, addr, if nothing { Pte::NONE } else { W::Format::swap(new) });
                forget_lent(world, mm, addr, entry);
            }
        }
        after::<W::Format>(addr, 1)
    }
}

/// Takes out a run, flushes it from every TLB, and writes `change` of it.
pub(super) fn replace<W: World>(
    world: &W,
    mm: &Mm,
    pt: &LockedTable<'_, W>,
    addr: VirtAddr,
    nr: usize,
    change: &impl Fn(Pte) -> Pte,
) {
    let was = get_and_clear_ptes(world, pt, mm.asid(), addr, nr);
    if W::Format::is_valid(was) {
        tlb::forget(world, mm.asid(), addr, nr, Level::Pte);
    }
    let i = W::Format::index(Level::Pte, addr);
    set_ptes::<W::Format, _>(pt.table(), i, change(W::Format::mknoncont(was)), nr);
}
