use pageout_paging::Rules;

/// By source: the lock of a page table goes while an invalidation is owed for a page that was given
/// up lazily.
///
/// The order of Linux 7.3.4 (`try_to_unmap_one` with `TTU_BATCH_FLUSH`); that it goes wrong there
/// was not seen. No index leads to such a page: the next fault maps zeros, and what is stored there
/// is not seen by a CPU that still uses the old entry.
#[derive(Clone, Copy, Debug)]
pub struct ZerosBeforeFlush;

impl Rules for ZerosBeforeFlush {
    fn flush_before_zeros() -> bool {
        false
    }
}
