use pageout_paging::Rules;

/// Constructed: a fault maps, or copies, a file's folio that reclaim has locked and unmapped.
///
/// Fault-around would have this bug without `folio_trylock` (Linux 7.3.4, `next_uptodate_folio`).
/// The invalidation of the previous entries is still owed. So some CPUs do not see the copy of a
/// private page, and a block is mapped where TLBs may hold single entries.
#[derive(Clone, Copy, Debug)]
pub struct FaultWithoutLock;

impl Rules for FaultWithoutLock {
    fn faults_lock_folios() -> bool {
        false
    }
}
