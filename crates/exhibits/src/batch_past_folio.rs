use pageout_paging::{Format, Level, Rules, VirtAddr};

/// Constructed: a batch of young entries goes on into the next folio.
///
/// If the frames after a folio belong to another one that is mapped behind it, only the folio's own
/// end separates the two (Linux 7.3.4 limits `folio_pte_batch` to the rest of the folio). An aging
/// walk then clears the neighbour's young bits for this folio, and the neighbour's use is lost.
#[derive(Clone, Copy, Debug)]
pub struct BatchPastFolio;

impl Rules for BatchPastFolio {
    fn max_batch<F: Format>(addr: VirtAddr, _in_folio: usize, end: VirtAddr) -> usize {
        let in_range = ((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize;
        in_range.min(F::PTES - F::index(Level::Pte, addr))
    }
}
