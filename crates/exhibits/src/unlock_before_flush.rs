use pageout_paging::Rules;

/// By source: a file's dirty folio is unmapped and unlocked while the invalidation of its entries
/// is still owed.
///
/// The order of Linux 7.3.4 (`shrink_folio_list`, `activate_locked`); that it goes wrong there was
/// not seen. A flusher finds no mapping to clean, clears the folio's dirty mark and writes it out;
/// a store through the old entry, dirty already, is recorded nowhere.
#[derive(Clone, Copy, Debug)]
pub struct UnlockBeforeFlush;

impl Rules for UnlockBeforeFlush {
    fn flush_before_unlock() -> bool {
        false
    }
}
