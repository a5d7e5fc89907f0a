use pageout_paging::Rules;

/// Constructed: a contiguous block is split without an invalidation in between.
///
/// Arm's break-before-make forbids it (Arm ARM DDI 0487, D8.17; Linux 7.3.4, `contpte_convert`): a
/// TLB may hold the block beside one of its single entries.
#[derive(Clone, Copy, Debug)]
pub struct MakeBeforeBreak;

impl Rules for MakeBeforeBreak {
    fn break_before_make() -> bool {
        false
    }
}
