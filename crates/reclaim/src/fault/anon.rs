//! The first access to a page of anonymous memory.

use super::{At, Fault, MINOR, Outcome};
use crate::folio::FolioFlags;
use crate::id::FolioNr;
use crate::tuning::Thp;
use crate::vmstat::Counter;
use crate::world::World;
use pageout_paging::contig::set_ptes;
use pageout_paging::{Format, Level, LockedTable, Order, Pfn, Table, VirtAddr};

impl<W: World> At<'_, '_, W> {
    /// Maps a new folio of zeros (Linux 7.3.4, do_anonymous_page). It is the largest that the
    /// variant and the mapping ask for, with its whole range empty and inside the VMA. There is no
    /// shared page of zeros: a first load gets a folio as well. Without a `table` it makes a table
    /// or a leaf.
    pub(super) fn anon_fault(&mut self, table: Option<Pfn>) -> Outcome {
        let mapping = self.anon_mapping()?;
        if table.is_none() && self.map_anon_leaf()? {
            return MINOR;
        }
        let huge = table.is_some();
        let table = table.map_or_else(|| self.make_table(), Ok)?;
        let (id, start) = self.zeroed_folio(table, huge)?;
        debug_assert_eq!(self.engine.maps.folio_at(id).mapping(), mapping);
        let folio = self.engine.maps.folio_at(id);
        let nr = folio.nr_pages();
        let pt = self.lock(table);
        let mapped = self.all_vacant(&pt, start, nr);
        if mapped {
            let pte = self.new_pte(folio.pfn(), true);
            let pte = if W::Format::is_write(pte) { W::Format::mkdirty(pte) } else { pte };
            self.engine.maps.set_anon_exclusive(folio.pfn(), nr, true);
            folio.add_mappings(nr as u32);
            set_ptes::<W::Format, _>(pt.table(), W::Format::index(Level::Pte, start), pte, nr);
        }
        drop(pt);
        if mapped {
            self.engine.lru_add_at(id);
        }
        self.put_folio(id, 1);
        MINOR
    }

    /// Makes a folio of zeros around the page, and returns it with the address that its first page
    /// is for. With `huge`, it may be one folio for the whole range of the page table.
    fn zeroed_folio(&mut self, table: Pfn, huge: bool) -> Result<(FolioNr, VirtAddr), Fault> {
        if huge && let Some(found) = self.huge_folio(table)? {
            return Ok(found);
        }
        let mapping = self.anon_mapping()?;
        let mut order = self.engine.maps.mapping_at(mapping).order().get();
        loop {
            let start = self.addr.align_down(W::Format::PAGE_SHIFT + u32::from(order));
            let size = Order::new(order).expect("no larger than the mapping's order");
            if order > 0 && !self.fits(self.engine.world.table(table), start, size.nr_pages()) {
                order -= 1;
                continue;
            }
            let index = self.vma.pgoff_at::<W::Format>(start);
            match self.new_folio(size, self.mm.memcg(), mapping, index) {
                Ok(id) => {
                    self.zero(id);
                    return Ok((id, start));
                }
                Err(_) if order > 0 => order -= 1,
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Makes a folio of zeros for the whole range of the page table, and returns it with the first
    /// address of that range. Returns `None` if no huge folio is asked for or the VMA has no room
    /// (Linux 7.3.4, do_huge_pmd_anonymous_page).
    fn huge_folio(&mut self, table: Pfn) -> Result<Option<(FolioNr, VirtAddr)>, Fault> {
        let order = Order::new(W::Format::TABLE_SHIFT as u8).expect("a table's order is one");
        let start = self.addr.align_down(W::Format::shift(Level::Pmd));
        if self.engine.tuning.thp == Thp::Never
            || !self.fits(self.engine.world.table(table), start, order.nr_pages())
        {
            return Ok(None);
        }
        Ok(self.make_huge(start)?.map(|id| (id, start)))
    }

    /// Makes a folio of zeros as large as a page table maps, for the addresses from `start` on, if
    /// there is memory for it.
    pub(super) fn make_huge(&mut self, start: VirtAddr) -> Result<Option<FolioNr>, Fault> {
        let order = Order::new(W::Format::TABLE_SHIFT as u8).expect("a table's order is one");
        let at = (self.anon_mapping()?, self.vma.pgoff_at::<W::Format>(start));
        let memcg = self.mm.memcg();
        let frames = self.engine.alloc_costly(order);
        let made = frames.and_then(|pfn| self.folio_over(pfn, order, memcg, at).ok());
        let counter = match made {
            Some(_) => Counter::ThpFaultAlloc,
            None => Counter::ThpFaultFallback,
        };
        self.engine.maps.memcg_at(memcg).vmstat.add(counter, 1);
        Ok(made.inspect(|id| self.zero(*id)))
    }

    /// Fills a new folio with zeros.
    pub(super) fn zero(&self, id: FolioNr) {
        let folio = self.engine.maps.folio_at(id);
        self.engine.world.zero(folio.pfn(), folio.nr_pages());
        folio.update_flags(FolioFlags::UPTODATE, FolioFlags::empty());
    }

    /// Returns true if `nr` pages from `start` on, this one among them, lie in the VMA, its file
    /// and one table, over empty entries.
    pub(super) fn fits(&self, table: W::Table, start: VirtAddr, nr: usize) -> bool {
        let end = start.add((nr as u64) << W::Format::PAGE_SHIFT);
        let inside = self.vma.start() <= start && end <= self.end();
        let i = W::Format::index(Level::Pte, start);
        let in_table = i + nr <= W::Format::PTES;
        inside && in_table && (i..i + nr).all(|k| table.load(k).is_none())
    }

    fn all_vacant(&self, pt: &LockedTable<'_, W>, start: VirtAddr, nr: usize) -> bool {
        let i = W::Format::index(Level::Pte, start);
        match nr {
            1 => self.is_vacant(pt.table().load(i)),
            _ => (i..i + nr).all(|k| pt.table().load(k).is_none()),
        }
    }
}
