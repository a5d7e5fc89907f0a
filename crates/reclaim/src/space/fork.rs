//! Fork: a child that shares its parent's pages until either writes.

use super::{SpaceError, after, flush_mm, read, set_absent};
use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::id::{MmId, MmNr, SwapSlot};
use crate::memory::OutOfMemory;
use crate::mm::{Mm, Vma, WorldTables, leaf_at, prot_of, run};
use crate::unmap::flush_tlb_batched_pending;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::batch::BatchFlags;
use pageout_paging::contig::{set_ptes, wrprotect_ptes};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Entry, SwapEntry, SwapKind};
use pageout_paging::walk::{Span, make_table, spans};
use pageout_paging::{
    Format, Level, LockedTable, Pfn, Pte, Rules, Table, VirtAddr, VirtRange, tlb,
};

/// Entries are alike for a run of the child if they are for the parent. The child's entries are all
/// old.
const COPY: BatchFlags = BatchFlags {
    respect_dirty: true,
    respect_soft_dirty: true,
    respect_write: true,
    ..BatchFlags::NONE
};

impl<W: World> Engine<'_, W> {
    /// Copies an address space, over a root table without user entries (Linux 7.3.4, dup_mmap and
    /// copy_page_range). Entries are copied only in VMAs with anonymous pages; files' pages are
    /// faulted in. Private pages become read-only in both.
    ///
    /// # Errors
    /// [`SpaceError`]; then there is no child, and the only change to the parent is that stores may
    /// fault.
    pub fn fork(&mut self, parent: MmId, root: Pfn, asid: Asid) -> Result<MmId, SpaceError> {
        let maps = self.maps;
        let (from, guard) = self.lock_mm(parent)?;
        let child = self.take_mm(root, asid)?;
        let to = maps.mm_at(child);
        to.inherit_fault_around(from);
        if let Some(mapping) = from.anon() {
            maps.mapping_at(mapping).users.fetch_add(1, Relaxed);
            to.set_anon(Some(mapping));
        }
        let copied = self.copy_vmas(from, child);
        // Stores to a page that both have now must fault.
        flush_mm(self.world, from);
        if let Err(error) = copied {
            drop(guard);
            to.generation.end(to.generation.now());
            self.exit(child);
            return Err(error);
        }
        // This comes last, since the child was built without its mmap lock, which walks rely on.
        // The parent, while locked, stays in its cgroup and keeps that from being removed.
        to.store_memcg(from.memcg());
        self.lru_gen_add_mm(child);
        drop(guard);
        Ok(maps.mm_id(child))
    }

    fn copy_vmas(&mut self, from: &Mm, child: MmNr) -> Result<(), SpaceError> {
        let maps = self.maps;
        let mut next = maps.first_vma(from);
        while let Some(id) = next {
            next = maps.next_vma(from, id);
            let vma = maps.vma_at(id);
            let copy = self.take_vma()?;
            maps.vma_at(copy).init_like(vma, child, &vma.range(), vma.pgoff());
            self.list_vma(copy);
            if vma.anon().is_some() {
                self.copy_entries((from, vma), maps.mm_at(child), vma.range())?;
            }
        }
        Ok(())
    }

    fn copy_entries(
        &mut self,
        (from, vma): (&Mm, &Vma),
        child: &Mm,
        range: VirtRange,
    ) -> Result<(), SpaceError> {
        let world = self.world;
        for span in spans(world, from.root(), range) {
            let (frame, range) = match span {
                Span::Ptes { frame, range, .. } => (frame, range),
                Span::PmdLeaf { frame, range } => {
                    self.copy_leaf((from, vma), child, frame, range)?;
                    continue;
                }
            };
            let tables = &mut WorldTables(world);
            let made = make_table(world, child.root(), range.start, Level::Pte, tables);
            let target = made.ok_or(SpaceError::OutOfMemory(OutOfMemory::PageTables))?;
            let mut addr = range.start;
            while addr < range.end {
                let (pte, nr) = self.share((from, vma), frame, addr..range.end)?;
                if !pte.is_none() {
                    self.set_entries(target, addr, pte, nr);
                }
                addr = after::<W::Format>(addr, nr);
            }
        }
        Ok(())
    }

    /// Makes the child share a PMD leaf of anonymous memory, write-protected in both, with its own
    /// page table in reserve (Linux 7.3.4, copy_huge_pmd). If reclaim has split the leaf meanwhile,
    /// shares its entries. A file's leaf is not copied.
    fn copy_leaf(
        &mut self,
        (from, vma): (&Mm, &Vma),
        child: &Mm,
        frame: Pfn,
        range: VirtRange,
    ) -> Result<(), SpaceError> {
        let world = self.world;
        let out = SpaceError::OutOfMemory(OutOfMemory::PageTables);
        let tables = &mut WorldTables(world);
        let target = make_table(world, child.root(), range.start, Level::Pmd, tables).ok_or(out)?;
        let reserve = self.table_to_deposit().ok_or(out)?;
        let pt = self.lock_table(frame);
        flush_tlb_batched_pending(world, from);
        let leaf = leaf_at(&pt, range.start);
        let shared = leaf.filter(|pmd| self.is_anon_leaf(*pmd));
        let shared = shared.map(|_| self.share_leaf(&pt, vma, range.start));
        drop(pt);
        let Some(pmd) = shared else {
            world.free_table(reserve);
            return match leaf {
                Some(_) => Ok(()),
                None => self.copy_entries((from, vma), child, range),
            };
        };
        let pt = self.lock_table(target);
        self.deposit(reserve);
        pt.table().set(W::Format::index(Level::Pmd, range.start), pmd);
        drop(pt);
        Ok(())
    }

    /// Counts the child's mapping for a leaf of the parent's, and returns the leaf to set there.
    fn share_leaf(&self, pt: &LockedTable<'_, W>, vma: &Vma, addr: VirtAddr) -> Pte {
        let (maps, i) = (self.maps, W::Format::index(Level::Pmd, addr));
        let mut pmd = pt.table().load(i);
        while vma.is_private() && W::Format::is_write(pmd) {
            // Hardware may record uses and stores until then.
            let protected = W::Format::wrprotect(pmd);
            pmd = pt.table().cas(i, pmd, protected).map_or_else(|found| found, |()| protected);
        }
        let pfn = W::Format::pfn(pmd);
        let id = maps.folio_nr_of(pfn).expect("anonymous memory is of a folio");
        let nr = <W::Rules as Rules>::pages_shared(W::Format::PTES);
        maps.set_anon_exclusive(pfn, nr, false);
        maps.folio_at(id).add_mappings(1);
        let clean = if vma.is_private() { pmd } else { W::Format::mkclean(pmd) };
        W::Format::mkold(clean)
    }

    /// Counts the child's mappings for the entries at the start of `range`. Returns the first entry
    /// to set for it, and their number. Until they are set, reclaim finds fewer entries than
    /// mappings, and keeps the folio. If a page is moving, this waits. The migration would not find
    /// the child's entry before it is set, and needs nothing that is held here.
    fn share(
        &mut self,
        (from, vma): (&Mm, &Vma),
        frame: Pfn,
        range: VirtRange,
    ) -> Result<(Pte, usize), SpaceError> {
        let world = self.world;
        let addr = range.start;
        let (pt, pte) = loop {
            let pt = self.lock_table(frame);
            let pte = read(&pt, addr);
            if !is_migration::<W::Format>(pte) {
                break (pt, pte);
            }
            drop(pt);
            world.relax();
        };
        flush_tlb_batched_pending(world, from);
        let shared = match W::Format::entry(pte) {
            Entry::None => Ok((pte, 1)),
            Entry::Present | Entry::ProtNone => Ok(self.share_run(&pt, (from, vma), range, pte)),
            Entry::Swap(entry) if entry.kind == SwapKind::DeviceExclusive => {
                let pte = take_back(world, &pt, (from, vma), addr, entry);
                Ok(self.share_run(&pt, (from, vma), range, pte))
            }
            Entry::Swap(entry) => self.share_swapped(&pt, addr, entry),
        };
        drop(pt);
        shared
    }

    fn share_run(
        &self,
        pt: &LockedTable<'_, W>,
        (from, vma): (&Mm, &Vma),
        range: VirtRange,
        mut pte: Pte,
    ) -> (Pte, usize) {
        let maps = self.maps;
        let nr = run(maps, pt, range.start, range.end, &mut pte, COPY);
        if vma.is_private() && W::Format::is_write(pte) {
            wrprotect_ptes(self.world, pt, from.asid(), range.start, nr);
            pte = W::Format::wrprotect(pte);
        }
        if let Some(id) = maps.folio_nr_of(W::Format::pfn(pte)) {
            let folio = maps.folio_at(id);
            if folio.flags().contains(FolioFlags::ANON) {
                maps.set_anon_exclusive(W::Format::pfn(pte), nr, false);
            }
            folio.add_mappings(nr as u32);
        }
        let clean = if vma.is_private() { pte } else { W::Format::mkclean(pte) };
        (W::Format::mkold(W::Format::mknoncont(clean)), nr)
    }

    fn share_swapped(
        &mut self,
        pt: &LockedTable<'_, W>,
        addr: VirtAddr,
        entry: SwapEntry,
    ) -> Result<(Pte, usize), SpaceError> {
        let maps = self.maps;
        let shared = W::Format::swap(SwapEntry { exclusive: false, ..entry });
        if let Some(slot) = SwapSlot::named_by(entry) {
            if !self.dup_entries(slot, 1) {
                return Err(SpaceError::OutOfMemory(OutOfMemory::SlotEntries));
            }
            set_absent(pt, addr, shared);
        } else if let Some(id) = entry.lent().and_then(|pfn| maps.folio_nr_of(pfn)) {
            let pfn = entry.pfn().expect("a page that is lent has a frame");
            maps.set_anon_exclusive(pfn, 1, false);
            maps.folio_at(id).add_mappings(1);
            set_absent(pt, addr, shared);
        }
        Ok((shared, 1))
    }
}

/// Takes a page back from a device that had it exclusively, and returns the entry, which permits no
/// stores (Linux 7.3.4, try_restore_exclusive_pte).
fn take_back<W: World>(
    world: &W,
    pt: &LockedTable<'_, W>,
    (mm, vma): (&Mm, &Vma),
    addr: VirtAddr,
    entry: SwapEntry,
) -> Pte {
    let pfn = entry.pfn().expect("a page that is lent has a frame");
    let pte = W::Format::leaf(Level::Pte, pfn, prot_of(vma.flags(), false));
    let pte = if entry.soft_dirty { W::Format::mksoft_dirty(pte) } else { pte };
    let pte = if entry.uffd_wp { W::Format::mkuffd_wp(pte) } else { pte };
    tlb::forget_secondary(world, mm.asid(), addr, 1, Level::Pte);
    set_ptes::<W::Format, _>(pt.table(), W::Format::index(Level::Pte, addr), pte, 1);
    pte
}

fn is_migration<F: Format>(pte: Pte) -> bool {
    matches!(F::entry(pte), Entry::Swap(SwapEntry { kind: SwapKind::Migration, .. }))
}
