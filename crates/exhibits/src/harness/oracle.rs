//! The specification of the young code, in terms of single entries: no runs, no alignment, no
//! lines.

use super::{Case, Decode};
use pageout_paging::Pte;
use pageout_paging::batch::BatchFlags;
use std::cell::OnceCell;
use std::ops::Range;

/// The state and the answer that a young check of a case must give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// For each entry of the table, true if its young bit must be clear afterwards. These are the
    /// run, and every entry that shares a contiguous block with one of the run.
    pub must: Vec<bool>,
    /// The table afterwards.
    pub entries: Vec<Pte>,
    /// True if any of those entries was young.
    pub young: bool,
    /// The batches that the run falls into, computed at the first use.
    batches: OnceCell<Vec<usize>>,
}

impl Expected {
    /// Returns the expected result for `case`.
    pub fn of<F: Decode>(case: &Case) -> Self {
        let mut must = vec![false; case.entries.len()];
        for i in case.run.clone() {
            must[block_of::<F>(&case.entries, i)].fill(true);
        }
        let mut entries = case.entries.clone();
        let mut young = false;
        for (pte, _) in entries.iter_mut().zip(&must).filter(|(_, must)| **must) {
            young |= F::bits(*pte).young;
            pte.0 &= !F::YOUNG;
        }
        Self { must, entries, young, batches: OnceCell::new() }
    }

    /// Returns the lengths of the batches that the run of `case` falls into.
    pub(super) fn batches<F: Decode>(&self, case: &Case) -> &[usize] {
        self.batches.get_or_init(|| {
            let mut batches = Vec::new();
            let mut i = case.run.start;
            while i < case.run.end {
                let left = case.run.end - i;
                let nr = batch_len::<F>(&case.entries, i, left, BatchFlags::NONE);
                batches.push(nr);
                i += nr;
            }
            batches
        })
    }
}

/// Returns the entries whose young and dirty bits stand for entry `i`'s: its block, or itself.
fn block_of<F: Decode>(entries: &[Pte], i: usize) -> Range<usize> {
    if F::bits(entries[i]).cont {
        let start = i / F::CONT_PTES * F::CONT_PTES;
        start..start + F::CONT_PTES
    } else {
        i..i + 1
    }
}

/// Returns entry `i` with young and dirty gathered over its contiguous block.
pub fn gathered<F: Decode>(entries: &[Pte], i: usize) -> Pte {
    let mut pte = F::read(entries[i], i);
    if !F::bits(pte).cont {
        return pte;
    }
    let block = &entries[block_of::<F>(entries, i)];
    if block.iter().any(|pte| F::bits(*pte).young) {
        pte = F::mkyoung(pte);
    }
    if block.iter().any(|pte| F::bits(*pte).dirty) {
        pte = F::mkdirty(pte);
    }
    pte
}

/// Counts the entries of the batch that begins at `i`, at most `max_nr`.
pub fn batch_len<F: Decode>(entries: &[Pte], i: usize, max_nr: usize, flags: BatchFlags) -> usize {
    let first = gathered::<F>(entries, i);
    let same = |k: &usize| agrees::<F>(first, gathered::<F>(entries, i + k), *k as u64, flags);
    1 + (1..max_nr).take_while(same).count()
}

fn agrees<F: Decode>(first: Pte, next: Pte, distance: u64, flags: BatchFlags) -> bool {
    let (first, next) = (F::bits(first), F::bits(next));
    // Kernels compare whole words: two ways to be dirty separate batches if no mask removes them.
    let forms = flags.respect_dirty && flags.respect_write;
    next.present
        && next.pfn == first.pfn + distance
        && next.rest == first.rest
        && (!flags.respect_dirty || next.dirty == first.dirty)
        && (!flags.respect_soft_dirty || next.soft_dirty == first.soft_dirty)
        && (!flags.respect_write || next.write == first.write)
        && (!forms || next.dirty_form == first.dirty_form)
}

/// Returns the caller's copy of the first entry after a batch of `nr` was merged into it.
pub fn merged<F: Decode>(entries: &[Pte], i: usize, nr: usize, flags: BatchFlags) -> Pte {
    let later = || (i + 1..i + nr).map(|k| F::bits(gathered::<F>(entries, k)));
    let mut copy = gathered::<F>(entries, i);
    if flags.merge_write && later().any(|bits| bits.write) {
        copy = F::mkwrite(copy);
    }
    if flags.merge_young_dirty && later().any(|bits| bits.young) {
        copy = F::mkyoung(copy);
    }
    if flags.merge_young_dirty && later().any(|bits| bits.dirty) {
        copy = F::mkdirty(copy);
    }
    copy
}
