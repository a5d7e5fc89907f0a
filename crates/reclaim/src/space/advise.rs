//! Advice of a process about its own memory (madvise).

use super::protect::{KEEP_WRITE, replace};
use super::{SpaceError, after, read, set_absent};
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, LruFlags};
use crate::folio_list::FolioList;
use crate::id::{FolioNr, MmId, SwapSlot};
use crate::mm::{Mm, VmFlags, Vma, is_pages, leaf_at, pages, rewrite_leaf, run};
use crate::recency::Recency;
use crate::reclaim::{Agent, ReclaimStat, ScanControl};
use crate::tuning::Tuning;
use crate::unmap::flush_tlb_batched_pending;
use crate::world::World;
use pageout_paging::pte::Entry;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, Level, Pfn, Pte, VirtAddr, VirtRange};

/// Advice (the kernel's `MADV_…`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Advice {
    /// No special treatment.
    Normal,
    /// Accessed in order: an access says nothing about the next.
    Sequential,
    /// Accessed at random: an access says nothing about the next.
    Random,
    /// Not needed for a while: made old and inactive, if no one else maps it.
    Cold,
    /// Not needed for a while: reclaimed at once, used or not, if no one else maps it.
    PageOut,
    /// Private anonymous content that may be dropped instead of swapped out, unless written to
    /// again.
    Free,
    /// Not needed: unmapped. Anonymous content is lost.
    DontNeed,
}

/// Returns the flags that advice sets in a VMA, or `None` for advice about its pages.
fn hint(advice: Advice) -> Option<VmFlags> {
    match advice {
        Advice::Normal => Some(VmFlags::empty()),
        Advice::Sequential => Some(VmFlags::SEQ_READ),
        Advice::Random => Some(VmFlags::RAND_READ),
        Advice::Cold | Advice::PageOut | Advice::Free | Advice::DontNeed => None,
    }
}

impl<W: World> Engine<'_, W> {
    /// Takes advice about a range (Linux 7.3.4, madvise_vma_behavior). Advice about pages skips
    /// large folios of which the range maps only a part.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then. [`SpaceError::BadRange`] for advice about pages
    /// that are locked into memory, and for `Free` on files' pages.
    pub fn madvise(
        &mut self,
        mm: MmId,
        range: &VirtRange,
        advice: Advice,
    ) -> Result<(), SpaceError> {
        let (mm, guard) = self.lock_mm(mm)?;
        let done = match self.may_advise(mm, range, advice) {
            Ok(()) => self.advise(mm, range, (advice, self.tuning)),
            Err(error) => Err(error),
        };
        drop(guard);
        done
    }

    fn may_advise(&self, mm: &Mm, range: &VirtRange, advice: Advice) -> Result<(), SpaceError> {
        let maps = self.maps;
        if !is_pages::<W::Format>(range) {
            return Err(SpaceError::BadRange);
        }
        if !maps.covers(mm, range) {
            return Err(SpaceError::NotMapped);
        }
        let about_pages = hint(advice).is_none();
        let mut good = true;
        maps.each_vma(mm, range, |id| {
            let vma = maps.vma_at(id);
            let locked = vma.flags().contains(VmFlags::LOCKED);
            let anonymous = vma.file().is_none() && vma.is_private();
            good &= !(about_pages && locked) && (advice != Advice::Free || anonymous);
        });
        if good { Ok(()) } else { Err(SpaceError::BadRange) }
    }

    fn advise(
        &mut self,
        mm: &Mm,
        range: &VirtRange,
        (advice, _tuning): (Advice, Tuning),
    ) -> Result<(), SpaceError> {
        let maps = self.maps;
        let hints = VmFlags::SEQ_READ | VmFlags::RAND_READ;
        if let Some(hint) = hint(advice) {
            self.begin(mm, range)?;
            maps.each_vma(mm, range, |id| {
                let vma = maps.vma_at(id);
                vma.set_flags((vma.flags() - hints) | hint);
            });
            self.merge_range(mm, range);
            return Ok(());
        }
        maps.each_vma(mm, range, |id| {
            let vma = maps.vma_at(id);
            let part = vma.start().max(range.start)..vma.end().min(range.end);
            match advice {
                Advice::DontNeed => self.zap_range(mm, vma, &part),
                Advice::Free => self.free_lazily(mm, vma, &part),
                Advice::PageOut => self.page_out(mm, &part),
                _ => self.make_cold(mm, &part),
            }
        });
        Ok(())
    }

    /// Makes a range's folios old and inactive (Linux 7.3.4, madvise_cold_or_pageout_pte_range).
    fn make_cold(&mut self, mm: &Mm, range: &VirtRange) {
        self.rewrite_old(mm, range, is_mapped_by, W::Format::mkold);
        self.each_forgotten(mm, range, |engine, id| {
            engine.deactivate_at(id);
        });
    }

    /// Reclaims a range's folios, used or not. Their entries stay young until they are taken out
    /// (Linux 7.3.4, madvise_cold_or_pageout_pte_range and reclaim_pages).
    fn page_out(&mut self, mm: &Mm, range: &VirtRange) {
        let maps = self.maps;
        let mut list = FolioList::default();
        self.each_forgotten(mm, range, |engine, id| {
            if engine.isolate_one(id) {
                maps.folio_at(id).update_lru(LruFlags::empty(), LruFlags::ACTIVE);
                list.push(maps, id);
            }
        });
        let mut sc = ScanControl::new(None, u64::MAX, Agent::Proactive);
        sc.ignore_references = true;
        let mut stat = ReclaimStat::default();
        let (_, mut left) = self.shrink_folio_list(list, &mut sc, &mut stat);
        self.putback(&mut left);
    }

    /// Calls `work` with each of a range's folios that no one else maps, after clearing its record
    /// of use. A process must not interfere with others' mappings.
    fn each_forgotten(
        &mut self,
        mm: &Mm,
        range: &VirtRange,
        mut work: impl FnMut(&mut Self, FolioNr),
    ) {
        self.each_whole_folio(mm, range, |engine, id, entries| {
            let folio = engine.maps.folio_at(id);
            if !is_mapped_by(folio, entries) {
                return;
            }
            if let Some(guard) = engine.try_lock_folio(id) {
                guard.test_and_clear(FolioFlags::YOUNG);
                folio.note_use(Recency::NONE, Recency::REFERENCED);
            }
            if folio.lru().contains(LruFlags::ACTIVE) {
                folio.note_use(Recency::WORKINGSET, Recency::NONE);
            }
            work(engine, id);
        });
    }

    /// Makes a range's anonymous pages lazyfree. Swapped-out ones are freed now, the others when
    /// reclaim finds them clean (Linux 7.3.4, madvise_free_pte_range).
    fn free_lazily(&mut self, mm: &Mm, vma: &Vma, range: &VirtRange) {
        debug_assert!(vma.anon().is_some(), "anonymous memory");
        self.free_swapped(mm, range);
        // Folios come first, and only those that no one else maps and that leave the swap cache.
        // Cleaning entries of the others would lose their content.
        self.each_whole_folio(mm, range, Self::give_up);
        let given_up = |folio: &Folio, _| !folio.flags().contains(FolioFlags::SWAPBACKED);
        let clean = |pte| W::Format::mkold(W::Format::mkclean(pte));
        self.rewrite_old(mm, range, given_up, clean);
    }

    fn give_up(&mut self, id: FolioNr, entries: u32) {
        let folio = self.maps.folio_at(id);
        if let Some(guard) = self.try_lock_folio(id)
            && is_mapped_by(folio, entries)
            && self.try_to_free_swap(&guard)
        {
            guard.forget_dirty();
            self.lazyfree_at(&guard, id);
        }
    }
}

