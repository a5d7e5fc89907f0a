//! Runs of entries, and page tables, for all that changes the entries of address spaces.

use crate::folio::Folio;
use crate::mm_state::MmState;
use crate::world::World;
use core::ops::Range;
use pageout_paging::batch::{BatchFlags, folio_pte_batch_flags};
use pageout_paging::walk::{Hit, MappedWalk, TableFrames};
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, Rules, Run, VirtAddr, VirtRange};

/// A supply of page tables: the world's frames.
pub(crate) struct WorldTables<'a, W>(pub(crate) &'a W);

impl<W: World> TableFrames for WorldTables<'_, W> {
    fn take(&mut self) -> Option<Pfn> {
        self.0.alloc_table()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.0.free_table(frame);
    }
}

/// Returns the number of pages in a range.
pub(crate) fn pages<F: Format>(range: &VirtRange) -> usize {
    ((range.end.get() - range.start.get()) >> F::PAGE_SHIFT) as usize
}

/// Returns the number of entries from `addr`, which `pte` maps, that are one run of one folio, up
/// to `end` or the table's end. Without a folio, it is 1.
pub(crate) fn run<E: Env>(
    maps: &MmState<'_>,
    pt: &LockedTable<'_, E>,
    addr: VirtAddr,
    end: VirtAddr,
    pte: &mut Pte,
    flags: BatchFlags,
) -> usize {
    let pfn = E::Format::pfn(*pte);
    let Some(folio) = maps.folio_nr_of(pfn).map(|id| maps.folio_at(id)) else {
        return 1;
    };
    let first = E::Format::index(Level::Pte, addr);
    let in_folio = folio.nr_pages() - pfn.offset_from(folio.pfn()) as usize;
    let in_table = E::Format::PTES - first;
    let nr = in_folio.min(in_table).min(pages::<E::Format>(&(addr..end)));
    match nr {
        1 => 1,
        _ => folio_pte_batch_flags::<E::Format, _>(pt.table(), Run { first, nr }, pte, flags),
    }
}

/// Returns the number of entries from `addr`, which `pte` maps, to the end of the folio, the VMA or
/// the table.
#[inline]
pub(crate) fn max_batch<E: Env>(
    folio: &Folio,
    vma_end: VirtAddr,
    addr: VirtAddr,
    pte: Pte,
) -> usize {
    let in_folio = folio.nr_pages() - E::Format::pfn(pte).offset_from(folio.pfn()) as usize;
    E::Rules::max_batch::<E::Format>(addr, in_folio, vma_end)
}

/// Returns true if `hit` shows that the walk's VMA maps all of the folio through one table, under
/// the lock that is held now. It is the `seen`-th hit of the walk.
pub(crate) fn maps_whole<E: Env>(
    walk: &MappedWalk<'_, E>,
    hit: Hit,
    seen: usize,
    folio: &Folio,
) -> bool {
    (matches!(hit, Hit::Pmd(_)) || seen == folio.nr_pages()) && !walk.crossed_table()
}

/// Returns the frames of a folio.
#[inline]
pub(crate) fn frames(folio: &Folio) -> Range<Pfn> {
    folio.pfn()..folio.pfn().add(folio.nr_pages() as u64)
}
