use pageout_paging::Rules;

/// Constructed: a PMD leaf is split, and TLBs keep it beside the entries that replace it.
///
/// Kernels first invalidate the leaf and flush it from every TLB (Linux 7.3.4, `pmdp_invalidate` in
/// `__split_huge_pmd_locked`), since a TLB must not hold both (Arm ARM DDI 0487, D8.17).
#[derive(Clone, Copy, Debug)]
pub struct SplitBeforeFlush;

impl Rules for SplitBeforeFlush {
    fn flush_before_split() -> bool {
        false
    }
}
