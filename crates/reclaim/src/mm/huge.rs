//! PMD leaves: one entry maps a folio as large as the range of a page table. This module splits and
//! changes them (Linux 7.3.4, huge_memory.c).
//!
//! An entry of a PMD table is empty, a leaf, or leads to a table. A leaf may become either of the
//! others under the PMD table's lock. An entry that leads to a table does so until the address
//! space ends. So a caller that found a leaf without the lock reads the entry again under it.

use super::mm_struct::Mm;
use super::vma::{VmFlags, Vma};
use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::mm_state::MmState;
use crate::rank::Rank;
use crate::world::World;
use core::sync::atomic::{Ordering::Release, fence};
use pageout_paging::contig::set_ptes;
use pageout_paging::pte::Prot;
use pageout_paging::walk::fill_vacant;
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, Rules, Table, VirtAddr, tlb};

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
    pub(super) fn take_spare_table(&self) -> Option<Pfn> {
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
    pub(super) fn put_spare_table(&self, frame: Pfn) {
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
    pub(crate) fn withdraw(&self) -> Pfn {
        let deposits = &self.maps.deposits;
        let guard = self.lock_write(Rank::FreeList, &deposits.lock);
        deposits.count_leaf(false);
        let table = deposits.pop(self.world);
        drop(guard);
        table.expect("an anonymous leaf has a page table in reserve")
    }

    /// Keeps the table of a leaf that ended in reserve, for a caller that cannot free it.
    pub(super) fn leave_table_spare(&self) {
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
        if let Some(id) = self.maps.folio_nr_of(pfn) {
            let counted = <E::Rules as Rules>::mappings_of_split(nr as u32);
            self.maps.folio_at(id).add_mappings(counted - 1);
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

    /// Returns true if a leaf maps anonymous memory.
    pub(crate) fn is_anon_leaf(&self, pmd: Pte) -> bool {
        let folio = self.maps.folio_nr_of(E::Format::pfn(pmd));
        folio.is_some_and(|id| self.maps.folio_at(id).flags().contains(FolioFlags::ANON))
    }
}

impl<W: World> Engine<'_, W> {
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

/// Returns the protection for entries of a VMA. Entries permit stores only if the VMA does and
/// `write` is set.
pub(crate) fn prot_of(flags: VmFlags, write: bool) -> Prot {
    let none = !flags.intersects(VmFlags::READ | VmFlags::WRITE | VmFlags::EXEC);
    let write = write && flags.contains(VmFlags::WRITE);
    Prot { write, exec: flags.contains(VmFlags::EXEC), none }
}
