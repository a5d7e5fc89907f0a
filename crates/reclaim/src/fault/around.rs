//! Fault-around: maps pages of a file that are in memory already before they are accessed.

use super::{At, FaultKind};
use crate::folio::{FolioFlags, MappingKind};
use crate::id::FolioNr;
use crate::mm::VmFlags;
use crate::world::World;
use pageout_paging::{Format, Level, LockedTable, Mmu, Pfn, Pte, Table, VirtAddr, VirtRange};

/// The number of folios looked up before a table is locked to map them.
const BATCH: usize = 16;

impl<'e, W: World> At<'_, 'e, W> {
    /// Maps the page's own folio and the folios that the index has around the page, so that whole
    /// blocks become contiguous (Linux 7.3.4, do_read_fault). A folio that was in memory is mapped
    /// as far as the window reaches; one that was read is mapped before all others. The caller has
    /// locked the page's folio. Other folios are skipped if they are locked.
    pub(super) fn map_around(&mut self, table: Pfn, (id, kind): (FolioNr, FaultKind), pfn: Pfn) {
        let around = self.mm.fault_around() > W::Format::PAGE_SIZE && self.marker.is_none();
        if around && kind == FaultKind::Minor {
            self.map_window(table, id);
        }
        let pt = self.lock(table);
        self.finish_fault(&pt, id, pfn, |pfn| self.loaded_pte(pfn));
        drop(pt);
        if around && kind == FaultKind::Major {
            self.map_window(table, id);
        }
    }

    /// Makes a new entry for a load. It permits no stores, since a file has to know of them. For
    /// shared memory the dirty bit is read when the entry is taken out (Linux 7.3.4,
    /// vma_wants_writenotify).
    fn loaded_pte(&self, pfn: Pfn) -> Pte {
        let flags = self.vma.flags();
        let shmem = || {
            let kind = self.vma.file().map(|file| self.engine.maps.mapping_at(file).kind());
            kind == Some(MappingKind::Shmem)
        };
        let shared = flags & (VmFlags::SHARED | VmFlags::UFFD_WP) == VmFlags::SHARED;
        match shared && shmem() {
            true => self.new_pte(pfn, true),
            false => W::Format::wrprotect(self.new_pte(pfn, false)),
        }
    }

    /// Returns the end of the VMA, or of its file if that is earlier.
    pub(super) fn end(&self) -> VirtAddr {
        let (vma, end) = (self.vma, self.vma.end());
        let size = vma.file().map_or(u64::MAX, |file| self.engine.maps.mapping_at(file).size());
        let past = vma.pgoff_at::<W::Format>(end).saturating_sub(size.max(vma.pgoff()));
        VirtAddr::new(end.get() - (past << W::Format::PAGE_SHIFT))
    }

    /// Returns the window around the page: aligned, inside the VMA, its file and the table.
    fn window(&self) -> VirtRange {
        let window = self.mm.fault_around().ilog2();
        let start = self.addr.align_down(window.min(W::Format::shift(Level::Pmd)));
        let end = start.add(1 << window.min(W::Format::shift(Level::Pmd)));
        start.max(self.vma.start())..end.min(self.end())
    }

    fn map_window(&mut self, table: Pfn, own: FolioNr) {
        let Some(file) = self.vma.file() else {
            return;
        };
        let window = self.window();
        let mut addr = window.start;
        while addr < window.end {
            let mut found = [None; BATCH];
            for slot in &mut found {
                if addr >= window.end {
                    break;
                }
                let index = self.vma.pgoff_at::<W::Format>(addr);
                let id = self.engine.filemap_get(file, index);
                let past = id.map_or(index + 1, |id| self.engine.maps.folio_at(id).range().end);
                *slot = id.map(|id| (id, addr));
                addr = addr.add((past - index) << W::Format::PAGE_SHIFT);
            }
            let pt = self.lock(table);
            for (id, start) in found.iter().flatten() {
                let lock =
                    if *id == own { None } else { self.engine.maps.folio_at(*id).try_lock() };
                if *id == own || lock.is_some() {
                    self.map_present(&pt, *id, *start, window.end);
                }
            }
            drop(pt);
            for (id, _) in found.iter().flatten() {
                self.put_folio(*id, 1);
            }
        }
    }

    /// Maps the pages of a folio from `start` to `end` whose entries are empty, run by run, if its
    /// content is there. On arm64 with hardware access flags, only the run that was asked for is
    /// young (Linux 7.3.4, set_pte_range).
    fn map_present(&self, pt: &LockedTable<'e, W>, id: FolioNr, start: VirtAddr, end: VirtAddr) {
        let folio = self.engine.maps.folio_at(id);
        if !folio.flags().contains(FolioFlags::UPTODATE | FolioFlags::INDEXED) {
            return;
        }
        let skipped = self.vma.pgoff_at::<W::Format>(start) - folio.index();
        let left = ((end.get() - start.get()) >> W::Format::PAGE_SHIFT) as usize;
        let nr = left.min(folio.nr_pages() - skipped as usize);
        let i = W::Format::index(Level::Pte, start);
        let mut k = 0;
        while k < nr {
            let empty = (k..nr).take_while(|k| pt.table().load(i + k).is_none()).count();
            if empty > 0 {
                let first = start.add((k as u64) << W::Format::PAGE_SHIFT);
                self.map_run(pt, id, first, folio.pfn().add(skipped + k as u64), empty);
            }
            k += empty + 1;
        }
    }

    fn map_run(&self, pt: &LockedTable<'e, W>, id: FolioNr, at: VirtAddr, pfn: Pfn, nr: usize) {
        let folio = self.engine.maps.folio_at(id);
        let young = self.loaded_pte(pfn);
        let asked_for = (at..at.add((nr as u64) << W::Format::PAGE_SHIFT)).contains(&self.addr);
        let wants_old = W::Format::PREFAULTED_OLD && self.engine.world.mmu().caps().hardware_af;
        let old = wants_old && !asked_for;
        let pte = if old { W::Format::mkold(young) } else { young };
        self.set_pte_range(pt, folio, pte, (at, nr));
    }
}
