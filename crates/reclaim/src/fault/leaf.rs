//! PMD leaves: faults that make them, and faults on them.

use super::file::is_indexed;
use super::{Access, At, Fault, Locked, MINOR, Outcome};
use crate::folio::FolioFlags;
use crate::id::FolioNr;
use crate::mm::{WorldTables, leaf_at, leaf_start, prot_of, set_leaf_if_vacant};
use crate::tuning::{PmdLeaves, Thp};
use crate::world::World;
use pageout_paging::mmu::Invalidate;
use pageout_paging::walk::make_table;
use pageout_paging::{Format, Level, Mmu, Pfn, Pte, Table, VirtAddr};

impl<'e, W: World> At<'_, 'e, W> {
    /// Returns the first address that a leaf around the page would map, if leaves are asked for and
    /// its range lies in the VMA. A file's leaf must also lie in the file, at a page offset where a
    /// folio of that size may begin (Linux 7.3.4, thp_vma_suitable_order).
    pub(super) fn leaf_range(&self) -> Option<VirtAddr> {
        let start = leaf_start::<W::Format>(self.addr);
        let end = start.add(1 << W::Format::shift(Level::Pmd));
        let inside = self.vma.start() <= start && end <= self.end();
        let wanted = self.engine.tuning.pmd_leaves == PmdLeaves::WhereTheyFit && inside;
        let aligned = || {
            let first = self.vma.pgoff_at::<W::Format>(start);
            first.is_multiple_of(W::Format::PTES as u64)
        };
        (wanted && (self.vma.file().is_none() || aligned())).then_some(start)
    }

    /// Maps a file's folio by a leaf, if it is as large as one; returns true if it did. A leaf made
    /// for a store is dirty; one made for a load permits no stores (Linux 7.3.4, do_set_pmd).
    pub(super) fn map_file_leaf(&mut self, id: FolioNr) -> bool {
        let folio = self.engine.maps.folio_at(id);
        let Some(start) = self.leaf_range() else {
            return false;
        };
        let first = self.vma.pgoff_at::<W::Format>(start);
        if folio.nr_pages() != W::Format::PTES || folio.index() != first {
            return false;
        }
        let Some(table) = self.pmd_table() else {
            return false;
        };
        let write = self.access == Access::Write;
        let lock = self.lock_folio(id);
        let pt = self.lock(table);
        let leaf = self.new_leaf(folio.pfn(), write);
        let vacant = is_indexed(folio) && set_leaf_if_vacant(&pt, start, leaf);
        if vacant {
            folio.add_mappings(1);
            if write {
                self.engine.maps.note_dirty(folio);
            }
        }
        drop(pt);
        drop(lock);
        vacant
    }

    /// Maps a new folio of zeros by a leaf, if that is asked for and there is memory for it.
    /// Returns true if it did, or if another fault was first (Linux 7.3.4,
    /// do_huge_pmd_anonymous_page).
    pub(super) fn map_anon_leaf(&mut self) -> Result<bool, Fault> {
        let Some(start) = self.leaf_range().filter(|_| self.engine.tuning.thp == Thp::Always)
        else {
            return Ok(false);
        };
        let Some(table) = self.pmd_table() else {
            return Ok(false);
        };
        let Some(id) = self.make_huge(start)? else {
            return Ok(false);
        };
        let Some(reserve) = self.engine.table_to_deposit() else {
            self.put_folio(id, 1);
            return Ok(false);
        };
        let folio = self.engine.maps.folio_at(id);
        let pt = self.lock(table);
        let vacant = set_leaf_if_vacant(&pt, start, self.new_leaf(folio.pfn(), true));
        if vacant {
            self.engine.maps.set_anon_exclusive(folio.pfn(), W::Format::PTES, true);
            folio.add_mappings(1);
            self.engine.deposit(reserve);
        }
        drop(pt);
        if vacant {
            self.engine.lru_add_at(id);
        } else {
            self.engine.world.free_table(reserve);
        }
        self.put_folio(id, 1);
        Ok(true)
    }

    /// Returns the PMD table for the page, made if needed, or `None` if there is no frame for it.
    fn pmd_table(&self) -> Option<Pfn> {
        let frames = &mut WorldTables(self.engine.world);
        make_table(self.engine.world, self.mm.root(), self.addr, Level::Pmd, frames)
    }

    /// Makes a new leaf: young, since the access follows, and dirty if it permits stores.
    fn new_leaf(&self, pfn: Pfn, write: bool) -> Pte {
        let prot = prot_of(self.vma.flags(), write);
        let pmd = W::Format::mkyoung(W::Format::leaf(Level::Pmd, pfn, prot));
        if W::Format::is_write(pmd) { W::Format::mkdirty(pmd) } else { pmd }
    }

    /// Handles a fault on a leaf in the PMD table in frame `table`.
    pub(super) fn leaf_fault(&mut self, table: Pfn) -> Outcome {
        let pt = self.lock(table);
        let pmd = leaf_at(&pt, self.addr).filter(|pmd| W::Format::is_valid(*pmd));
        let Some(pmd) = pmd else {
            drop(pt);
            return MINOR; // it was split, taken out or moved meanwhile
        };
        if self.access != Access::Write {
            return self.grant_leaf(pt, W::Format::mkyoung);
        }
        if W::Format::is_write(pmd) {
            return self.grant_leaf(pt, |pmd| W::Format::mkdirty(W::Format::mkyoung(pmd)));
        }
        if W::Format::is_uffd_wp(pmd) {
            drop(pt);
            return Err(Fault::WriteProtected);
        }
        let pfn = W::Format::pfn(pmd);
        let Some(id) = self.engine.maps.folio_nr_of(pfn) else {
            drop(pt);
            return Err(Fault::Unsupported);
        };
        let folio = self.engine.maps.folio_at(id);
        if !self.vma.is_private() {
            self.engine.maps.note_dirty(folio);
            return self.grant_leaf(pt, writable::<W::Format>);
        }
        let anon = folio.flags().contains(FolioFlags::ANON);
        if anon && self.engine.maps.is_anon_exclusive(pfn) {
            return self.grant_leaf(pt, writable::<W::Format>);
        }
        folio.get(1); // the leaf's own keeps it in being until here
        drop(pt);
        if anon && self.is_alone(id) {
            self.reuse_leaf(table, pfn);
        } else {
            // The page is copied when the access is tried again.
            self.engine.split_leaf(table, (self.mm, self.vma), self.addr);
        }
        self.put_folio(id, 1);
        MINOR
    }

    /// Makes a leaf writable if it still maps its folio, which no one else can see (Linux 7.3.4,
    /// do_huge_pmd_wp_page).
    fn reuse_leaf(&mut self, table: Pfn, pfn: Pfn) {
        let pt = self.lock(table);
        let same = |pmd: &Pte| W::Format::is_valid(*pmd) && W::Format::pfn(*pmd) == pfn;
        if leaf_at(&pt, self.addr).filter(same).is_some() {
            self.engine.maps.set_anon_exclusive(pfn, W::Format::PTES, true);
            let _ = self.grant_leaf(pt, writable::<W::Format>);
        }
    }

    /// Makes the leaf permit the access and record it. Invalidates this CPU's translation, which
    /// may be the old one.
    fn grant_leaf(&self, pt: Locked<'e, W>, grant: impl Fn(Pte) -> Pte) -> Outcome {
        let i = W::Format::index(Level::Pmd, self.addr);
        let mut pmd = pt.table().load(i);
        while let Err(found) = pt.table().cas(i, pmd, grant(pmd)) {
            pmd = found; // hardware noted a use
        }
        let (asid, start) = (self.asid(), leaf_start::<W::Format>(self.addr));
        let stale = Invalidate::Range { asid, start, nr: 1, level: Level::Pmd };
        self.engine.world.mmu().invalidate_local(stale);
        drop(pt);
        MINOR
    }
}

/// Returns the leaf as a store needs it: writable, young and dirty.
fn writable<F: Format>(pmd: Pte) -> Pte {
    F::mkdirty(F::mkwrite(F::mkyoung(pmd)))
}
