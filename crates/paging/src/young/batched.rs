//! The check as merged: one call for each run (Linux 7.3.4).

use super::widened::widened;
use super::{entry, per_entry};
use crate::Run;
use crate::env::Env;
use crate::pte::{Format, YoungClear};

/// Clears the young bits of `run`, and returns true if any was set. x86 and riscv loop over the
/// single call. arm64 visits every entry of the run widened to block edges, once, each with an
/// unconditional compare-and-swap.
#[inline]
pub fn test_and_clear_young<E: Env>(table: E::Table, run: Run) -> bool {
    match E::Format::CLEAR {
        YoungClear::TestFirst => per_entry::test_and_clear_young::<E>(table, run),
        YoungClear::CompareAndSwap => {
            let wide = widened::<E>(table, run).indices();
            wide.fold(false, |young, k| young | entry::test_and_clear_one::<E>(table, k))
        }
    }
}
