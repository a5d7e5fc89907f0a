//! Copy on write: a store to a page that others may see.

use super::file::is_indexed;
use super::{At, Locked, MINOR, Outcome};
use crate::folio::FolioFlags;
use crate::id::FolioNr;
use crate::world::World;
use pageout_paging::contig::{AccessFlags, get_and_clear_ptes, set_ptes};
use pageout_paging::{Format, Level, LockedTable, Order, Pfn, Pte, tlb};

impl<'e, W: World> At<'_, 'e, W> {
    /// Handles a store through `pte`, which forbids it, in a private VMA. The page becomes writable
    /// if no one else can see it, and is copied otherwise (Linux 7.3.4, do_wp_page).
    pub(super) fn copy_on_write(
        &mut self,
        table: Pfn,
        pt: Locked<'e, W>,
        pte: Pte,
        id: FolioNr,
    ) -> Outcome {
        let (folio, pfn) = (self.engine.maps.folio_at(id), W::Format::pfn(pte));
        let anon = folio.flags().contains(FolioFlags::ANON);
        if anon && self.engine.maps.is_anon_exclusive(pfn) {
            return self.grant(pt, AccessFlags::YoungDirtyWrite);
        }
        folio.get(1); // the entry's own keeps it in being until here
        drop(pt);
        let outcome = if anon && folio.nr_pages() == 1 && self.is_alone(id) {
            self.reuse(table, pte)
        } else {
            self.copy(table, id, pfn, Some(pte))
        };
        self.put_folio(id, 1);
        outcome
    }

    /// Returns true if the only references to a folio are one mapping's and this fault's. Only a
    /// fork of this address space could add one, and its lock is held. A reclaim that isolated the
    /// folio, or a holder of its lock, counts as someone else: a copy is never wrong.
    pub(super) fn is_alone(&mut self, id: FolioNr) -> bool {
        let folio = self.engine.maps.folio_at(id);
        let guard = self.engine.try_lock_folio(id);
        let uncached = guard.as_ref().is_some_and(|guard| self.engine.try_to_free_swap(guard));
        uncached && folio.refs() == 2
    }

    fn reuse(&mut self, table: Pfn, pte: Pte) -> Outcome {
        let pt = self.lock(table);
        if !self.still_maps(&pt, W::Format::pfn(pte)) {
            drop(pt);
            return MINOR;
        }
        self.engine.maps.set_anon_exclusive(W::Format::pfn(pte), 1, true);
        self.grant(pt, AccessFlags::YoungDirtyWrite)
    }

    /// Returns true if the entry still maps this frame without permitting stores.
    fn still_maps(&self, pt: &LockedTable<'e, W>, pfn: Pfn) -> bool {
        let now = self.read(pt);
        W::Format::is_valid(now) && W::Format::pfn(now) == pfn && !W::Format::is_write(now)
    }

    /// Maps a copy of the page in frame `from` of a folio, in place of an entry that maps that
    /// page, or of none. The caller has a reference to the folio.
    pub(super) fn copy(
        &mut self,
        table: Pfn,
        source: FolioNr,
        from: Pfn,
        instead: Option<Pte>,
    ) -> Outcome {
        let mapping = self.anon_mapping()?;
        let one = Order::default();
        let id = self.new_folio(one, self.mm.memcg(), mapping, self.index())?;
        let folio = self.engine.maps.folio_at(id);
        self.engine.world.copy(from, folio.pfn(), 1);
        folio.update_flags(FolioFlags::UPTODATE, FolioFlags::empty());
        // An entry that is there is taken out and flushed below.
        let lock = if instead.is_none() { self.lock_folio(source) } else { None };
        let pt = self.lock(table);
        let unchanged = match instead {
            Some(_) => self.still_maps(&pt, from),
            // If the folio left the index meanwhile, it no longer holds the page.
            None => is_indexed(self.engine.maps.folio_at(source)) && self.is_vacant(self.read(&pt)),
        };
        if unchanged {
            if instead.is_some() {
                self.take_out(&pt, source);
            }
            self.engine.maps.set_anon_exclusive(folio.pfn(), 1, true);
            folio.add_mappings(1);
            let pte = W::Format::mkdirty(self.new_pte(folio.pfn(), true));
            set_ptes::<W::Format, _>(pt.table(), self.entry_index(), pte, 1);
        }
        drop(pt);
        drop(lock);
        if unchanged {
            self.engine.lru_add_at(id);
            if instead.is_some() {
                self.put_folio(source, 1);
            }
        }
        self.put_folio(id, 1);
        MINOR
    }

    /// Takes out the entry that maps a page of the folio `old`, flushes it from every TLB, and
    /// counts one mapping less. The mapping's reference passes to the caller.
    fn take_out(&self, pt: &LockedTable<'e, W>, old: FolioNr) {
        let was = get_and_clear_ptes(self.engine.world, pt, self.asid(), self.addr, 1);
        tlb::forget(self.engine.world, self.asid(), self.addr, 1, Level::Pte);
        if W::Format::is_dirty(was) {
            self.engine.maps.note_dirty(self.engine.maps.folio_at(old));
        }
        self.engine.maps.folio_at(old).sub_mapcount(1);
    }
}
