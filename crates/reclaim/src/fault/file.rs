//! The first access to a page of a file: found in the file's index, or read.

use super::{Access, At, Fault, FaultKind, MINOR, Outcome};
use crate::corruption::Corruption;
use crate::folio::{Folio, FolioFlags, FolioGuard, MappingKind};
use crate::id::{FolioNr, MappingNr};
use crate::mm::{VmFlags, frames};
use crate::rank::Ranked;
use crate::vmstat::Counter;
use crate::world::{Io, IoError, Place, Submitted, World};
use pageout_paging::contig::{set_pte, set_ptes};
use pageout_paging::{Format, Level, LockedTable, Order, Pfn, Pte, Rules, VirtAddr};

impl<'e, W: World> At<'_, 'e, W> {
    /// Maps the file's page, or for a store to a private VMA a copy of it (Linux 7.3.4,
    /// do_read_fault, do_cow_fault and do_shared_fault). If `table` is `None`, maps a PMD leaf or
    /// makes a table.
    pub(super) fn file_fault(&mut self, table: Option<Pfn>, file: MappingNr) -> Outcome {
        let index = self.index();
        if index >= self.engine.maps.mapping_at(file).size() {
            return Err(Fault::PastEnd);
        }
        let shmem = self.engine.maps.mapping_at(file).kind() == MappingKind::Shmem;
        let (id, kind) = if shmem {
            self.shmem_get_folio(file, index)?
        } else if let Some(id) = self.engine.filemap_get(file, index) {
            self.await_content(id, self.place_of(id))?
        } else {
            self.read_new(file, index)?
        };
        let outcome = self.map_page(table, (id, kind), index);
        self.put_folio(id, 1);
        outcome.map(|_| kind)
    }

    /// Maps a page of a folio that was found or read, or a copy of it.
    fn map_page(
        &mut self,
        table: Option<Pfn>,
        (id, kind): (FolioNr, FaultKind),
        index: u64,
    ) -> Outcome {
        let folio = self.engine.maps.folio_at(id);
        let copies = self.access == Access::Write && self.vma.is_private();
        if table.is_none() && !copies && self.map_file_leaf(id) {
            return MINOR;
        }
        let table = match table {
            Some(table) => table,
            None => self.make_table()?,
        };
        let pfn = folio.pfn().add(index - folio.index());
        if copies {
            return self.copy(table, id, pfn, None);
        }
        let lock = self.lock_folio(id);
        match self.access {
            // The folio left the index meanwhile: the access finds the page's new folio.
            _ if !is_indexed(folio) => {}
            Access::Write => self.map_written(table, id, pfn),
            Access::Read | Access::Exec => self.map_around(table, (id, kind), pfn),
        }
        drop(lock);
        MINOR
    }

    /// Locks a file's folio that is to be mapped or copied. Once it is locked, every flush owed for
    /// its entries is complete.
    pub(super) fn lock_folio(&self, id: FolioNr) -> Option<Ranked<'e, FolioGuard<'e>>> {
        let locks = <W::Rules as Rules>::faults_lock_folios();
        locks.then(|| self.engine.lock_folio(id))
    }

    fn place_of(&self, id: FolioNr) -> Place {
        let folio = self.engine.maps.folio_at(id);
        Place::File(self.engine.maps.mapping_of(folio), folio.index())
    }

    /// Maps a folio for a store in a shared VMA: it is dirty from now on.
    fn map_written(&mut self, table: Pfn, id: FolioNr, pfn: Pfn) {
        let pt = self.lock(table);
        if self.finish_fault(&pt, id, pfn, |pfn| W::Format::mkdirty(self.new_pte(pfn, true))) {
            self.engine.maps.note_dirty(self.engine.maps.folio_at(id));
        }
        drop(pt);
    }

    /// Maps the page of a locked folio by the entry that `pte` makes, if nothing is mapped there;
    /// returns true if it did. Maps the whole folio if that lies in the VMA, the file and the
    /// table, and nothing else is mapped there. Userfaultfd must want no fault for each page (Linux
    /// 7.3.4).
    pub(super) fn finish_fault(
        &self,
        pt: &LockedTable<'e, W>,
        id: FolioNr,
        pfn: Pfn,
        pte: impl Fn(Pfn) -> Pte,
    ) -> bool {
        let folio = self.engine.maps.folio_at(id);
        if let Some(start) = self.whole_from(pt, folio) {
            self.set_pte_range(pt, folio, pte(folio.pfn()), (start, folio.nr_pages()));
            return true;
        }
        let vacant = self.is_vacant(self.read(pt));
        if vacant {
            self.set_pte_range(pt, folio, pte(pfn), (self.addr, 1));
        }
        vacant
    }

    /// Returns the first address of a large folio if all of it may be mapped.
    fn whole_from(&self, pt: &LockedTable<'e, W>, folio: &Folio) -> Option<VirtAddr> {
        let (nr, (range, skipped)) = (folio.nr_pages(), self.vma.range_of::<W::Format>(folio)?);
        let a_fault_each = self.vma.flags().contains(VmFlags::UFFD_WP) || self.marker.is_some();
        let whole = nr > 1 && skipped == 0 && !a_fault_each;
        (whole && self.fits(pt.table(), range.start, nr)).then_some(range.start)
    }

    /// Maps a number of pages of a folio from an address on, over empty entries, the first by `pte`
    /// (Linux 7.3.4).
    pub(super) fn set_pte_range(
        &self,
        pt: &LockedTable<'e, W>,
        folio: &Folio,
        pte: Pte,
        (at, nr): (VirtAddr, usize),
    ) {
        folio.add_mappings(nr as u32);
        if nr == 1 {
            set_pte(self.engine.world, pt, self.asid(), at, pte, &frames(folio));
        } else {
            set_ptes::<W::Format, _>(pt.table(), W::Format::index(Level::Pte, at), pte, nr);
        }
    }

    /// Ends a read whose result [`Backing::read`](crate::Backing::read) returned.
    fn end_read(&mut self, id: FolioNr, result: Result<(), IoError>) {
        if self.engine.read_done_at(id, result).is_err() {
            self.engine.world.corrupted(&Corruption::ReadEnded(self.engine.maps.folio_id(id)));
        }
    }

    /// Makes a folio for the page and starts to read it.
    fn read_new(&mut self, file: MappingNr, index: u64) -> Result<(FolioNr, FaultKind), Fault> {
        let id = self.add_new(file, index)?;
        self.submit_read(id, self.place_of(id))
    }

    /// Makes a folio for the page and puts it into the index, with a reference for the caller. The
    /// folio is the largest of up to the file's order that lies in what the VMA maps and covers no
    /// other folio.
    pub(super) fn add_new(&mut self, file: MappingNr, index: u64) -> Result<FolioNr, Fault> {
        let mut order = self.engine.maps.mapping_at(file).order().get();
        let past = self.vma.past::<W::Format>();
        loop {
            let size = Order::new(order).expect("no larger than the file's order");
            let first = index >> order << order;
            let mapped = first >= self.vma.pgoff() && first + size.nr_pages() as u64 <= past;
            if order > 0 && !mapped {
                order -= 1;
                continue;
            }
            match self.new_folio(size, self.mm.memcg(), file, first) {
                Ok(id) => match self.insert(id) {
                    true => return Ok(id),
                    false if order > 0 => self.put_folio(id, 1),
                    false => {
                        // Another fault was first: the access finds its folio.
                        self.put_folio(id, 1);
                        return Err(Fault::Done(FaultKind::Minor));
                    }
                },
                Err(_) if order > 0 => {}
                Err(fault) => return Err(fault),
            }
            order -= 1;
        }
    }

    /// Puts a new folio, which no one else knows, into its file's index: marked as being read, or
    /// for shared memory full of zeros. Returns false if the index already has one of its pages.
    fn insert(&mut self, id: FolioNr) -> bool {
        if self.engine.maps.folio_at(id).flags().contains(FolioFlags::SWAPBACKED) {
            self.zero(id);
        } else {
            self.engine.maps.folio_at(id).update_flags(FolioFlags::READING, FolioFlags::empty());
        }
        // No one else knows the folio, but a late end of a transfer may ask under its number.
        let guard = self.engine.lock_folio(id);
        let added = self.engine.filemap_add_at(id);
        drop(guard);
        let Ok(shadow) = added else {
            return false;
        };
        if let Some(shadow) = shadow {
            self.engine.workingset_refault_at(id, shadow);
        }
        self.engine.lru_add_at(id);
        true
    }

    /// Starts to fill a folio that is marked as being read. The caller gives a reference, and gets
    /// it back only if the content is there at once.
    pub(super) fn submit_read(
        &mut self,
        id: FolioNr,
        place: Place,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        let folio = self.engine.maps.folio_at(id);
        let io = Io {
            folio: self.engine.maps.folio_id(id),
            place,
            pfn: folio.pfn(),
            nr: folio.nr_pages(),
        };
        // Counted here, since a fault that waits comes back when the page is in memory.
        self.engine.maps.memcg_at(self.mm.memcg()).vmstat.add(Counter::Pgmajfault, 1);
        folio.get(1); // the transfer's, which its end gives up
        let submitted = self.engine.world.read(io);
        let failed = matches!(submitted, Submitted::Failed(_));
        if matches!(place, Place::Swap(_)) && !failed {
            let vmstat = &self.engine.maps.memcg_at(folio.memcg()).vmstat;
            vmstat.add(Counter::Pswpin, folio.nr_pages() as u64);
        }
        let fault = match submitted {
            Submitted::Done => {
                self.end_read(id, Ok(()));
                return Ok((id, FaultKind::Major));
            }
            Submitted::Pending => Fault::Pending(io.folio),
            Submitted::Failed(error) => {
                self.end_read(id, Err(error));
                Fault::IoError(error)
            }
        };
        self.put_folio(id, 1);
        Err(fault)
    }

    /// Returns a folio that was found, with its reference, if its content is there. If it is being
    /// read, the fault is pending. If its read failed, it is read again.
    pub(super) fn await_content(
        &mut self,
        id: FolioNr,
        place: Place,
    ) -> Result<(FolioNr, FaultKind), Fault> {
        let folio = self.engine.maps.folio_at(id);
        if folio.flags().contains(FolioFlags::UPTODATE) {
            return Ok((id, FaultKind::Minor));
        }
        let guard = self.engine.lock_folio(id);
        let idle = !folio.flags().intersects(FolioFlags::READING | FolioFlags::UPTODATE);
        if idle {
            guard.test_and_clear(FolioFlags::ERROR);
            guard.set(FolioFlags::READING);
        }
        drop(guard);
        if idle {
            return self.submit_read(id, place);
        }
        if folio.flags().contains(FolioFlags::READING) {
            let pending = Fault::Pending(self.engine.maps.folio_id(id));
            self.put_folio(id, 1);
            return Err(pending);
        }
        Ok((id, FaultKind::Minor))
    }
}

/// Returns true if the index still leads to a locked folio (Linux 7.3.4, filemap_fault and
/// shmem_get_folio: `folio->mapping` after the lock).
pub(super) fn is_indexed(folio: &Folio) -> bool {
    folio.flags().contains(FolioFlags::INDEXED)
}
