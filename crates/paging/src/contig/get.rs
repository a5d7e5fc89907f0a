//! Reading of entries: gathered over a block, or raw.

use super::{block, merge};
use crate::pte::{Format, Pte};
use crate::table::Table;

/// Reads entry `i` as kernels' walks do: a contiguous entry has young and dirty or-ed over its
/// block. The search ends as soon as both are found (Linux 7.3.4, contpte_ptep_get).
#[inline]
pub fn gather<F: Format, T: Table>(table: T, i: usize) -> Pte {
    let pte = F::decode(table.load(i), i);
    if F::CONT_SHIFT == 0 || !F::is_cont(pte) {
        return pte;
    }
    let mut found = Pte::NONE;
    for k in block(i, F::CONT_PTES) {
        // The bits are collected apart from `pte`. Merged into `pte` directly, a dirty entry `i`
        // would end the search before it is merged itself. It would also keep hardware's form of
        // dirty where other entries give software's.
        found = merge::<F>(found, table.load(k));
        if F::is_young(found) && F::is_dirty(found) {
            break;
        }
    }
    merge::<F>(pte, found)
}

/// The way in which a walk reads an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Getter {
    /// Through [`gather`], as kernels do.
    Contpte,
    /// Raw: enough if the young and dirty bits are not used.
    Raw,
}

impl Getter {
    /// Reads entry `i`.
    #[inline]
    pub fn get<F: Format, T: Table>(self, table: T, i: usize) -> Pte {
        match self {
            Self::Contpte => gather::<F, T>(table, i),
            Self::Raw => F::decode(table.load(i), i),
        }
    }
}

/// Returns the number of entries from `i` to the end of its contiguous block, itself included; 1 if
/// it is in none.
#[inline]
pub fn batch_hint<F: Format>(i: usize, pte: Pte) -> usize {
    if F::CONT_SHIFT > 0 && F::is_cont(pte) { F::CONT_PTES - i % F::CONT_PTES } else { 1 }
}
