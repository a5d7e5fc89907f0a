use pageout_paging::Rules;

/// Known: a change of entries relies on them although reclaim still owes their invalidation.
///
/// Linux before commit 3ea277194daa (2017, "mm, mprotect: flush TLB if potentially racing with a
/// parallel reclaim leaving stale TLB entries"). mprotect or munmap found an entry empty, because
/// reclaim had unmapped it and deferred the flush, and so flushed nothing. Once it had returned,
/// the process could still write through the old translation.
#[derive(Clone, Copy, Debug)]
pub struct PendingFlushMissed;

impl Rules for PendingFlushMissed {
    fn flush_pending_before_change() -> bool {
        false
    }
}
