//! Contiguous blocks: aligned runs of 2^`CONT_SHIFT` entries that one TLB entry may cache, in any
//! of which hardware may set young and dirty for the whole (Linux 7.3.4, contpte.c).
//!
//! That an entry is contiguous is this module's own affair: callers set plain entries, and what
//! they read may or may not say so. All of it works under the table's lock. Nothing here flushes
//! what it changed, which is the caller's to batch, but for the flush inside of a conversion.

mod access;
mod change;
mod convert;
mod get;
mod set;

pub use access::{AccessFlags, set_access_flags};
pub use change::{get_and_clear_ptes, wrprotect_ptes};
pub use get::{Getter, batch_hint, gather};
pub use set::{set_pte, set_ptes};

use crate::pte::{Format, Pte};

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

/// The block of `block` entries that entry `i` lies in.
#[inline]
fn block(i: usize, block: usize) -> core::ops::Range<usize> {
    let start = align_down(i, block);
    start..start + block
}

/// `all`, young and dirty also where `one` is.
#[inline]
fn merge<F: Format>(all: Pte, one: Pte) -> Pte {
    merge_each::<F>(all, core::iter::once(one))
}

/// `all`, young and dirty also where any of `others` is: noted of each without a branch.
#[inline]
fn merge_each<F: Format>(all: Pte, others: impl Iterator<Item = Pte>) -> Pte {
    let (young, dirty) = others.fold((false, false), |(young, dirty), one| {
        (young | F::is_young(one), dirty | F::is_dirty(one))
    });
    let all = if young { F::mkyoung(all) } else { all };
    if dirty { F::mkdirty(all) } else { all }
}
