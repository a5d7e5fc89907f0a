//! Setting of access flags by software: if hardware sets none, and at the end of a write fault.

use super::change::change;
use super::{block, convert, gather};
use crate::env::{Env, LockedTable};
use crate::mmu::{Asid, Invalidate, Mmu};
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Rules, VirtAddr};
use core::ops::Range;

/// The flags that a fault grants. It never makes an entry stricter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessFlags {
    /// Young: a read.
    Young,
    /// Young and dirty: a write through an entry that permits it.
    YoungDirty,
    /// Young, dirty and writable: a write through an entry that did not permit it, and now may.
    YoungDirtyWrite,
}

impl AccessFlags {
    fn grant<F: Format>(self, pte: Pte) -> Pte {
        let young = F::mkyoung(pte);
        match self {
            Self::Young => young,
            Self::YoungDirty => F::mkdirty(young),
            Self::YoungDirtyWrite => F::mkdirty(F::mkwrite(young)),
        }
    }
}

/// Grants `flags` to the entry that maps `addr`, and returns true if that changed anything (Linux
/// 7.3.4, ptep_set_access_flags). In a contiguous block every entry gets them, since a walker that
/// sets no flags reads only one entry. Making an entry writable unfolds its block, since it
/// concerns one page.
///
/// After a write this CPU's old translation is invalidated, and the invalidation is waited for.
/// Other CPUs that hold an old translation fault, and find nothing to do. Precondition: the entry
/// is present.
pub fn set_access_flags<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    flags: AccessFlags,
) -> bool {
    let table = pt.table();
    let i = E::Format::index(Level::Pte, addr);
    let pte = table.load(i);
    if flags == AccessFlags::YoungDirtyWrite && !E::Format::is_write(pte) {
        convert::unfold(env, pt, asid, addr);
    }
    let in_block = E::Format::is_cont(table.load(i));
    let run = if in_block { block(i, E::Format::CONT_PTES) } else { i..i + 1 };
    if nothing_to_do::<E>(table, i, run.clone(), flags) {
        return false;
    }
    let start = match in_block {
        true => addr.align_down(E::Format::PAGE_SHIFT + E::Format::CONT_SHIFT),
        false => addr.align_down(E::Format::PAGE_SHIFT),
    };
    let nr = run.len();
    let grant = |pte| flags.grant::<E::Format>(pte);
    let changed = run.fold(false, |any, k| change(table, k, grant) | any);
    if changed && flags != AccessFlags::Young {
        env.mmu().invalidate_local(Invalidate::Range { asid, start, nr, level: Level::Pte });
    }
    changed
}

/// Returns true if every entry of `run`, entry `i`'s block, has the flags already.
fn nothing_to_do<E: Env>(table: E::Table, i: usize, run: Range<usize>, flags: AccessFlags) -> bool {
    let has = |pte| flags.grant::<E::Format>(pte) == pte;
    match E::Rules::access_flags_of_each_entry() {
        true => run.into_iter().all(|k| has(table.load(k))),
        false => has(gather::<E::Format, _>(table, i)),
    }
}
