//! Taking entries out, and write-protecting them. A change of a part of a block must not affect its
//! other entries. Blocks that a range covers in part are unfolded first, whole ones stay.

use super::{convert, merge_each};
use crate::VirtAddr;
use crate::env::{Env, LockedTable};
use crate::mmu::Asid;
use crate::pte::{Format, Level, Pte};
use crate::table::Table;

/// Takes out `nr` entries from the one that maps `addr` on. Returns the first as it was, young and
/// dirty if any of them was (Linux 7.3.4, get_and_clear_ptes). TLBs still hold them: the caller
/// flushes. Precondition: they are present and lie in this table.
pub fn get_and_clear_ptes<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    nr: usize,
) -> Pte {
    convert::unfold_edges(env, pt, asid, addr, nr);
    let table = pt.table();
    let i = E::Format::index(Level::Pte, addr);
    let first = E::Format::decode(table.swap(i, Pte::NONE), i);
    merge_each::<E::Format>(first, (i + 1..i + nr).map(|k| table.swap(k, Pte::NONE)))
}

/// Write-protects `nr` entries from the one that maps `addr` on; dirty ones stay dirty (Linux
/// 7.3.4, wrprotect_ptes). TLBs may still permit writes, which no longer make entries dirty: the
/// caller flushes. Precondition: the entries are present and lie in this table.
pub fn wrprotect_ptes<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    nr: usize,
) {
    convert::unfold_edges(env, pt, asid, addr, nr);
    let i = E::Format::index(Level::Pte, addr);
    for k in i..i + nr {
        change(pt.table(), k, E::Format::wrprotect);
    }
}

/// Replaces entry `i` by `new` of it, including hardware's concurrent changes. Returns true if that
/// changed it.
pub(super) fn change<T: Table>(table: T, i: usize, new: impl Fn(Pte) -> Pte) -> bool {
    let mut old = table.load(i);
    while new(old) != old {
        match table.cas(i, old, new(old)) {
            Ok(()) => return true,
            Err(found) => old = found,
        }
    }
    false
}
