use pageout_paging::Rules;

/// By source: entries of a page given up lazily that was written to are put back while their own
/// invalidation is still owed.
///
/// The order of Linux 7.3.4 (`try_to_unmap_one`: `set_ptes` after `set_tlb_ubc_flush_pending`);
/// that it goes wrong there was not seen. Single entries come back as a contiguous block, which a
/// TLB may then hold beside them: that breaks arm64's break-before-make.
#[derive(Clone, Copy, Debug)]
pub struct RestoreBeforeFlush;

impl Rules for RestoreBeforeFlush {
    fn flush_before_restore() -> bool {
        false
    }
}
