//! Soundness decisions, one method each. Exhibits of known bugs override exactly one of them.

use crate::pte::{Format, Pte};
use crate::{VirtAddr, contig};
use core::ops::Range;

/// The decisions on which a young check is right or wrong. The defaults are right.
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
}

/// The right decisions.
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Rules for Sound {}
