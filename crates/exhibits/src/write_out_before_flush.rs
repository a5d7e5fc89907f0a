use pageout_paging::Rules;

/// Constructed: a dirty folio is written out while a CPU may still write to it.
///
/// What deferring shootdown would be without `try_to_unmap_flush_dirty` (Linux 7.3.4, `pageout` in
/// `shrink_folio_list`): a store through a translation cached dirty reaches memory after its
/// content was taken, no entry is left to record it, and the folio is dropped as clean.
#[derive(Clone, Copy, Debug)]
pub struct WriteOutBeforeFlush;

impl Rules for WriteOutBeforeFlush {
    fn flush_before_write_out() -> bool {
        false
    }
}
