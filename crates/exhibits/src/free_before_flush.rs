use pageout_paging::Rules;

/// Constructed: frames are freed while the invalidation of their entries is still owed.
///
/// Deferred shootdown would have this bug without `try_to_unmap_flush` before each batch of frees
/// (Linux 7.3.4, `shrink_folio_list`): another CPU still uses a frame after it was allocated again.
#[derive(Clone, Copy, Debug)]
pub struct FreeBeforeFlush;

impl Rules for FreeBeforeFlush {
    fn flush_before_free() -> bool {
        false
    }
}
