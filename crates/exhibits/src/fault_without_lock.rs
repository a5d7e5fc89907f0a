use pageout_paging::Rules;

/// Constructed: a fault maps, or copies, a file's folio that reclaim has locked and unmapped.
///
/// What fault-around would be without `folio_trylock` (Linux 7.3.4, `next_uptodate_folio`): an
/// invalidation of the entries that were there is still owed, so the copy of a private page is
/// not seen by all, and a block is mapped where TLBs may hold single entries.
#[derive(Clone, Copy, Debug)]
pub struct FaultWithoutLock;

impl Rules for FaultWithoutLock {
    fn faults_lock_folios() -> bool {
        false
    }
}
