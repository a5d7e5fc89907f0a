//! Clearing of the young entries of one PTE table, in order: the common part of walks and
//! look-arounds.

use crate::folio::{Folio, FolioFlags};
use crate::id::{FolioNr, LruvecNr};
use crate::lru::kind_of;
use crate::lru::mglru::{MmWalk, folio_update_gen};
use crate::mm::{VmFlags, max_batch};
use crate::mm_state::MmState;
use pageout_paging::young::YoungCheck;
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Rules, Run, VirtRange, table};

/// Returns true if a table is worth walking: on average, each cache line of it that was read holds
/// a young entry (Linux 7.3.4, `suitable_to_scan`). `total` and `young` are numbers of entries.
pub(super) const fn suitable_to_scan(total: usize, young: usize) -> bool {
    young * table::LINE >= total
}

/// The context of a pass over entries: folios of one lruvec, in one address space.
pub(super) struct Look<'a, 'e, 'm, E: Env> {
    pub(super) maps: &'a MmState<'m>,
    pub(super) check: &'a YoungCheck<'e, E>,
    pub(super) lruvec: LruvecNr,
    /// True if the address space has secondary MMUs.
    pub(super) secondary: bool,
}

impl<'e, 'm, E: Env> Look<'_, 'e, 'm, E> {
    /// Returns the folio of a frame that a present entry maps, if it is in a generation of the
    /// lruvec (Linux 7.3.4, `get_pfn_folio`). The lock of the entry's table keeps the folio from
    /// being freed.
    #[inline]
    pub(super) fn folio(&self, pfn: Pfn) -> Option<(FolioNr, &'m Folio)> {
        let id = self.maps.folio_nr_of(pfn)?;
        let folio = self.maps.folio_at(id);
        let ours = folio.recency().generation().is_some() && folio.lruvec() == self.lruvec;
        ours.then_some((id, folio))
    }

    /// Clears the young bits of the entries for `range`, which lies in the table and in one VMA.
    /// Returns the number of entries that were young. Calls `used` once for each run of young
    /// entries of one folio, with true if any of them is dirty.
    pub(super) fn clear_young(
        &self,
        pt: &LockedTable<'e, E>,
        range: &VirtRange,
        mut used: impl FnMut(FolioNr, &Folio, bool),
    ) -> usize {
        let first = E::Format::index(Level::Pte, range.start);
        let run = Run { first, nr: entries::<E::Format>(range) };
        let mut candidates = self.check.candidates(pt, run, self.secondary);
        let (mut young, mut last) = (0, None);
        while let Some((k, pte)) = candidates.next_candidate() {
            let Some((id, folio)) = self.folio(E::Format::pfn(pte)) else {
                candidates.pass(k, pte);
                continue;
            };
            let addr = range.start.add(((k - first) as u64) << E::Format::PAGE_SHIFT);
            let max_nr = match folio.nr_pages() {
                1 => 1,
                _ => max_batch::<E>(folio, range.end, addr, pte),
            };
            let run = self.check.walk_young_run(pt, addr, pte, max_nr);
            candidates.skip(run.nr);
            if !run.young {
                continue;
            }
            young += run.nr;
            last = match last {
                Some((same, folio, dirty)) if same == id => Some((id, folio, dirty | run.dirty)),
                before => {
                    before.into_iter().for_each(|(id, folio, dirty)| used(id, folio, dirty));
                    Some((id, folio, run.dirty))
                }
            };
        }
        last.into_iter().for_each(|(id, folio, dirty)| used(id, folio, dirty));
        young
    }
}

/// Returns the number of entries for a range of pages.
pub(super) fn entries<F: Format>(range: &VirtRange) -> usize {
    ((range.end.get() - range.start.get()) >> F::PAGE_SHIFT) as usize
}

/// Notes that young entries of a folio are dirty, so that the folio is written before it is freed.
/// Anonymous memory without a swap slot is always written, and needs no note.
#[inline]
pub(super) fn note_dirty(folio: &Folio) {
    let flags = folio.flags();
    let backed = FolioFlags::ANON | FolioFlags::SWAPBACKED;
    let unslotted = flags.contains(backed) && !flags.contains(FolioFlags::SWAPCACHE);
    if !unslotted && !flags.contains(FolioFlags::DIRTY) {
        folio.note_dirty();
    }
}

impl MmWalk {
    /// Moves a folio that was used through a VMA with such flags to the youngest generation (Linux
    /// 7.3.4, `walk_update_folio`). It moves if this is its second use or it is an executable page
    /// of a file.
    pub(super) fn promote<R: Rules>(
        &mut self,
        maps: &MmState<'_>,
        folio: &Folio,
        youngest: usize,
        vm_flags: VmFlags,
    ) {
        let before = folio_update_gen(folio, youngest, vm_flags);
        if let Some(before) = before.filter(|before| *before != youngest) {
            let nr = R::pages_moved(folio.nr_pages());
            self.moved(kind_of(folio), maps.zone_of(folio), nr, before, youngest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_worth_walking_from_one_young_entry_a_cache_line() {
        for (total, young, worth) in
            [(512, 64, true), (512, 63, false), (8, 1, true), (9, 1, false), (0, 0, true)]
        {
            assert_eq!(suitable_to_scan(total, young), worth, "{young} of {total}");
        }
    }
}
