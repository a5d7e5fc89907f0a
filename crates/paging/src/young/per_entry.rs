//! The check before batching: one call for each entry.

use super::{YoungCheck, entry};
use crate::env::{Env, LockedTable};
use crate::pte::{Format, Level};
use crate::{Run, VirtAddr};

/// Calls the single check for each entry of `run`. Returns true if any was young.
#[inline(never)] // inlined, it merges with the single check and slows that down
pub fn test_and_clear_young<E: Env>(table: E::Table, run: Run) -> bool {
    run.indices().fold(false, |young, k| young | entry::test_and_clear_young::<E>(table, k))
}

/// Calls the single clear-flush `nr` times from `addr` on. Each call flushes its page, or its
/// contiguous block, if it was young.
#[inline]
pub fn clear_flush_young<'e, E: Env>(
    check: &YoungCheck<'e, E>,
    pt: &LockedTable<'e, E>,
    addr: VirtAddr,
    nr: usize,
) -> bool {
    let first = E::Format::index(Level::Pte, addr);
    let mut any = false;
    for k in 0..nr {
        if entry::test_and_clear_young::<E>(pt.table(), first + k) {
            any = true;
            check.flush_run(pt, addr.add((k as u64) << E::Format::PAGE_SHIFT), 1);
        }
    }
    any
}
