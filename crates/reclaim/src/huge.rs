//! PMD leaves: one entry maps a folio as large as the range of a page table. This module splits and
//! changes them (Linux 7.3.4, huge_memory.c).
//!
//! An entry of a PMD table is empty, a leaf, or leads to a table. A leaf may become either of the
//! others under the PMD table's lock. An entry that leads to a table does so until the address
//! space ends. So a caller that found a leaf without the lock reads the entry again under it.

use crate::engine::Engine;
use crate::fault::prot_of;
use crate::folio::FolioFlags;
use crate::id::{FolioId, MemcgId};
use crate::mm::Mm;
use crate::mm_state::MmState;
use crate::rank::Rank;
use crate::recency::Recency;
use crate::vma::Vma;
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::{Ordering::Release, fence};
use pageout_paging::contig::set_ptes;
use pageout_paging::pte::Prot;
use pageout_paging::walk::fill_vacant;
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, Rules, Table, VirtAddr, tlb};

/// A leaf that was taken out. The caller gives up its parts, without the table's lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafTaken {
    /// The old entry.
    pub(crate) was: Pte,
    /// The folio it mapped. The caller has its mapping's reference.
    pub(crate) folio: Option<FolioId>,
    /// The empty table that was in reserve for it.
    pub(crate) table: Option<Pfn>,
}

impl MmState<'_> {
    /// Returns the number of page tables in reserve for PMD leaves of anonymous memory. No address
    /// space reaches them. There is one for each leaf, and some more after [`Engine::zap_folio`]
    /// took leaves out.
    pub fn tables_in_reserve(&self) -> u32 {
        self.deposits.tables()
    }
}

/// Returns the leaf that maps `addr`, if the locked PMD table has one there.
#[inline]
pub(crate) fn leaf_at<E: Env>(pt: &LockedTable<'_, E>, addr: VirtAddr) -> Option<Pte> {
    let pmd = pt.table().load(E::Format::index(Level::Pmd, addr));
    (E::Format::is_present(pmd) && !E::Format::is_table(pmd)).then_some(pmd)
}

/// Puts a leaf at `addr` into the locked PMD table if its entry is empty, and returns true if it
/// did. Then the caller counts the mapping before it unlocks the table. The lock excludes other
/// leaves, but not a fault that makes a page table there.
pub(crate) fn set_leaf_if_vacant<E: Env>(
    pt: &LockedTable<'_, E>,
    addr: VirtAddr,
    leaf: Pte,
) -> bool {
    fill_vacant(pt.table(), E::Format::index(Level::Pmd, addr), leaf).is_ok()
}

/// Returns the first address of the leaf that maps `addr`.
pub(crate) fn leaf_start<F: Format>(addr: VirtAddr) -> VirtAddr {
    addr.align_down(F::shift(Level::Pmd))
}

/// Returns `new`, with the state bits of `old`.
pub(crate) fn keep_state<F: Format>(new: Pte, old: Pte) -> Pte {
    let young = if F::is_young(old) { F::mkyoung(new) } else { new };
    let dirty = if F::is_dirty(old) { F::mkdirty(young) } else { young };
    let soft = if F::is_soft_dirty(old) { F::mksoft_dirty(dirty) } else { dirty };
    let special = if F::is_special(old) { F::mkspecial(soft) } else { soft };
    if F::is_uffd_wp(old) { F::mkuffd_wp(special) } else { special }
}

/// Makes a leaf one that hardware does not use, flushes it from every TLB if `flush` is set, and
/// returns its old value. Software still finds a leaf, and waits for the table's lock (Linux 7.3.4,
/// pmdp_invalidate).
fn pmdp_invalidate<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    mm: &Mm,
    addr: VirtAddr,
    flush: bool,
) -> Pte {
    let i = E::Format::index(Level::Pmd, addr);
    let pfn = E::Format::pfn(pt.table().load(i));
    let was = pt.table().swap(i, E::Format::leaf(Level::Pmd, pfn, Prot::NONE));
    if E::Format::is_valid(was) && flush {
        tlb::forget(env, mm.asid(), leaf_start::<E::Format>(addr), 1, Level::Pmd);
    }
    was
}

