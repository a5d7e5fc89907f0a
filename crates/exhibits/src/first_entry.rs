use pageout_paging::{Format, Pte, Rules, contig};
use std::ops::Range;

/// Constructed: the first entry alone decides whether the run is contiguous.
///
/// The design that David Hildenbrand's question about the batched arm64 clear warns of (mailing
/// list, "support batched checking of the young flag for MGLRU", v3 6/6, 2026); never merged. Where
/// only later entries are contiguous, a block at the end is not rounded to its edge: the hardware
/// may have set the young bit in a sibling past the run, so an access is not reported. Where only
/// the first is, the end is rounded into pages that are none of this folio's.
#[derive(Clone, Copy, Debug)]
pub struct FirstEntryAlone;

impl Rules for FirstEntryAlone {
    fn widen<F: Format>(i: usize, nr: usize, first: Pte, _last: Pte) -> Range<usize> {
        if F::is_cont(first) {
            contig::align_down(i, F::CONT_PTES)..contig::align_up(i + nr, F::CONT_PTES)
        } else {
            i..i + nr
        }
    }
}
