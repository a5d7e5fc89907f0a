use pageout_paging::{Format, Pte, Rules, Run, contig};

/// Constructed: only the first entry decides whether the run is contiguous.
///
/// David Hildenbrand's question about the batched arm64 clear warns of this design (mailing list,
/// "support batched checking of the young flag for MGLRU", v3 6/6, 2026); it was never merged. If
/// only later entries are contiguous, a block at the end is not rounded to its edge. The hardware
/// may have set the young bit in a sibling past the run, so an access is not reported. If only the
/// first entry is contiguous, the end is rounded into pages that belong to another folio.
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
