use pageout_paging::Rules;

/// Known: a file's folio that was found dirty in its entry is unlocked while the invalidation of
/// that entry is still owed.
///
/// The order of Linux 7.3.4 (`shrink_folio_list`, `activate_locked`), by its source. A flusher
/// finds no mapping to clean, clears the folio's dirty mark and writes it out; a store through the
/// old entry, dirty already, is recorded nowhere.
#[derive(Clone, Copy, Debug)]
pub struct UnlockBeforeFlush;

impl Rules for UnlockBeforeFlush {
    fn flush_before_unlock() -> bool {
        false
    }
}
