//! mlock and munlock.

use super::{SpaceError, after, read, run};
use crate::folio::{FolioFlags, FolioId, LruFlags};
use crate::list::FolioList;
use crate::maps::Maps;
use crate::mm::{Mm, MmId};
use crate::vma::{VmFlags, VmaId};
use crate::world::World;
use crate::{CpuCtx, Rank};
use pageout_paging::batch::BatchFlags;
use pageout_paging::walk::{Span, spans};
use pageout_paging::{Format, LockedTable, VirtRange};

impl Maps<'_> {
    /// Locks a range into memory: what is there now, at once, and what comes, when reclaim finds it
    /// (Linux 7.3.4, mlock2 with MLOCK_ONFAULT). Large folios of which the range maps a part only
    /// stay reclaimable.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn mlock<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        mm: MmId,
        range: &VirtRange,
    ) -> Result<(), SpaceError> {
        self.set_locked(world, cpu, mm, range, true)
    }

    /// Ends that. What another VMA locks too is locked again when reclaim finds it.
    ///
    /// # Errors
    /// [`SpaceError`]; nothing is changed then.
    pub fn munlock<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        mm: MmId,
        range: &VirtRange,
    ) -> Result<(), SpaceError> {
        self.set_locked(world, cpu, mm, range, false)
    }

    fn set_locked<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        mm: MmId,
        range: &VirtRange,
        locked: bool,
    ) -> Result<(), SpaceError> {
        let mm = self.mm(mm);
        let guard = self.lock_mmap(world, cpu, mm);
        let begun = match self.covers(mm, range) {
            true => self.begin(world, cpu, mm, range),
            false => Err(SpaceError::NotMapped),
        };
        if begun.is_ok() {
            self.each_vma(mm, range, |id| self.lock_vma(world, cpu, mm, id, locked));
            self.merge_range(world, cpu, mm, range);
        }
        self.unlock_mmap(cpu, guard);
        begun
    }

    fn lock_vma<W: World>(&self, world: &W, cpu: &mut CpuCtx, mm: &Mm, id: VmaId, locked: bool) {
        let vma = self.vma(id);
        let flags = vma.flags() - VmFlags::LOCKED;
        vma.set_flags(if locked { flags | VmFlags::LOCKED } else { flags });
        each_whole_folio(self, world, cpu, mm, &vma.range(), |cpu, folio| {
            self.lock_folio_in_memory(world, cpu, folio, locked);
        });
    }

    /// Marks a folio as locked or not, and moves it to the list that says so.
    fn lock_folio_in_memory<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        id: FolioId,
        locked: bool,
    ) {
        let folio = self.folio(id);
        cpu.enter(Rank::Folio);
        let guard = self.lock_folio(world, id);
        match locked {
            true => guard.set(FolioFlags::MLOCKED),
            false => _ = guard.test_and_clear(FolioFlags::MLOCKED),
        }
        drop(guard);
        cpu.leave(Rank::Folio);
        if self.isolate_one(world, cpu, id) {
            match locked {
                true => folio.update_lru(LruFlags::UNEVICTABLE, LruFlags::ACTIVE),
                false => folio.update_lru(LruFlags::empty(), LruFlags::UNEVICTABLE),
            }
            let mut list = FolioList::default();
            list.push(self, id);
            self.putback(world, cpu, &mut list);
        }
    }
}

/// Calls `work` with each folio all of whose pages a range maps through one table, with a
/// reference that is given up afterwards, and no table's lock held.
pub(super) fn each_whole_folio<W: World>(
    maps: &Maps<'_>,
    world: &W,
    cpu: &mut CpuCtx,
    mm: &Mm,
    range: &VirtRange,
    mut work: impl FnMut(&mut CpuCtx, FolioId),
) {
    for span in spans(world, mm.root(), range.clone()) {
        let (frame, range) = match span {
            Span::Ptes { frame, range, .. } => (frame, range),
            Span::PmdLeaf { .. } => continue,
        };
        let mut addr = range.start;
        while addr < range.end {
            cpu.enter(Rank::PageTable);
            let pt = LockedTable::lock(world, frame);
            let mut pte = read(&pt, addr);
            let present = W::Format::is_present(pte);
            let found = present.then(|| maps.folio_of(W::Format::pfn(pte))).flatten();
            let nr = match found {
                Some(_) => run(maps, &pt, addr, range.end, &mut pte, BatchFlags::NONE),
                None => 1,
            };
            let whole = found.filter(|id| maps.folio(*id).nr_pages() == nr);
            if let Some(id) = whole {
                maps.folio(id).get(1);
            }
            drop(pt);
            cpu.leave(Rank::PageTable);
            if let Some(id) = whole {
                work(cpu, id);
                maps.release(world, cpu, id, 1);
            }
            addr = after::<W::Format>(addr, nr);
        }
    }
}
