use pageout_paging::Rules;

/// Constructed: a batch of entries is unmapped, and the mapcount falls by one.
///
/// Batched unmapping would have this bug with the single entry's accounting (Linux 7.3.4,
/// `folio_remove_rmap_ptes` takes the number of entries): the folio seems mapped for ever.
#[derive(Clone, Copy, Debug)]
pub struct MapcountOnce;

impl Rules for MapcountOnce {
    fn mappings_removed(_nr: u32) -> u32 {
        1
    }
}
