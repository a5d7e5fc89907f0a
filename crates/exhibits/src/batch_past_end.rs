use pageout_paging::{Format, Level, Rules, VirtAddr};

/// Constructed: a batch of young entries goes on past the end of its VMA, or of the window that a
/// look-around has.
///
/// Two VMAs may map the same folio side by side, and accesses to one of them say nothing
/// (`MADV_SEQUENTIAL`): an aging walk that takes the folio as one batch counts those as uses, and
/// takes the young bits that it was to leave (Linux 7.3.4, `walk_pte_range` and
/// `lru_gen_look_around` end a batch where their range does).
#[derive(Clone, Copy, Debug)]
pub struct BatchPastEnd;

impl Rules for BatchPastEnd {
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, _end: VirtAddr) -> usize {
        in_folio.min(F::PTES - F::index(Level::Pte, addr))
    }
}
