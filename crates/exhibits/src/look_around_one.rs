use pageout_paging::Rules;

/// Known: a look-around counts one young entry for the folio asked for, however many of its entries
/// were checked at once.
///
/// Linux 7.1's `lru_gen_look_around` began its count with one when it came to check runs; entry by
/// entry, the folio's others had been met, and counted, on the way. So a table that was worth a
/// walk before was not any more. Linux 7.3's begins with the run.
#[derive(Clone, Copy, Debug)]
pub struct LookAroundOne;

impl Rules for LookAroundOne {
    fn look_around_young(_nr: usize) -> usize {
        1
    }
}
