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
    let young = if F::is_young(one) { F::mkyoung(all) } else { all };
    if F::is_dirty(one) { F::mkdirty(young) } else { young }
}
