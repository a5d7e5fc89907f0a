//! The soundness decisions, one method each. An injected bug overrides exactly one of them.
//!
//! The methods are hidden from the documentation, and are no part of the stable interface. Only
//! tests have a reason to call or override one. Each states the engine's internal behaviour.

use crate::mmu::Caps;
use crate::pte::{Format, Level, Pte};
use crate::{Run, VirtAddr, contig};
use core::ops::Range;

/// The decisions that make paging and reclaim right or wrong. An environment names [`Sound`], whose
/// decisions are right.
///
/// Other implementations are for tests, which show that a wrong decision is found. The methods they
/// override are not shown here, and may change in any release.
pub trait Rules {
    /// Returns the entries that a check of `run` must visit. These are its own entries and, if the
    /// first or the last is contiguous, its block up to the edge. Hardware may have set the bit in
    /// any entry of a block (Linux 7.3.4, contpte young ops). Precondition: the entries are present
    /// pages of one folio in one table, so blocks never straddle the table.
    #[doc(hidden)]
    #[inline]
    fn extend_to_blocks<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        if F::CONT_SHIFT == 0 {
            return run;
        }
        let Range { mut start, mut end } = run.indices();
        if F::is_cont(first) {
            start = contig::align_down(start, F::CONT_PTES);
        }
        if F::is_cont(last) {
            end = contig::align_up(end, F::CONT_PTES);
        }
        Run::between(start, end)
    }

    /// Returns the largest number of entries in a batch from the one that maps `addr` on. It ends
    /// at the end of the folio, of which `in_folio` pages are left. It also ends at `end`, that of
    /// the VMA or of the window that is checked, and at the end of the table (Linux 7.3.4,
    /// folio_pte_batch).
    #[doc(hidden)]
    #[inline]
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        let in_range = ((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize;
        in_folio.min(in_range).min(F::PTES - F::index(Level::Pte, addr))
    }

    /// Returns true if an aging walk checks the entry `pte`. It does if the entry maps a folio's
    /// page that is young, or may be young in a secondary MMU (Linux 7.3.4, get_pte_pfn).
    #[doc(hidden)]
    #[inline]
    fn is_candidate<F: Format>(pte: Pte, secondary: bool) -> bool {
        F::is_present(pte) && !F::is_special(pte) && (secondary || F::is_young(pte))
    }

    /// Returns true if an old entry that leads to a table proves to an aging walk that no entry of
    /// the table was used. It does if hardware sets the bit and no secondary MMU reaches pages on
    /// its own (Linux 7.3.4, walk_pmd_range).
    #[doc(hidden)]
    #[inline]
    fn old_table_is_unused<F: Format>(caps: Caps, secondary: bool) -> bool {
        F::NONLEAF_YOUNG && caps.nonleaf_af && !secondary
    }

    /// Returns the filter in which a walk of generation `seq` notes PTE tables worth entering: the
    /// next walk's. The walk itself reads that of `seq` (Linux 7.3.4, walk_pmd_range).
    #[doc(hidden)]
    #[inline]
    fn filter_noted(seq: u64) -> u64 {
        seq + 1
    }

    /// Returns the number of young entries that a look-around starts with, after `nr` of the folio
    /// it checks were cleared: all of them (Linux 7.3.4, lru_gen_look_around).
    #[doc(hidden)]
    #[inline]
    fn look_around_young(nr: usize) -> usize {
        nr
    }

    /// Returns the number of pages by which generations grow and shrink when a folio of `nr` pages
    /// moves between them. A walk's batch limit counts folios instead (Linux 7.3.4,
    /// update_batch_size).
    #[doc(hidden)]
    #[inline]
    fn pages_moved(nr: usize) -> i64 {
        nr as i64
    }

    /// Returns true if folios that join a cgroup's lists join its generations. They do if those are
    /// `in_use` there, even while the lists of all cgroups are being switched (Linux 7.3.4,
    /// lru_gen_add_folio). A switch visits each cgroup once. Folios that reclaim puts back on a
    /// list that the switch has emptied would be lost on it.
    #[doc(hidden)]
    #[inline]
    fn joins_generation(in_use: bool, _switching: bool) -> bool {
        in_use
    }

    /// Returns the end of `nr` pages from `start`, in bytes, for notifiers and invalidations.
    #[doc(hidden)]
    #[inline]
    fn range_end<F: Format>(start: VirtAddr, nr: usize) -> VirtAddr {
        start.add((nr as u64) << F::PAGE_SHIFT)
    }

    /// Returns true if a contiguous block of which only a part is taken out or write-protected is
    /// unfolded first (Linux 7.3.4, contpte_try_unfold_partial). Otherwise a TLB entry made from
    /// any remaining entry would still cover the others.
    #[doc(hidden)]
    #[inline]
    fn unfold_edges() -> bool {
        true
    }

    /// Returns true if a conversion of a contiguous block flushes it from every TLB between taking
    /// out its entries and writing them anew (Linux 7.3.4, contpte_convert).
    #[doc(hidden)]
    #[inline]
    fn break_before_make() -> bool {
        true
    }

    /// Returns true if access flags count as set only if they are in each entry of a contiguous
    /// block (Linux 7.3.4, contpte_ptep_set_access_flags). Gathered flags are not enough: a walker
    /// that sets none would fault for ever on the entry it reads.
    #[doc(hidden)]
    #[inline]
    fn access_flags_of_each_entry() -> bool {
        true
    }

    /// Returns the number of entries that get a marker when `nr` entries that userfaultfd
    /// write-protects are taken out at once: each (Linux 7.3.4, cond_install_uffd_wp_ptes).
    #[doc(hidden)]
    #[inline]
    fn entries_marked(nr: usize) -> usize {
        nr
    }

    /// Returns true if deferred invalidations of writable or dirty entries are completed before the
    /// folio is written out (Linux 7.3.4, try_to_unmap_flush_dirty). A CPU may write until then.
    #[doc(hidden)]
    #[inline]
    fn flush_before_write_out() -> bool {
        true
    }

    /// Returns true if deferred invalidations are completed before a folio is removed from its
    /// index or the swap cache. Otherwise a fault that no longer finds it maps another frame while
    /// CPUs may still use the old one. Kernels complete them afterwards (Linux 7.3.4,
    /// shrink_folio_list). Freeing before the flush implies removing before it.
    #[doc(hidden)]
    #[inline]
    fn flush_before_remove() -> bool {
        Self::flush_before_free()
    }

    /// Returns true if no flush is owed for a folio that reclaim keeps and unlocks. A file's dirty
    /// folio is not unmapped at all, and one that was dirty only in its entries stays locked until
    /// the flush. Otherwise the next task that locks it takes it for unmapped, and writes it out
    /// while a CPU may still store to it. Kernels unmap both, and flush afterwards (Linux 7.3.4,
    /// shrink_folio_list).
    #[doc(hidden)]
    #[inline]
    fn flush_before_unlock() -> bool {
        true
    }

    /// Returns true if deferred invalidations are completed before a table is unlocked in which a
    /// lazyfree page's entry was emptied. Otherwise a fault maps zeros there while CPUs may still
    /// use the old frame. Kernels complete them afterwards (Linux 7.3.4, try_to_unmap_one).
    #[doc(hidden)]
    #[inline]
    fn flush_before_zeros() -> bool {
        true
    }

    /// Returns true if deferred invalidations are completed before entries that have to stay after
    /// all are put back. Putting back may turn single ones into a contiguous block. Kernels
    /// complete them afterwards (Linux 7.3.4, try_to_unmap_one).
    #[doc(hidden)]
    #[inline]
    fn flush_before_restore() -> bool {
        true
    }

    /// Returns true if a fault holds the lock of a file's folio while it maps or copies it. Reclaim
    /// keeps the folio locked as long as an invalidation of its entries is owed (Linux 7.3.4,
    /// filemap_fault and next_uptodate_folio).
    #[doc(hidden)]
    #[inline]
    fn faults_lock_folios() -> bool {
        true
    }

    /// Returns true if deferred invalidations are completed before the frames are freed (Linux
    /// 7.3.4, try_to_unmap_flush).
    #[doc(hidden)]
    #[inline]
    fn flush_before_free() -> bool {
        true
    }

    /// Returns true if deferred invalidations are completed before the page of an entry that was
    /// taken out is copied to another frame (Linux 7.3.4, migrate_pages_batch). A CPU may write
    /// until then.
    #[doc(hidden)]
    #[inline]
    fn flush_before_copy() -> bool {
        true
    }

    /// Returns true if an address space's pending deferred invalidations are completed before zap,
    /// mprotect, mremap or madvise rely on its entries (Linux 7.3.4, flush_tlb_batched_pending).
    #[doc(hidden)]
    #[inline]
    fn flush_pending_before_change() -> bool {
        true
    }

    /// Returns the number of slots that replace a folio of `nr` pages of shared memory in the index
    /// when it is swapped out. There is one for each page (Linux 7.3.4,
    /// shmem_delete_from_page_cache).
    #[doc(hidden)]
    #[inline]
    fn slots_indexed(nr: usize) -> usize {
        nr
    }

    /// Returns the number of entries that the index counts as for each slot: one (Linux 7.3.4,
    /// folio_dup_swap).
    #[doc(hidden)]
    #[inline]
    fn entries_of_index() -> u16 {
        1
    }

    /// Returns the number of entries that still name a slot whose page of shared memory is in the
    /// index again. There are none, so that it is free (Linux 7.3.4, shmem_swapin_folio).
    #[doc(hidden)]
    #[inline]
    fn slot_entries_left() -> u16 {
        0
    }

    /// Returns true if a folio of shared memory that was swapped in is dirty (Linux 7.3.4,
    /// shmem_swapin_folio). Its slots are freed, so its content is nowhere else.
    #[doc(hidden)]
    #[inline]
    fn taken_back_dirty() -> bool {
        true
    }

    /// Returns true if a PMD leaf that is split is flushed from every TLB before the entries that
    /// replace it are visible (Linux 7.3.4, pmdp_invalidate in __split_huge_pmd_locked). A leaf
    /// left in a TLB outlives later invalidations of those entries, and may conflict with them.
    #[doc(hidden)]
    #[inline]
    fn flush_before_split() -> bool {
        true
    }

    /// Returns true if a PMD leaf that was dirty is split into dirty entries (Linux 7.3.4,
    /// __split_huge_pmd_locked).
    #[doc(hidden)]
    #[inline]
    fn split_keeps_dirty() -> bool {
        true
    }

    /// Returns the number of mappings that `nr` entries count as when they replace a PMD leaf,
    /// which was one: each (Linux 7.3.4, __split_huge_pmd_locked).
    #[doc(hidden)]
    #[inline]
    fn mappings_of_split(nr: u32) -> u32 {
        nr
    }

    /// Returns how many of the `nr` pages that a PMD leaf now shares with a child are no longer
    /// exclusive. All are (Linux 7.3.4, copy_huge_pmd, where the first stands for all).
    #[doc(hidden)]
    #[inline]
    fn pages_shared(nr: usize) -> usize {
        nr
    }

    /// Returns true if the page table in reserve for a PMD leaf is withdrawn when the leaf is taken
    /// out whole (Linux 7.3.4, zap_deposited_table).
    #[doc(hidden)]
    #[inline]
    fn leaf_gives_up_its_table() -> bool {
        true
    }

    /// Returns the decrease of the mapcount when `nr` entries of a folio are taken out (Linux
    /// 7.3.4, folio_remove_rmap_ptes).
    #[doc(hidden)]
    #[inline]
    fn mappings_removed(nr: u32) -> u32 {
        nr
    }
}

/// The right decisions.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}
