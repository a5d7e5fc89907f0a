use pageout_paging::Rules;

/// Constructed: a walk adds the tables worth entering to the filter that it tests itself.
///
/// There are two filters, for the walk of this generation and for that of the next (Linux 7.3.4,
/// `walk_pmd_range` tests `seq` and updates `seq + 1`). The next walk finds its own filter empty,
/// and enters no table.
#[derive(Clone, Copy, Debug)]
pub struct FilterNotedHere;

impl Rules for FilterNotedHere {
    fn filter_noted(seq: u64) -> u64 {
        seq
    }
}
