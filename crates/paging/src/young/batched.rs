//! One call a run: the check as merged (Linux 7.3.4).

use super::{entry, per_entry, widened};
use crate::env::Env;
use crate::pte::{Format, YoungClear};

/// Clears the young bits of `nr` entries from index `i` on; whether any was set. x86 and riscv loop
/// over the single call. arm64 visits every entry of the run widened to block edges, once, each
/// with an unconditional compare-and-swap.
#[inline]
pub fn test_and_clear_young<E: Env>(table: E::Table, i: usize, nr: usize) -> bool {
    match E::Format::CLEAR {
        YoungClear::TestFirst => per_entry::test_and_clear_young::<E>(table, i, nr),
        YoungClear::CompareAndSwap => {
            let run = widened::<E>(table, i, nr);
            run.fold(false, |young, k| young | entry::test_and_clear_one::<E>(table, k))
        }
    }
}
