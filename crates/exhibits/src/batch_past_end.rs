use pageout_paging::{Format, Level, Rules, VirtAddr};

/// Constructed: a batch of young entries goes on past the end of its VMA, or of a look-around's
/// window.
///
/// Two VMAs may map the same folio side by side, and one of them may be left out of aging
/// (`MADV_SEQUENTIAL`). An aging walk that takes the folio as one batch counts accesses to that VMA
/// as uses, and clears the young bits that it should leave (Linux 7.3.4, `walk_pte_range` and
/// `lru_gen_look_around` end a batch where their range does).
#[derive(Clone, Copy, Debug)]
pub struct BatchPastEnd;

impl Rules for BatchPastEnd {
    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, _end: VirtAddr) -> usize {
        in_folio.min(F::PTES - F::index(Level::Pte, addr))
    }
}
