use pageout_paging::{Format, Pte, Rules, Run, contig};

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
    fn widen<F: Format>(run: Run, first: Pte, _last: Pte) -> Run {
        if !F::is_cont(first) {
            return run;
        }
        let start = contig::align_down(run.first, F::CONT_PTES);
        Run::between(start, contig::align_up(run.end(), F::CONT_PTES))
    }
}
