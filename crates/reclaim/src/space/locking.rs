//! The calls mlock and munlock.

use super::{SpaceError, after, read};
use crate::engine::Engine;
use crate::folio::{FolioFlags, LruFlags};
use crate::folio_list::FolioList;
use crate::id::{FolioNr, MmId, VmaNr};
use crate::mm::{Mm, VmFlags, leaf_at, pages, run};
use crate::world::World;
use pageout_paging::batch::BatchFlags;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, Level, Pfn, VirtRange};

impl<W: World> Engine<'_, W> {
    /// Locks a range into memory. Pages that are there now are locked at once, and later ones when
    /// reclaim finds them (Linux 7.3.4, mlock2 with MLOCK_ONFAULT). Large folios of which the range
    /// maps only a part stay reclaimable.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn mlock(&mut self, mm: MmId, range: &VirtRange) -> Result<(), SpaceError> {
        self.set_locked(mm, range, true)
    }

    /// Unlocks a range. Pages that another VMA locks too are locked again when reclaim finds them.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn munlock(&mut self, mm: MmId, range: &VirtRange) -> Result<(), SpaceError> {
        self.set_locked(mm, range, false)
    }

    fn set_locked(&mut self, mm: MmId, range: &VirtRange, locked: bool) -> Result<(), SpaceError> {
        let maps = self.maps;
        let (mm, guard) = self.lock_mm(mm)?;
        let begun = match maps.covers(mm, range) {
            true => self.begin(mm, range),
            false => Err(SpaceError::NotMapped),
        };
        if begun.is_ok() {
            maps.each_vma(mm, range, |id| self.lock_vma(mm, id, locked));
            self.merge_range(mm, range);
        }
        drop(guard);
        begun
    }

    fn lock_vma(&mut self, mm: &Mm, id: VmaNr, locked: bool) {
        let maps = self.maps;
        let vma = maps.vma_at(id);
        let flags = vma.flags() - VmFlags::LOCKED;
        vma.set_flags(if locked { flags | VmFlags::LOCKED } else { flags });
        self.each_whole_folio(mm, &vma.range(), |engine, folio, _| {
            engine.lock_folio_in_memory(folio, locked);
        });
    }

    /// Marks a folio as locked or not, and moves it to the matching list.
    fn lock_folio_in_memory(&mut self, id: FolioNr, locked: bool) {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        let guard = self.lock_folio(id);
        match locked {
            true => guard.set(FolioFlags::MLOCKED),
            false => _ = guard.test_and_clear(FolioFlags::MLOCKED),
        }
        drop(guard);
        if self.isolate_one(id) {
            match locked {
                true => folio.update_lru(LruFlags::UNEVICTABLE, LruFlags::ACTIVE),
                false => folio.update_lru(LruFlags::empty(), LruFlags::UNEVICTABLE),
            }
            let mut list = FolioList::default();
            list.push(maps, id);
            self.putback(&mut list);
        }
    }
}

impl<W: World> Engine<'_, W> {
    /// Calls `work` with each folio all of whose pages a range maps through one table, and with the
    /// number of its entries. The folio has a reference during the call, and no table's lock is
    /// held.
    pub(super) fn each_whole_folio(
        &mut self,
        mm: &Mm,
        range: &VirtRange,
        mut work: impl FnMut(&mut Self, FolioNr, u32),
    ) {
        let (maps, world) = (self.maps, self.world);
        for span in spans(world, mm.root(), range.clone()) {
            let (frame, range) = match span {
                Span::Ptes { frame, range, .. } => (frame, range),
                Span::PmdLeaf { frame, range } => {
                    if let Some(id) = self.folio_of_leaf(frame, &range) {
                        work(self, id, 1);
                        self.put_folio(id, 1);
                    }
                    continue;
                }
            };
            let mut addr = range.start;
            while addr < range.end {
                let pt = self.lock_table(frame);
                let mut pte = read(&pt, addr);
                let present = W::Format::is_present(pte);
                let found = present.then(|| maps.folio_nr_of(W::Format::pfn(pte))).flatten();
                let nr = match found {
                    Some(_) => run(maps, &pt, addr, range.end, &mut pte, BatchFlags::NONE),
                    None => 1,
                };
                let whole = found.filter(|id| maps.folio_at(*id).nr_pages() == nr);
                if let Some(id) = whole {
                    maps.folio_at(id).get(1);
                }
                drop(pt);
                if let Some(id) = whole {
                    work(self, id, nr as u32);
                    self.put_folio(id, 1);
                }
                addr = after::<W::Format>(addr, nr);
            }
        }
    }

    /// Returns the folio of a PMD leaf that lies in the range as a whole, with a reference. Returns
    /// `None` if reclaim is taking the leaf out or has just split it: such a leaf is not in use.
    fn folio_of_leaf(&self, frame: Pfn, range: &VirtRange) -> Option<FolioNr> {
        if pages::<W::Format>(range) < W::Format::nr_pages(Level::Pmd) {
            return None;
        }
        let pt = self.lock_table(frame);
        let leaf = leaf_at(&pt, range.start);
        let found = leaf.and_then(|pmd| self.maps.folio_nr_of(W::Format::pfn(pmd)));
        if let Some(id) = found {
            self.maps.folio_at(id).get(1);
        }
        drop(pt);
        found
    }
}
