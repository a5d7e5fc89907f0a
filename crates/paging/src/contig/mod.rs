//! Contiguous blocks: aligned runs of 2^`CONT_SHIFT` entries that one TLB entry may cache. Hardware
//! may set young and dirty in any of them for the whole block (Linux 7.3.4, contpte.c).
//!
//! Only this module decides if an entry is contiguous: callers set plain entries, and may read
//! either kind. Everything here works under the table's lock. Nothing flushes its changes, which
//! the caller does in batches; the one exception is the flush inside of a conversion.

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

/// Returns the last multiple of `block` (a power of two) at or below `i`.
#[inline]
pub const fn align_down(i: usize, block: usize) -> usize {
    i & !(block - 1)
}

/// Returns the first multiple of `block` (a power of two) at or above `i`.
#[inline]
pub const fn align_up(i: usize, block: usize) -> usize {
    align_down(i + block - 1, block)
}

/// Returns the block of `block` entries that entry `i` lies in.
#[inline]
fn block(i: usize, block: usize) -> core::ops::Range<usize> {
    let start = align_down(i, block);
    start..start + block
}

/// Returns `all`, also young or dirty if `one` is.
#[inline]
fn merge<F: Format>(all: Pte, one: Pte) -> Pte {
    merge_each::<F>(all, core::iter::once(one))
}

/// Returns `all`, also young or dirty if any of `others` is. It has no branch for each entry.
#[inline]
fn merge_each<F: Format>(all: Pte, others: impl Iterator<Item = Pte>) -> Pte {
    let (young, dirty) = others.fold((false, false), |(young, dirty), one| {
        (young | F::is_young(one), dirty | F::is_dirty(one))
    });
    let all = if young { F::mkyoung(all) } else { all };
    if dirty { F::mkdirty(all) } else { all }
}
