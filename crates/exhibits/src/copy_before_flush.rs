use pageout_paging::Rules;

/// Constructed: a page is copied to another frame while the invalidation of its entries is still
/// owed.
///
/// Migration would have this bug without `try_to_unmap_flush` between unmapping a batch of folios
/// and moving them (Linux 7.3.4, `migrate_pages_batch`). A store of another CPU in the meantime
/// goes to the old frame and is lost.
#[derive(Clone, Copy, Debug)]
pub struct CopyBeforeFlush;

impl Rules for CopyBeforeFlush {
    fn flush_before_copy() -> bool {
        false
    }
}
