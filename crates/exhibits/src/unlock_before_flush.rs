use pageout_paging::Rules;

/// By source: a file's dirty folio is unmapped and unlocked while the invalidation of its entries
/// is still owed.
///
/// Linux 7.3.4 has this order (`shrink_folio_list`, `activate_locked`); no failure was seen there.
/// A flusher finds no mapping to clean, clears the folio's dirty flag and writes it out. A store
/// through the old entry, which is dirty already, is recorded nowhere.
#[derive(Clone, Copy, Debug)]
pub struct UnlockBeforeFlush;

impl Rules for UnlockBeforeFlush {
    fn flush_before_unlock() -> bool {
        false
    }
}
