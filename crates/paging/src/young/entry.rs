//! The single check: one entry, or the contiguous block that it is in.

use super::widened::widened;
use crate::Run;
use crate::env::Env;
use crate::pte::{Format, YoungClear};
use crate::table::Table;

/// Clears the young bit of only entry `i`, and returns true if it was set. It is never used on a
/// contiguous entry.
#[inline]
pub fn test_and_clear_one<E: Env>(table: E::Table, i: usize) -> bool {
    match E::Format::CLEAR {
        YoungClear::TestFirst => {
            E::Format::is_young(table.load(i)) && table.test_and_clear_bit(i, E::Format::YOUNG)
        }
        YoungClear::CompareAndSwap => cas_loop::<E>(table, i),
    }
}

/// Clears the young bit of entry `i`, or of every entry of its block. Returns true if any was set.
#[inline]
pub fn test_and_clear_young<E: Env>(table: E::Table, i: usize) -> bool {
    if E::Format::CONT_SHIFT == 0 || !E::Format::is_cont(table.load(i)) {
        return test_and_clear_one::<E>(table, i);
    }
    let block = widened::<E>(table, Run::one(i)).indices();
    block.fold(false, |young, k| young | test_and_clear_one::<E>(table, k))
}

/// Clears as arm64 kernels do: swaps even if the entry is old, until no concurrent change
/// intervenes.
#[inline]
fn cas_loop<E: Env>(table: E::Table, i: usize) -> bool {
    let mut old = table.load(i);
    loop {
        match table.cas(i, old, E::Format::mkold(old)) {
            Ok(()) => return E::Format::is_young(old),
            Err(found) => old = found,
        }
    }
}
