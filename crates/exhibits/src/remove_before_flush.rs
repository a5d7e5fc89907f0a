use pageout_paging::Rules;

/// By source: a folio leaves the file index, or the swap cache, while the invalidation of its
/// entries is still owed.
///
/// Linux 7.3.4 has this order (`shrink_folio_list`: `__remove_mapping` comes before
/// `try_to_unmap_flush`); no failure was seen there. Another thread or process that maps the file
/// faults, finds no folio, reads the page into another frame and stores there. A CPU that still
/// uses the old entry still reads the old frame.
#[derive(Clone, Copy, Debug)]
pub struct RemoveBeforeFlush;

impl Rules for RemoveBeforeFlush {
    fn flush_before_remove() -> bool {
        false
    }
}