/// Returns true if a folio, all of which one range maps by `entries` entries, is mapped by no
/// other.
fn is_mapped_by(folio: &Folio, entries: u32) -> bool {
    folio.mapcount() == entries
}

impl<W: World> Engine<'_, W> {
    /// Replaces the entries of a range by `change` of them, where they map all of a folio for which
    /// `wanted` returns true.
    fn rewrite_old(
        &mut self,
        mm: &Mm,
        range: &VirtRange,
        wanted: impl Fn(&Folio, u32) -> bool,
        change: impl Fn(Pte) -> Pte,
    ) {
        let (maps, world) = (self.maps, self.world);
        for span in spans(world, mm.root(), range.clone()) {
            let (frame, range) = match span {
                Span::Ptes { frame, range, .. } => (frame, range),
                Span::PmdLeaf { frame, range } => {
                    self.rewrite_old_leaf(mm, frame, &range, &wanted, &change);
                    continue;
                }
            };
            let pt = self.lock_table(frame);
            flush_tlb_batched_pending(world, mm);
            let mut addr = range.start;
            while addr < range.end {
                let mut pte = read(&pt, addr);
                let present = W::Format::is_present(pte);
                let folio = present.then(|| maps.folio_nr_of(W::Format::pfn(pte))).flatten();
                let nr = match folio.map(|id| maps.folio_at(id)) {
                    Some(folio) => {
                        let nr = run(maps, &pt, addr, range.end, &mut pte, KEEP_WRITE);
                        if nr == folio.nr_pages() && wanted(folio, nr as u32) {
                            replace(world, mm, &pt, addr, nr, &change);
                        }
                        nr
                    }
                    None => 1,
                };
                addr = after::<W::Format>(addr, nr);
            }
            drop(pt);
        }
    }

    /// Does the same for a PMD leaf.
    fn rewrite_old_leaf(
        &self,
        mm: &Mm,
        frame: Pfn,
        range: &VirtRange,
        wanted: &impl Fn(&Folio, u32) -> bool,
        change: &impl Fn(Pte) -> Pte,
    ) {
        if pages::<W::Format>(range) < W::Format::nr_pages(Level::Pmd) {
            return;
        }
        let pt = self.lock_table(frame);
        let leaf = leaf_at(&pt, range.start);
        let folio = leaf.and_then(|pmd| self.maps.folio_nr_of(W::Format::pfn(pmd)));
        if folio.is_some_and(|id| wanted(self.maps.folio_at(id), 1)) {
            rewrite_leaf(self.world, &pt, mm, range.start, change);
        }
        drop(pt);
    }

    /// Frees the swapped-out pages of a range.
    fn free_swapped(&mut self, mm: &Mm, range: &VirtRange) {
        for span in spans(self.world, mm.root(), range.clone()) {
            let Span::Ptes { frame, range, .. } = span else {
                continue;
            };
            let mut addr = range.start;
            while addr < range.end {
                if let Some(slot) = self.take_swapped(frame, addr) {
                    self.free_slot(slot);
                }
                addr = after::<W::Format>(addr, 1);
            }
        }
    }

    /// Takes out the entry at `addr` if it names a slot, and returns the slot.
    fn take_swapped(&mut self, frame: Pfn, addr: VirtAddr) -> Option<SwapSlot> {
        let pt = self.lock_table(frame);
        let slot = match W::Format::entry(read(&pt, addr)) {
            Entry::Swap(entry) => SwapSlot::named_by(entry),
            _ => None,
        };
        if slot.is_some() {
            set_absent(&pt, addr, Pte::NONE);
        }
        drop(pt);
        slot
    }
}
