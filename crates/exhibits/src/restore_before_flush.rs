use pageout_paging::Rules;

/// By source: entries of a lazily freed page that was written to are put back while their own
/// invalidation is still owed.
///
/// Linux 7.3.4 has this order (`try_to_unmap_one`: `set_ptes` after `set_tlb_ubc_flush_pending`);
/// no failure was seen there. Single entries return as a contiguous block, which a TLB may then
/// hold beside them: that violates arm64's break-before-make.
#[derive(Clone, Copy, Debug)]
pub struct RestoreBeforeFlush;

impl Rules for RestoreBeforeFlush {
    fn flush_before_restore() -> bool {
        false
    }
}
