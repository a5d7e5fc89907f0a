use pageout_paging::{Format, Pte, Rules, Run, contig};

/// Known: a byte length in place of a number of entries.
///
/// Linux's contpte clear of young and dirty bits, fixed in 2024 by commit 6434e69814b1. The end of
/// the run was its start address plus its number of entries. Once rounded to block edges, the
/// distance in bytes was passed as the number of entries to clear: 65536 for a block of sixteen,
/// far beyond the page table. Runs without a contiguous entry at an edge were cleared correctly.
#[derive(Clone, Copy, Debug)]
pub struct ByteLength;

impl Rules for ByteLength {
    fn widen<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        let block_bytes = F::CONT_PTES << F::PAGE_SHIFT;
        let mut start = run.first << F::PAGE_SHIFT;
        let mut end = start + run.nr; // the first half of the bug: entries added to bytes
        if F::is_cont(last) {
            end = contig::align_up(end, block_bytes);
        }
        if F::is_cont(first) {
            start = contig::align_down(start, block_bytes);
        }
        // The second: bytes taken for entries.
        Run { first: start >> F::PAGE_SHIFT, nr: end - start }
    }
}
