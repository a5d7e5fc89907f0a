use pageout_paging::{Format, Pte, Rules, Run, Sound};

/// Constructed: a contiguous block in which a run of several entries ends is checked only up to the
/// end of the run.
///
/// A walk's batch ends with its VMA, and that end may be inside a block, whose young bit hardware
/// may have set in any entry. If it is set past the end, the access is not reported, though each
/// entry that is read through the getter is young (Linux 7.3.4, contpte young ops round both ends).
/// A walk cannot show the fault of [`FirstEntryAlone`](crate::FirstEntryAlone), since its batches
/// have either only contiguous entries or none.
#[derive(Clone, Copy, Debug)]
pub struct LastBlockCut;

impl Rules for LastBlockCut {
    fn widen<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        let wide = Sound::widen::<F>(run, first, last);
        if run.nr == 1 { wide } else { Run::between(wide.first, run.end()) }
    }
}
