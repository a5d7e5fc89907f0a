//! Splits of large folios into folios of one page, while they are mapped (Linux 7.3.4,
//! split_folio_to_list).
//!
//! The folio is unmapped as for migration, but keeps its frames. While it has no references, so
//! that no one can find it, its pages become folios of their own. Then each gets its entries back.

use super::tlb_batch::TlbBatch;
use super::try_to_unmap::Unmapped;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::folio_list::FolioList;
use crate::id::MemcgNr;
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Format, Rules};

impl<W: World> Engine<'_, W> {
    /// Splits a locked, large anonymous folio that the caller has isolated and that is not in the
    /// swap cache. It keeps its first page and stays locked; the folios of the other pages are put
    /// on `tail`, isolated too. Returns false and changes nothing if an entry cannot be taken out
    /// or if there is an unknown reference. The same holds if the table of folios has too few free
    /// entries. The flush that the TLB batch owes is completed.
    pub(crate) fn split_folio(
        &mut self,
        guard: &FolioGuard<'_>,
        tlb_batch: &mut TlbBatch<'_, W>,
        tail: &mut FolioList,
    ) -> bool {
        let folio = guard.folio();
        let nr = folio.nr_pages();
        let done = self.try_to_split(guard, tlb_batch, tail);
        if nr >= <W::Format as Format>::PTES {
            let counter = if done { Counter::ThpSplitPage } else { Counter::ThpSplitPageFailed };
            self.maps.memcg_at(MemcgNr::ROOT).vmstat.add(counter, 1);
        }
        done
    }

    fn try_to_split(
        &mut self,
        guard: &FolioGuard<'_>,
        tlb_batch: &mut TlbBatch<'_, W>,
        tail: &mut FolioList,
    ) -> bool {
        let folio = guard.folio();
        let flags = folio.flags();
        debug_assert!(flags.contains(FolioFlags::ANON) && folio.nr_pages() > 1, "to be split");
        let busy = FolioFlags::SWAPCACHE | FolioFlags::WRITEBACK | FolioFlags::READING;
        // Known are the references of entries and of the task that isolated it (Linux 7.3.4,
        // folio_expected_ref_count).
        if flags.intersects(busy) || folio.refs() != 1 + folio.mapcount() {
            return false;
        }
        let Some(mut pages) = self.take_folios(folio.nr_pages() - 1) else {
            return false;
        };
        let unmapped = match folio.mapcount() {
            0 => Unmapped { all: true, refs: 0 },
            _ => self.try_to_migrate(guard, tlb_batch),
        };
        // The entries come back for the same frames, in blocks of other sizes.
        if <W::Rules as Rules>::flush_before_restore() {
            tlb_batch.flush();
        }
        if !unmapped.all || !folio.freeze(1 + unmapped.refs) {
            self.restore_page(guard);
            let unused = core::mem::take(&mut pages);
            self.put_folios(unused.iter(self.maps));
            if unmapped.refs > 0 {
                let last = folio.put(unmapped.refs);
                debug_assert!(!last, "whoever isolated the folio holds a reference");
            }
            return false;
        }
        self.part(guard, pages, tail);
        self.restore_page(guard);
        true
    }

    /// Makes the pages of a frozen folio after the first folios of their own, with `entries` of the
    /// table, and maps them again.
    fn part(&mut self, guard: &FolioGuard<'_>, mut entries: FolioList, tail: &mut FolioList) {
        let (maps, folio) = (self.maps, guard.folio());
        let nr = folio.nr_pages();
        let mut parted = FolioList::default();
        // The folio stays charged to its cgroup until all pages are.
        let lists = self.lock_lruvec_of(folio);
        for k in 1..nr {
            let id = entries.pop(maps).expect("as many as pages after the first");
            let page = maps.folio_at(id);
            page.init_page_of(folio, k);
            page.try_lock().expect("no one knows the folio").leak_lock();
            maps.folios.take_frame_over(id);
            parted.push(maps, id);
        }
        maps.mapping_at(folio.mapping()).named.fetch_add(nr as u32 - 1, Relaxed);
        folio.keep_first_page();
        drop(lists);
        folio.unfreeze(1);
        while let Some(id) = parted.pop(maps) {
            let page = maps.folio_at(id);
            let guard = page.assume_locked();
            page.unfreeze(1);
            self.restore_page(&guard);
            drop(guard);
            tail.push(maps, id);
        }
    }

    /// Gives a folio, which has kept its frames, its entries back. If a VMA that is locked into
    /// memory maps it, it is marked as mlocked, now that it has one page.
    fn restore_page(&mut self, guard: &FolioGuard<'_>) {
        let folio = guard.folio();
        let locked = self.remove_migration_ptes(guard, folio.pfn());
        if locked && folio.nr_pages() == 1 {
            guard.set(FolioFlags::MLOCKED);
        }
    }

    /// Takes `nr` free entries of the table of folios, or returns `None` if there are fewer.
    fn take_folios(&mut self, nr: usize) -> Option<FolioList> {
        let mut taken = FolioList::default();
        while taken.len < nr {
            let Some(id) = self.take_folio() else {
                self.put_folios(taken.iter(self.maps));
                return None;
            };
            taken.push(self.maps, id);
        }
        Some(taken)
    }
}
