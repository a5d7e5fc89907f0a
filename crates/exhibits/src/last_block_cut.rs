use pageout_paging::{Format, Pte, Rules, Run, Sound};

/// Constructed: a contiguous block in which a run of several entries ends is checked only as far as
/// the run goes.
///
/// A walk's batch ends with its VMA, and that may be inside of a block, whose young bit hardware
/// may have set in any entry: in one past the end, the access is not reported, though each entry
/// read through the getter says it was there (Linux 7.3.4, contpte young ops round both ends).
/// What [`FirstEntryAlone`](crate::FirstEntryAlone) gets wrong a walk does not show, since a batch
/// has contiguous entries alone or none.
#[derive(Clone, Copy, Debug)]
pub struct LastBlockCut;

impl Rules for LastBlockCut {
    fn widen<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        let wide = Sound::widen::<F>(run, first, last);
        if run.nr == 1 { wide } else { Run::between(wide.first, run.end()) }
    }
}
