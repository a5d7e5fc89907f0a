use pageout_paging::Rules;

/// Known: several entries that userfaultfd write-protects are unmapped as one.
///
/// Found by Dev Jain in v5 of the series that batches the unmapping of file folios (mailing list,
/// 2026). Each entry needs a marker of its own in its place, and only the first of the batch got
/// one, so the others lost their write protection. Linux 7.1 did not batch in such VMAs; 7.3 marks
/// each entry of a batch (`cond_install_uffd_wp_ptes`).
#[derive(Clone, Copy, Debug)]
pub struct UffdWpBatched;

impl Rules for UffdWpBatched {
    fn entries_marked(_nr: usize) -> usize {
        1
    }
}
