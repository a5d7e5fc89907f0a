use pageout_paging::Rules;

/// Constructed: a page is copied to another frame while the invalidation of its entries is still
/// owed.
///
/// What migration would be without `try_to_unmap_flush` between unmapping a batch of folios and
/// moving them (Linux 7.3.4, `migrate_pages_batch`): what another CPU stores in the meantime goes
/// to a frame that no one will look at again.
#[derive(Clone, Copy, Debug)]
pub struct CopyBeforeFlush;

impl Rules for CopyBeforeFlush {
    fn flush_before_copy() -> bool {
        false
    }
}