/// Replaces the leaf that maps `addr` by `change` of it, and returns the old one. No TLB holds the
/// old leaf when the new one is written.
pub(crate) fn rewrite_leaf<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    mm: &Mm,
    addr: VirtAddr,
    change: impl FnOnce(Pte) -> Pte,
) -> Pte {
    let was = pmdp_invalidate(env, pt, mm, addr, true);
    pt.table().set(E::Format::index(Level::Pmd, addr), change(was));
    was
}

impl<E: Env> Engine<'_, E> {
    /// Takes a table out of the reserve that no leaf needs, for the caller's leaf.
    pub(crate) fn take_spare_table(&self) -> Option<Pfn> {
        let deposits = &self.maps.deposits;
        if !deposits.has_spare() {
            return None;
        }
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        let spare = deposits.has_spare().then(|| deposits.pop(self.world)).flatten();
        drop(guard);
        spare
    }

    /// Puts an empty table, which no leaf needs, in reserve.
    pub(crate) fn put_spare_table(&self, frame: Pfn) {
        let deposits = &self.maps.deposits;
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        deposits.push(self.world, frame);
        drop(guard);
    }

    /// Puts an empty table in reserve for a leaf of anonymous memory that is about to be made
    /// (Linux 7.3.4, pgtable_trans_huge_deposit).
    pub(crate) fn deposit(&self, frame: Pfn) {
        let deposits = &self.maps.deposits;
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        deposits.push(self.world, frame);
        deposits.count_leaf(true);
        drop(guard);
    }

    /// Takes the table out that was in reserve for a leaf that ends (Linux 7.3.4,
    /// pgtable_trans_huge_withdraw).
    fn withdraw(&self) -> Pfn {
        let deposits = &self.maps.deposits;
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        deposits.count_leaf(false);
        let table = deposits.pop(self.world);
        drop(guard);
        table.expect("an anonymous leaf has a page table in reserve")
    }

    /// Keeps the table of a leaf that ended in reserve, for a caller that cannot free it.
    pub(crate) fn leave_table_spare(&self) {
        let deposits = &self.maps.deposits;
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        deposits.count_leaf(false);
        drop(guard);
    }

    /// Replaces the leaf at `addr` in the locked PMD table by entries in the empty table in
    /// `frame`. They map the same pages with the leaf's state, and each counts as a mapping.
    /// Exclusiveness is recorded for each page already. In between, hardware finds no entry, and
    /// faults wait (Linux 7.3.4, __split_huge_pmd_locked).
    pub(crate) fn split_into(
        &self,
        pt: &LockedTable<'_, E>,
        (mm, vma): (&Mm, &Vma),
        addr: VirtAddr,
        frame: Pfn,
    ) {
        let flush = <E::Rules as Rules>::flush_before_split();
        let was = pmdp_invalidate(self.world, pt, mm, addr, flush);
        let pfn = E::Format::pfn(was);
        let nr = E::Format::PTES;
        if let Some(id) = self.maps.folio_of(pfn) {
            let counted = <E::Rules as Rules>::mappings_of_split(nr as u32);
            self.maps.folio(id).add_mappings(counted - 1);
        }
        let prot = prot_of(vma.flags(), E::Format::is_write(was));
        let kept =
            if <E::Rules as Rules>::split_keeps_dirty() { was } else { E::Format::mkclean(was) };
        let pte = keep_state::<E::Format>(E::Format::leaf(Level::Pte, pfn, prot), kept);
        set_ptes::<E::Format, _>(self.world.table(frame), 0, pte, nr);
        // Other CPUs see the entries before the entry that leads to them.
        fence(Release);
        pt.table().set(E::Format::index(Level::Pmd, addr), E::Format::table(frame));
    }

    /// Splits the leaf that maps `addr`, if the locked PMD table has one there. A leaf of anonymous
    /// memory becomes entries. A file's leaf is taken out, since faults find its folio again (Linux
    /// 7.3.4, __split_huge_pmd_locked). Returns the folio of a leaf that was taken out: the caller
    /// gives up its mapping's reference, without the table's lock.
    #[cold] // entries are unmapped without making room for it
    #[inline(never)]
    pub(crate) fn split_huge_pmd(
        &self,
        pt: &LockedTable<'_, E>,
        (mm, vma): (&Mm, &Vma),
        addr: VirtAddr,
    ) -> Option<FolioId> {
        let pmd = leaf_at(pt, addr)?;
        self.maps.memcg(MemcgId::ROOT).vmstat.add(Counter::ThpSplitPmd, 1);
        if self.is_anon_leaf(pmd) {
            let table = self.withdraw();
            self.split_into(pt, (mm, vma), addr, table);
            return None;
        }
        let taken = self.take_out_leaf(pt, mm, addr)?;
        if let Some(id) = taken.folio.filter(|_| E::Format::is_young(taken.was)) {
            self.maps.folio(id).note_use(Recency::REFERENCED, Recency::NONE);
        }
        taken.folio
    }

    /// Returns true if a leaf maps anonymous memory.
    pub(crate) fn is_anon_leaf(&self, pmd: Pte) -> bool {
        let folio = self.maps.folio_of(E::Format::pfn(pmd));
        folio.is_some_and(|id| self.maps.folio(id).flags().contains(FolioFlags::ANON))
    }

    /// Takes out the leaf that maps `addr`, if the locked PMD table has one there, and flushes it
    /// from every TLB. Its folio becomes dirty if the leaf was, and has one mapping less (Linux
    /// 7.3.4, zap_huge_pmd).
    pub(crate) fn take_out_leaf(
        &self,
        pt: &LockedTable<'_, E>,
        mm: &Mm,
        addr: VirtAddr,
    ) -> Option<LeafTaken> {
        let i = E::Format::index(Level::Pmd, addr);
        leaf_at(pt, addr)?;
        let was = pt.table().swap(i, Pte::NONE);
        if E::Format::is_valid(was) {
            tlb::forget(self.world, mm.asid(), leaf_start::<E::Format>(addr), 1, Level::Pmd);
        }
        let folio = self.maps.folio_of(E::Format::pfn(was));
        let mut table = None;
        if let Some(folio) = folio.map(|id| self.maps.folio(id)) {
            if E::Format::is_dirty(was) {
                self.maps.note_dirty(folio);
            }
            folio.sub_mapcount(1);
            let gives_up = <E::Rules as Rules>::leaf_gives_up_its_table();
            if folio.flags().contains(FolioFlags::ANON) && gives_up {
                table = Some(self.withdraw());
            }
        }
        Some(LeafTaken { was, folio, table })
    }
}

impl<W: World> Engine<'_, W> {
    /// Splits the leaf that maps `addr`, if the PMD table in `frame` has one there (Linux 7.3.4,
    /// __split_huge_pmd).
    pub(crate) fn split_leaf(&mut self, frame: Pfn, of: (&Mm, &Vma), addr: VirtAddr) {
        let pt = self.lock_table(frame);
        let taken = self.split_huge_pmd(&pt, of, addr);
        drop(pt);
        if let Some(id) = taken {
            self.put_folio(id, 1);
        }
    }

    /// Returns a table to deposit for a leaf that is to be made: a spare one of the reserve, or a
    /// new one.
    pub(crate) fn table_to_deposit(&self) -> Option<Pfn> {
        self.take_spare_table().or_else(|| self.world.alloc_table())
    }

    /// Frees the tables in reserve that no leaf needs.
    pub(crate) fn free_spare_tables(&self) {
        while let Some(frame) = self.take_spare_table() {
            self.world.free_table(frame);
        }
    }
}
