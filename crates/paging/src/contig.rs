//! Contiguous blocks: aligned runs of 2^`CONT_SHIFT` entries that one TLB entry may cache, in any
//! of which hardware may set young and dirty for the whole.

use crate::pte::{Format, Pte};
use crate::table::Table;

/// The last multiple of `block` (a power of two) at or below `i`.
#[inline]
pub const fn align_down(i: usize, block: usize) -> usize {
    i & !(block - 1)
}

/// The first multiple of `block` (a power of two) at or above `i`.
#[inline]
pub const fn align_up(i: usize, block: usize) -> usize {
    align_down(i + block - 1, block)
}

/// Stores `nr` entries from index `i` on that map consecutive frames from `pte`'s, setting the
/// contiguous bit on each whole block aligned in both address and frame (Linux 7.1.5,
/// contpte_set_ptes). A single entry is never contiguous. Precondition: the entries are not
/// present, lie in the table, and map pages of one folio in one VMA.
pub fn set_ptes<F: Format, T: Table>(table: T, i: usize, pte: Pte, nr: usize) {
    let base = F::mknoncont(pte);
    let mut k = 0;
    while k < nr {
        let entry = F::advance(base, k);
        let aligned = (i + k).is_multiple_of(F::CONT_PTES)
            && F::pfn(entry).get().is_multiple_of(F::CONT_PTES as u64)
            && F::is_valid(entry);
        let block = aligned && F::CONT_SHIFT > 0 && nr - k >= F::CONT_PTES;
        let (chunk, first) = if block { (F::CONT_PTES, F::mkcont(entry)) } else { (1, entry) };
        for e in 0..chunk {
            table.set(i + k + e, F::advance(first, e));
        }
        k += chunk;
    }
}

/// Entry `i` as kernels' walks read it: for a contiguous entry, with young and dirty or-ed over its
/// block. Visits the whole block, as Linux 6.12 does.
#[inline]
pub fn gather<F: Format, T: Table>(table: T, i: usize) -> Pte {
    let pte = table.load(i);
    if F::CONT_SHIFT == 0 || !F::is_cont(pte) {
        return pte;
    }
    block(i, F::CONT_PTES).fold(pte, |all, k| merge::<F>(all, table.load(k)))
}

/// [`gather`], stopping once both young and dirty are found: the same value from fewer visits. The
/// getter of the walks here, as in Linux 7.1.5.
#[inline]
pub fn gather_early<F: Format, T: Table>(table: T, i: usize) -> Pte {
    let pte = table.load(i);
    if F::CONT_SHIFT == 0 || !F::is_cont(pte) {
        return pte;
    }
    let mut found = Pte::NONE;
    for k in block(i, F::CONT_PTES) {
        // Merged into `pte` as it goes, a dirty entry `i` would end the search before its own turn
        // to be merged, and keep hardware's form of dirty where `gather` gives software's.
        found = merge::<F>(found, table.load(k));
        if F::is_young(found) && F::is_dirty(found) {
            break;
        }
    }
    merge::<F>(pte, found)
}

/// How a walk reads an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Getter {
    /// Through [`gather_early`], as kernels do.
    Gathered,
    /// As it stands: enough where young and dirty are not looked at.
    Raw,
}

impl Getter {
    /// Reads entry `i`.
    #[inline]
    pub fn get<F: Format, T: Table>(self, table: T, i: usize) -> Pte {
        match self {
            Self::Gathered => gather_early::<F, T>(table, i),
            Self::Raw => table.load(i),
        }
    }
}

/// Entries from `i` to the end of its contiguous block, itself included; 1 if it is in none.
#[inline]
pub fn batch_hint<F: Format>(i: usize, pte: Pte) -> usize {
    if F::CONT_SHIFT > 0 && F::is_cont(pte) { F::CONT_PTES - i % F::CONT_PTES } else { 1 }
}

#[inline]
fn block(i: usize, block: usize) -> core::ops::Range<usize> {
    let start = align_down(i, block);
    start..start + block
}

#[inline]
fn merge<F: Format>(all: Pte, one: Pte) -> Pte {
    let young = if F::is_young(one) { F::mkyoung(all) } else { all };
    if F::is_dirty(one) { F::mkdirty(young) } else { young }
}
