use pageout_paging::Rules;

/// By source: the lock of a page table is released while an invalidation is owed for a page that
/// was freed lazily.
///
/// Linux 7.3.4 has this order (`try_to_unmap_one` with `TTU_BATCH_FLUSH`); no failure was seen
/// there. No index leads to such a page: the next fault maps zeros. A CPU that still uses the old
/// entry does not see stores to the new page.
#[derive(Clone, Copy, Debug)]
pub struct ZerosBeforeFlush;

impl Rules for ZerosBeforeFlush {
    fn flush_before_zeros() -> bool {
        false
    }
}
