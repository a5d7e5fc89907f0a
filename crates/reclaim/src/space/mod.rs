//! Changes of an address space: the memory-management calls of a process.
//!
//! Each call holds the mmap lock to write, and unmaps in batches. Entries are taken out under their
//! table's lock, and flushed from every TLB before it is released. Only then their folios lose
//! mappings, so that no folio is freed, or found clean, while a CPU can still reach it.

mod advise;
mod entry;
mod exit;
mod fork;
mod locking;
mod protect;
mod remap;
mod truncate;
mod zap;

use crate::engine::Engine;
use crate::id::VmaNr;
use crate::memory::{BadId, OutOfMemory, OutOfTable};
use crate::mm::{Mm, Vma, is_pages, leaf_start};
use crate::mm_state::MmState;
use crate::world::World;
pub use advise::Advice;
use pageout_paging::contig::set_ptes;
use pageout_paging::pte::SwapEntry;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, Table, VirtAddr, VirtRange, tlb};
pub use truncate::TruncateError;

/// The reason why a call that changes an address space was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpaceError {
    /// The range is empty, not page-aligned, or not what the call works on (EINVAL).
    #[error("the range is empty, not page-aligned, or not what the call works on")]
    BadRange,
    /// Part of the range is not mapped by any VMA, or not by a single one (ENOMEM, EFAULT).
    #[error("part of the range is not mapped")]
    NotMapped,
    /// A VMA is in the way (EEXIST).
    #[error("a VMA is in the way")]
    Overlap,
    /// The given resource ran out (ENOMEM).
    #[error(transparent)]
    OutOfMemory(OutOfMemory),
    /// The entry format has no bit for userfaultfd's mark
    /// ([`Format::UFFD_WP`](pageout_paging::Format::UFFD_WP)) (EINVAL).
    #[error("the entry format has no bit for userfaultfd's mark")]
    NoMark,
    /// The address space has ended.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl From<OutOfTable> for SpaceError {
    fn from(full: OutOfTable) -> Self {
        Self::OutOfMemory(full.into())
    }
}

/// Flushes the address space from every TLB and secondary MMU.
fn flush_mm<E: Env>(env: &E, mm: &Mm) {
    tlb::flush_address_space(env, mm.asid());
    if let Some(notifier) = env.notifier(mm.asid()) {
        notifier.invalidate(VirtAddr::new(0)..VirtAddr::new(u64::MAX));
    }
}

/// Returns the address `nr` pages after `addr`.
fn after<F: Format>(addr: VirtAddr, nr: usize) -> VirtAddr {
    addr.add((nr as u64) << F::PAGE_SHIFT)
}

impl<W: World> Engine<'_, W> {
    /// Prepares a change of a range: splits PMD leaves at its ends, each of which lies in one VMA,
    /// and then VMAs (Linux 7.3.4, vma_adjust_trans_huge).
    fn begin(&mut self, mm: &Mm, range: &VirtRange) -> Result<(), SpaceError> {
        if !is_pages::<W::Format>(range) {
            return Err(SpaceError::BadRange);
        }
        self.split_leaves_at(mm, range);
        Ok(self.split_range(mm, range)?)
    }

    /// Splits the PMD leaves inside of which the range begins or ends.
    fn split_leaves_at(&mut self, mm: &Mm, range: &VirtRange) {
        for edge in [range.start, range.end] {
            if leaf_start::<W::Format>(edge) != edge {
                self.split_leaf_of(mm, edge);
            }
        }
    }

    /// Splits the PMD leaf that maps `addr`, if one does. The caller holds the mmap lock.
    fn split_leaf_of(&mut self, mm: &Mm, addr: VirtAddr) {
        let maps = self.maps;
        if let Descent::PmdLeaf(frame) = descend(self.world, mm.root(), addr)
            && let Some(vma) = maps.find_vma(mm, addr)
        {
            self.split_leaf(frame, (mm, maps.vma_at(vma)), addr);
        }
    }
}

impl MmState<'_> {
    /// Returns true if VMAs cover the range without a hole.
    fn covers(&self, mm: &Mm, range: &VirtRange) -> bool {
        let mut addr = range.start;
        while addr < range.end {
            let Some(id) = self.find_vma(mm, addr) else {
                return false;
            };
            addr = self.vma_at(id).end();
        }
        true
    }

    /// Calls `work` for each VMA that begins in the range, in order.
    fn each_vma(&self, mm: &Mm, range: &VirtRange, mut work: impl FnMut(VmaNr)) {
        let mut addr = range.start;
        while let Some(id) = self.first_vma_after(mm, addr, range.end) {
            addr = self.vma_at(id).end();
            work(id);
        }
    }
}

/// Reads the entry of `addr` in the locked table, with young and dirty gathered over its block.
fn read<W: World>(pt: &LockedTable<'_, W>, addr: VirtAddr) -> Pte {
    let i = W::Format::index(Level::Pte, addr);
    pageout_paging::contig::gather::<W::Format, _>(pt.table(), i)
}

/// Revokes devices' access to a page that was lent to them by the entry at `addr`, which changes
/// (Linux 7.3.4, the mmu_notifier_invalidate_range_start of mprotect and mremap).
fn forget_lent<E: Env>(env: &E, mm: &Mm, addr: VirtAddr, entry: SwapEntry) {
    if entry.lent().is_some() {
        tlb::forget_secondary(env, mm.asid(), addr, 1, Level::Pte);
    }
}

/// Stores a non-present entry over a non-present one.
fn set_absent<W: World>(pt: &LockedTable<'_, W>, addr: VirtAddr, pte: Pte) {
    pt.table().set(W::Format::index(Level::Pte, addr), pte);
}

impl<W: World> Engine<'_, W> {
    /// Stores `pte` at `addr` in a table whose entries there are not present. If it maps a page,
    /// stores entries for the pages after it too: `nr` in all.
    fn set_entries(&mut self, table: Pfn, addr: VirtAddr, pte: Pte, nr: usize) {
        let pt = self.lock_table(table);
        if W::Format::is_present(pte) {
            set_ptes::<W::Format, _>(pt.table(), W::Format::index(Level::Pte, addr), pte, nr);
        } else {
            set_absent(&pt, addr, pte);
        }
        drop(pt);
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
}
