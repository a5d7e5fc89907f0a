//! Soundness decisions, one method each. Exhibits of known bugs override exactly one of them.
//!
//! The methods are hidden from the documentation and no part of the stable interface. Nobody but a
//! test has a reason to call or to override one, and each names what the engine does inside.

use crate::mmu::Caps;
use crate::pte::{Format, Level, Pte};
use crate::{Run, VirtAddr, contig};
use core::ops::Range;

/// The decisions on which paging and reclaim are right or wrong. An environment names [`Sound`],
/// whose decisions are right.
///
/// Other implementations are for tests, which show that a wrong decision is found. What they
/// override is not shown here, and may change in any release.
pub trait Rules {
    /// The entries that a check of `run` must visit: those, and where the first or the last is
    /// contiguous, its block to the edge (Linux 7.3.4, contpte young ops: hardware may have set the
    /// bit in any entry of a block). Precondition: the entries are present pages of one folio in
    /// one table, so blocks never straddle the table.
    #[doc(hidden)]
    #[inline]
    fn widen<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
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

    /// How many entries from the one that maps `addr` a batch may be at most: to the end of the
    /// folio, of which `in_folio` pages are left; to `end`, that of the VMA or of the window looked
    /// at; and to that of the table (Linux 7.3.4, folio_pte_batch).
    #[doc(hidden)]
    #[inline]
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        let in_range = ((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize;
        in_folio.min(in_range).min(F::PTES - F::index(Level::Pte, addr))
    }

    /// Whether an aging walk asks whether the page of `pte` was used: a folio's page that is young,
    /// or may be young in a secondary MMU (Linux 7.3.4, get_pte_pfn).
    #[doc(hidden)]
    #[inline]
    fn is_candidate<F: Format>(pte: Pte, secondary: bool) -> bool {
        F::is_present(pte) && !F::is_special(pte) && (secondary || F::is_young(pte))
    }

    /// Whether an old entry that leads to a table tells an aging walk that none of the table's
    /// entries was used: hardware sets the bit, and no secondary MMU reaches pages on its own
    /// (Linux 7.3.4, walk_pmd_range).
    #[doc(hidden)]
    #[inline]
    fn old_table_is_unused<F: Format>(caps: Caps, secondary: bool) -> bool {
        F::NONLEAF_YOUNG && caps.nonleaf_af && !secondary
    }

    /// The filter in which a walk of generation `seq` notes PTE tables worth entering: the next
    /// walk's. That of `seq` itself is the one it asks (Linux 7.3.4, walk_pmd_range).
    #[doc(hidden)]
    #[inline]
    fn filter_noted(seq: u64) -> u64 {
        seq + 1
    }

    /// How many young entries a look-around starts from, after `nr` of the folio asked for were
    /// cleared: all of them (Linux 7.3.4, lru_gen_look_around).
    #[doc(hidden)]
    #[inline]
    fn look_around_young(nr: usize) -> usize {
        nr
    }

    /// By how many pages generations grow and shrink when a folio of `nr` pages changes from one to
    /// another; what a walk has done is counted in folios beside it (Linux 7.3.4,
    /// update_batch_size).
    #[doc(hidden)]
    #[inline]
    fn pages_moved(nr: usize) -> i64 {
        nr as i64
    }

    /// Whether folios that join a cgroup's lists join its generations: if those are `in_use` there,
    /// whether or not the lists of all cgroups are being switched over meanwhile (Linux 7.3.4,
    /// lru_gen_add_folio). A switch comes to each cgroup once: what then joins the lists that it
    /// has emptied, as what reclaim could not free does, is on a list of which no one takes it.
    #[doc(hidden)]
    #[inline]
    fn joins_generation(in_use: bool, _switching: bool) -> bool {
        in_use
    }

    /// Where `nr` pages from `start` end, in bytes: what notifiers and invalidations are told.
    #[doc(hidden)]
    #[inline]
    fn range_end<F: Format>(start: VirtAddr, nr: usize) -> VirtAddr {
        start.add((nr as u64) << F::PAGE_SHIFT)
    }

    /// Whether a contiguous block of which only a part is taken out or write-protected is unfolded
    /// first (Linux 7.3.4, contpte_try_unfold_partial): a TLB entry made from any entry left would
    /// still cover the others.
    #[doc(hidden)]
    #[inline]
    fn unfold_edges() -> bool {
        true
    }

    /// Whether a conversion of a contiguous block makes every TLB forget it between taking out its
    /// entries and writing them anew (Linux 7.3.4, contpte_convert).
    #[doc(hidden)]
    #[inline]
    fn break_before_make() -> bool {
        true
    }

    /// Whether access flags count as set only if they are in each entry of a contiguous block
    /// (Linux 7.3.4, contpte_ptep_set_access_flags). Gathered flags lie: a walker that sets none
    /// faults for ever on the entry it looks at.
    #[doc(hidden)]
    #[inline]
    fn access_flags_of_each_entry() -> bool {
        true
    }

    /// Of `nr` entries taken out at once that userfaultfd write-protects, how many get a marker in
    /// their place: each (Linux 7.3.4, cond_install_uffd_wp_ptes).
    #[doc(hidden)]
    #[inline]
    fn entries_marked(nr: usize) -> usize {
        nr
    }

    /// Whether deferred invalidations of writable or dirty entries are completed before the folio
    /// is written out (Linux 7.3.4, try_to_unmap_flush_dirty): a CPU may write until then.
    #[doc(hidden)]
    #[inline]
    fn flush_before_write_out() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before the index or the swap cache lets go of a
    /// folio: a fault that no longer finds it maps another frame while CPUs may still use the old
    /// one. Kernels complete them afterwards (Linux 7.3.4, shrink_folio_list). Who frees before the
    /// flush lets go before it.
    #[doc(hidden)]
    #[inline]
    fn flush_before_remove() -> bool {
        Self::flush_before_free()
    }

    /// Whether nothing is owed for a folio that reclaim keeps and unlocks: a file's dirty folio is
    /// not unmapped at all, and one that was dirty in its entries alone stays locked until the
    /// flush. Else whoever locks it next takes it for unmapped, and writes it out while a CPU may
    /// still store to it. Kernels unmap both, and flush afterwards (Linux 7.3.4,
    /// shrink_folio_list).
    #[doc(hidden)]
    #[inline]
    fn flush_before_unlock() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before the lock of a table goes in which a page
    /// given up lazily left nothing: a fault maps zeros there while CPUs may still use the old
    /// frame. Kernels complete them afterwards (Linux 7.3.4, try_to_unmap_one).
    #[doc(hidden)]
    #[inline]
    fn flush_before_zeros() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before entries that have to stay after all are
    /// put back, which may make single ones a contiguous block. Kernels complete them afterwards
    /// (Linux 7.3.4, try_to_unmap_one).
    #[doc(hidden)]
    #[inline]
    fn flush_before_restore() -> bool {
        true
    }

    /// Whether a fault holds the lock of a file's folio while it maps or copies it: reclaim keeps
    /// it locked for as long as an invalidation of its entries is owed (Linux 7.3.4, filemap_fault
    /// and next_uptodate_folio).
    #[doc(hidden)]
    #[inline]
    fn faults_lock_folios() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before the frames are freed (Linux 7.3.4,
    /// try_to_unmap_flush).
    #[doc(hidden)]
    #[inline]
    fn flush_before_free() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before the page of an entry taken out is copied
    /// to another frame (Linux 7.3.4, migrate_pages_batch): a CPU may write until then.
    #[doc(hidden)]
    #[inline]
    fn flush_before_copy() -> bool {
        true
    }

    /// Whether an address space's pending deferred invalidations are completed before zap,
    /// mprotect, mremap or madvise rely on its entries (Linux 7.3.4, flush_tlb_batched_pending).
    #[doc(hidden)]
    #[inline]
    fn flush_pending_before_change() -> bool {
        true
    }

    /// Of a folio of `nr` pages of shared memory that is swapped out, how many slots take its place
    /// in the index: one for each page (Linux 7.3.4, shmem_delete_from_page_cache).
    #[doc(hidden)]
    #[inline]
    fn slots_indexed(nr: usize) -> usize {
        nr
    }

    /// As how many entries the index counts for each of them: one (Linux 7.3.4, folio_dup_swap).
    #[doc(hidden)]
    #[inline]
    fn entries_of_index() -> u16 {
        1
    }

    /// Entries that still name a slot whose page of shared memory is in the index again: none, so
    /// that it is free (Linux 7.3.4, shmem_swapin_folio).
    #[doc(hidden)]
    #[inline]
    fn slot_entries_left() -> u16 {
        0
    }

    /// Whether a folio of shared memory that was swapped in is dirty: its slots are freed, so its
    /// content is nowhere else (Linux 7.3.4, shmem_swapin_folio).
    #[doc(hidden)]
    #[inline]
    fn taken_back_dirty() -> bool {
        true
    }

    /// Whether a PMD leaf that is split is forgotten by every TLB before the entries that take its
    /// place are seen (Linux 7.3.4, pmdp_invalidate in __split_huge_pmd_locked). One that is left
    /// outlives later invalidations of those entries, and may clash with them.
    #[doc(hidden)]
    #[inline]
    fn flush_before_split() -> bool {
        true
    }

    /// Whether a PMD leaf that was dirty is split into dirty entries (Linux 7.3.4,
    /// __split_huge_pmd_locked).
    #[doc(hidden)]
    #[inline]
    fn split_keeps_dirty() -> bool {
        true
    }

    /// How many mappings `nr` entries are that take the place of a PMD leaf, which was one: each
    /// (Linux 7.3.4, __split_huge_pmd_locked).
    #[doc(hidden)]
    #[inline]
    fn mappings_of_split(nr: u32) -> u32 {
        nr
    }

    /// Of the `nr` pages that a PMD leaf shares with a child from now on, how many are exclusive no
    /// more: all (Linux 7.3.4, copy_huge_pmd, where the first stands for all).
    #[doc(hidden)]
    #[inline]
    fn pages_shared(nr: usize) -> usize {
        nr
    }

    /// Whether the page table in reserve for a PMD leaf is given up when the leaf is taken out
    /// whole (Linux 7.3.4, zap_deposited_table).
    #[doc(hidden)]
    #[inline]
    fn leaf_gives_up_its_table() -> bool {
        true
    }

    /// By how much the mapcount falls when `nr` entries of a folio are taken out (Linux 7.3.4,
    /// folio_remove_rmap_ptes).
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
