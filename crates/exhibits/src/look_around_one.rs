use pageout_paging::Rules;

/// Known: a look-around counts one young entry for its folio, however many of the folio's entries
/// were checked at once.
///
/// Linux 7.1's `lru_gen_look_around` began its count with one when it was changed to check runs.
/// Before, it met and counted the folio's other entries on the way. So some tables that were worth
/// a walk before are no longer walked. Linux 7.3's begins with the run.
#[derive(Clone, Copy, Debug)]
pub struct LookAroundOne;

impl Rules for LookAroundOne {
    fn look_around_young(_nr: usize) -> usize {
        1
    }
}
