use pageout_paging::Rules;

/// Constructed: a look-around begins its count with all the entries of the folio asked for.
///
/// What the batched form seems to call for: it cleared so many. But the count is to say whether the
/// neighbourhood is worth a walk, and Linux 7.1.5's `lru_gen_look_around` begins with one whatever
/// the folio's size; otherwise one large folio in use is enough for the next walk to enter its
/// table.
#[derive(Clone, Copy, Debug)]
pub struct LookAroundRun;

impl Rules for LookAroundRun {
    fn look_around_young(nr: usize) -> usize {
        nr
    }
}
