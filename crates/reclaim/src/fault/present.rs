//! Faults on entries that map a page: for access flags that software sets, and for stores that the
//! entry does not permit yet.

use super::{Access, At, Fault, Locked, MINOR, Outcome};
use crate::world::World;
use pageout_paging::contig::{AccessFlags, set_access_flags};
use pageout_paging::mmu::Invalidate;
use pageout_paging::{Format, Level, Mmu, Pfn, Pte};

impl<'e, W: World> At<'_, 'e, W> {
    /// Handles a fault on an entry that maps a page, in `pt`, the locked table in frame `table`.
    pub(super) fn present_fault(&mut self, table: Pfn, pt: Locked<'e, W>, pte: Pte) -> Outcome {
        if self.access != Access::Write {
            return self.grant(pt, AccessFlags::Young);
        }
        if W::Format::is_write(pte) {
            return self.grant(pt, AccessFlags::YoungDirty);
        }
        if W::Format::is_uffd_wp(pte) {
            drop(pt);
            return Err(Fault::WriteProtected);
        }
        let Some(id) = self.engine.maps.folio_nr_of(W::Format::pfn(pte)) else {
            drop(pt);
            return Err(Fault::Unsupported);
        };
        if self.vma.is_private() {
            return self.copy_on_write(table, pt, pte, id);
        }
        self.engine.maps.note_dirty(self.engine.maps.folio_at(id));
        self.grant(pt, AccessFlags::YoungDirtyWrite)
    }

    /// Makes the entry permit the access and record it. If it did already, this CPU had an old
    /// translation, which is invalidated.
    pub(super) fn grant(&mut self, pt: Locked<'e, W>, flags: AccessFlags) -> Outcome {
        let (asid, start) = (self.asid(), self.addr);
        if !set_access_flags(self.engine.world, &pt, asid, start, flags) {
            let stale = Invalidate::Range { asid, start, nr: 1, level: Level::Pte };
            self.engine.world.mmu().invalidate_local(stale);
        }
        drop(pt);
        MINOR
    }
}
