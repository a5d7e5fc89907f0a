//! Setting of entries, and folding of a block that a single set completes.

use super::{block, convert};
use crate::env::{Env, LockedTable};
use crate::mmu::Asid;
use crate::pte::{Format, Level, Pte};
use crate::table::Table;
use crate::{Pfn, VirtAddr};
use core::ops::Range;

/// Stores `nr` entries from index `i` on that map consecutive frames from `pte`'s. Sets the
/// contiguous bit on each whole block aligned in both address and frame (Linux 7.3.4,
/// contpte_set_ptes). A single entry is never contiguous. Precondition: the entries are not
/// present, lie in the table, and map pages of one folio in one VMA.
///
/// ```
/// use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use pageout_paging::Pfn;
/// use pageout_paging::contig::{gather, set_ptes};
/// use pageout_paging::pte::{Arm64_4K, Format, Level, Prot};
/// use pageout_paging::table::{HostTable, Table};
///
/// let memory = [const { AtomicU64::new(0) }; 512];
/// let table = HostTable::<Arm64_4K>::new(&memory).expect("512 entries");
/// set_ptes::<Arm64_4K, _>(table, 16, Arm64_4K::leaf(Level::Pte, Pfn::new(64), Prot::READ), 16);
/// assert!(Arm64_4K::is_cont(table.load(20)), "a block of 16, aligned");
///
/// // Hardware notes the use of any page of the block in one entry, and a reader gathers it.
/// memory[20].fetch_or(Arm64_4K::YOUNG, Relaxed);
/// assert!(Arm64_4K::is_young(gather::<Arm64_4K, _>(table, 31)));
/// ```
pub fn set_ptes<F: Format, T: Table>(table: T, i: usize, pte: Pte, nr: usize) {
    let base = F::mknoncont(pte);
    let mut k = 0;
    while k < nr {
        let entry = F::advance(base, k);
        let aligned = (i + k).is_multiple_of(F::CONT_PTES)
            && F::pfn(entry).get().is_multiple_of(F::CONT_PTES as u64)
            && F::is_valid(entry);
        let block = aligned && F::CONT_SHIFT > 0 && nr - k >= F::CONT_PTES;
        let (chunk, first) = if block { (F::CONT_PTES, F::mkcont(entry)) } else { (1, entry) };
        store::<F, _>(table, i + k, first, chunk);
        k += chunk;
    }
}

/// Stores the entry that maps `addr`, which was not present, and folds its block if this completes
/// it (Linux 7.3.4, set_pte and contpte_try_fold). `folio` is the frames of the folio whose page
/// `pte` maps: a block never has more than one folio. A fold flushes, as any conversion does.
pub fn set_pte<E: Env>(
    env: &E,
    pt: &LockedTable<'_, E>,
    asid: Asid,
    addr: VirtAddr,
    pte: Pte,
    folio: &Range<Pfn>,
) {
    let i = E::Format::index(Level::Pte, addr);
    set_ptes::<E::Format, _>(pt.table(), i, pte, 1);
    if completes_block::<E::Format, _>(pt.table(), i, folio) {
        convert::fold(env, pt, asid, addr);
    }
}

/// Returns true if entry `i`, which was just set, completes a block that may be folded. Such a
/// block is aligned in address and frame, all of one folio, and all alike except for young and
/// dirty. This is checked only at the last entry, since faults and ranges mostly come in address
/// order and the check reads the whole block.
fn completes_block<F: Format, T: Table>(table: T, i: usize, folio: &Range<Pfn>) -> bool {
    let last = F::CONT_PTES - 1;
    let pte = table.load(i);
    let frame = F::pfn(pte).get();
    let ends_block = F::CONT_SHIFT > 0 && i & last == last && frame & last as u64 == last as u64;
    if !ends_block || !F::is_valid(pte) || F::is_special(pte) {
        return false;
    }
    let first = Pfn::new(frame - last as u64);
    let one_folio = folio.start <= first && frame < folio.end.get();
    let plain = |pte| F::mkold(F::mkclean(pte));
    let alike = |k: usize| F::advance(plain(table.load(k)), i - k) == plain(pte);
    one_folio && block(i, F::CONT_PTES).all(alike)
}

/// Stores `first` and the `nr - 1` entries after it, in their encoding in memory.
pub(super) fn store<F: Format, T: Table>(table: T, i: usize, first: Pte, nr: usize) {
    for k in 0..nr {
        table.set(i + k, F::encode(F::advance(first, k)));
    }
}
