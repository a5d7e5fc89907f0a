use pageout_paging::Rules;

/// Constructed: a dirty folio is written out while a CPU may still write to it.
///
/// Deferred shootdown would have this bug without `try_to_unmap_flush_dirty` (Linux 7.3.4,
/// `pageout` in `shrink_folio_list`). A store through a translation that is cached dirty reaches
/// memory after the content was read for write-out. No entry is left to record it, and the folio is
/// dropped as clean.
#[derive(Clone, Copy, Debug)]
pub struct WriteOutBeforeFlush;

impl Rules for WriteOutBeforeFlush {
    fn flush_before_write_out() -> bool {
        false
    }
}
