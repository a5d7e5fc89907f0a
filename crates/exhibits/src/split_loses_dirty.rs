use pageout_paging::Rules;

/// Constructed: a PMD leaf that is dirty is split into entries that are clean.
///
/// Stores through the leaf are then dropped as if storage had them (in Linux 7.3.4,
/// `__split_huge_pmd_locked` makes the entries dirty).
#[derive(Clone, Copy, Debug)]
pub struct SplitLosesDirty;

impl Rules for SplitLosesDirty {
    fn split_keeps_dirty() -> bool {
        false
    }
}
