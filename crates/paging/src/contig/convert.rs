//! Folding and unfolding of blocks, by break-before-make.

use super::set::store;
use super::{block, merge_each};
use crate::env::{Env, LockedTable};
use crate::mmu::{Asid, Mmu};
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Rules, VirtAddr, tlb};

/// Folds the single entries of `addr`'s block into one contiguous block.
pub(super) fn fold<E: Env>(env: &E, pt: &LockedTable<'_, E>, asid: Asid, addr: VirtAddr) {
    convert(env, pt, asid, addr, E::Format::mkcont);
}

/// Unfolds the block of the entry that maps `addr` into single entries, if it is contiguous.
pub(super) fn unfold<E: Env>(env: &E, pt: &LockedTable<'_, E>, asid: Asid, addr: VirtAddr) {
    if E::Format::is_cont(pt.table().load(E::Format::index(Level::Pte, addr))) {
        convert(env, pt, asid, addr, E::Format::mknoncont);
    }
}

/// Unfolds the blocks that `nr` entries from `addr` cover only in part: at most the first and the
/// last (Linux 7.3.4, contpte_try_unfold_partial).
pub(super) fn unfold_edges<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    nr: usize,
) {
    let i = E::Format::index(Level::Pte, addr);
    debug_assert!(nr >= 1 && i + nr <= E::Format::PTES, "{nr} entries from {i} in one table");
    if E::Format::CONT_SHIFT == 0 || !E::Rules::unfold_edges() {
        return;
    }
    if !i.is_multiple_of(E::Format::CONT_PTES) {
        unfold(env, pt, asid, addr);
    }
    if !(i + nr).is_multiple_of(E::Format::CONT_PTES) {
        unfold(env, pt, asid, addr.add(((nr - 1) as u64) << E::Format::PAGE_SHIFT));
    }
}

/// Replaces the block of `addr` by `kind` of its entries, all young or dirty if one was (Linux
/// 7.3.4, contpte_convert). A TLB must not hold the block's old translations together with its new
/// ones (Arm ARM, break-before-make). So the entries are taken out, flushed everywhere, and only
/// then written. If hardware never faults on the mixture, the flush may be left out; the caller's
/// own flush then ends the mixture.
fn convert<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    kind: fn(Pte) -> Pte,
) {
    let table = pt.table();
    let block = block(E::Format::index(Level::Pte, addr), E::Format::CONT_PTES);
    let first = E::Format::decode(table.swap(block.start, Pte::NONE), block.start);
    let rest = block.start + 1..block.end;
    let all = merge_each::<E::Format>(first, rest.map(|k| table.swap(k, Pte::NONE)));
    if E::Rules::break_before_make() && !env.mmu().caps().bbml2_noabort {
        let start = addr.align_down(E::Format::PAGE_SHIFT + E::Format::CONT_SHIFT);
        tlb::flush_range(env, asid, start, E::Format::CONT_PTES, Level::Pte);
    }
    store::<E::Format, _>(table, block.start, kind(all), block.len());
}
