use pageout_paging::Rules;

/// Known: several entries that userfaultfd write-protects are unmapped as one.
///
/// Found by Dev Jain in v5 of the series that batches the unmapping of file folios (mailing list,
/// 2026): each entry needs a marker of its own in its place, and only the first of the batch got
/// one, so the others lost their write protection. v6 does not batch in such VMAs.
#[derive(Clone, Copy, Debug)]
pub struct UffdWpBatched;

impl Rules for UffdWpBatched {
    fn may_batch_unmap(_uffd_wp_vma: bool, anon_swapbacked: bool) -> bool {
        !anon_swapbacked
    }
}
