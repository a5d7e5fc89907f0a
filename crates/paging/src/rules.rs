//! Soundness decisions, one method each. Exhibits of known bugs override exactly one of them.

use crate::pte::{Format, Pte};
use crate::{VirtAddr, contig};
use core::ops::Range;

/// The decisions on which paging and reclaim are right or wrong. The defaults are right.
pub trait Rules {
    /// The entries that a check of `nr` entries from index `i` must visit: those, and where the
    /// first or the last is contiguous, its block to the edge (Linux 7.1.5, contpte young ops:
    /// hardware may have set the bit in any entry of a block). Precondition: the entries are
    /// present pages of one folio in one table, so blocks never straddle the table.
    #[inline]
    fn widen<F: Format>(i: usize, nr: usize, first: Pte, last: Pte) -> Range<usize> {
        if F::CONT_SHIFT == 0 {
            return i..i + nr;
        }
        let start = if F::is_cont(first) { contig::align_down(i, F::CONT_PTES) } else { i };
        let end = if F::is_cont(last) { contig::align_up(i + nr, F::CONT_PTES) } else { i + nr };
        start..end
    }

    /// Where `nr` pages from `start` end, in bytes: what notifiers and invalidations are told.
    #[inline]
    fn range_end<F: Format>(start: VirtAddr, nr: usize) -> VirtAddr {
        start.add((nr as u64) << F::PAGE_SHIFT)
    }

    /// Whether a contiguous block of which only a part is taken out or write-protected is unfolded
    /// first (Linux 7.1.5, contpte_try_unfold_partial): a TLB entry made from any entry left would
    /// still cover the others.
    #[inline]
    fn unfold_edges() -> bool {
        true
    }

    /// Whether a conversion of a contiguous block makes every TLB forget it between taking out its
    /// entries and writing them anew (Linux 7.1.5, contpte_convert).
    #[inline]
    fn break_before_make() -> bool {
        true
    }

    /// Whether access flags count as set only if they are in each entry of a contiguous block
    /// (Linux 7.1.5, contpte_ptep_set_access_flags). Gathered flags lie: a walker that sets none
    /// faults for ever on the entry it looks at.
    #[inline]
    fn access_flags_of_each_entry() -> bool {
        true
    }

    /// Whether several entries of a folio may be unmapped at once, given whether userfaultfd
    /// write-protects in the VMA (each entry would need its own marker) and whether the folio is
    /// anonymous and backed by swap (each page has its own swap entry) (Linux 7.1.5,
    /// folio_unmap_pte_batch).
    #[inline]
    fn may_batch_unmap(uffd_wp_vma: bool, anon_swapbacked: bool) -> bool {
        !uffd_wp_vma && !anon_swapbacked
    }

    /// Whether deferred invalidations of writable or dirty entries are completed before the folio
    /// is written out (Linux 7.1.5, try_to_unmap_flush_dirty): a CPU may write until then.
    #[inline]
    fn flush_before_write_out() -> bool {
        true
    }

    /// Whether deferred invalidations are completed before the frames are freed (Linux 7.1.5,
    /// try_to_unmap_flush).
    #[inline]
    fn flush_before_free() -> bool {
        true
    }

    /// Whether an address space's pending deferred invalidations are completed before zap,
    /// mprotect, mremap or madvise rely on its entries (Linux 7.1.5, flush_tlb_batched_pending).
    #[inline]
    fn flush_pending_before_change() -> bool {
        true
    }

    /// By how much the mapcount falls when `nr` entries of a folio are taken out (Linux 7.1.5,
    /// folio_remove_rmap_ptes).
    #[inline]
    fn mappings_removed(nr: u32) -> u32 {
        nr
    }
}

/// The right decisions.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}
