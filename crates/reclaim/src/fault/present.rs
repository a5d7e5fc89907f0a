//! Faults on entries that map a page: access flags that software sets, and stores to what may not
//! be written yet.

use super::{Access, At, Fault, MINOR, Outcome};
use crate::CpuCtx;
use crate::world::World;
use pageout_paging::contig::{AccessFlags, set_access_flags};
use pageout_paging::mmu::Invalidate;
use pageout_paging::{Format, Level, LockedTable, Mmu, Pfn, Pte, Table};

impl<'a, W: World> At<'a, '_, W> {
    /// The entry in `pt`, the locked table in frame `table`, maps a page.
    pub(super) fn present_fault(
        &self,
        cpu: &mut CpuCtx,
        table: Pfn,
        pt: LockedTable<'a, W>,
        pte: Pte,
    ) -> Outcome {
        if self.access != Access::Write {
            return self.grant(cpu, pt, AccessFlags::Young);
        }
        if W::Format::is_write(pte) {
            return self.grant(cpu, pt, AccessFlags::YoungDirty);
        }
        if W::Format::is_uffd_wp(pte) {
            self.unlock(cpu, pt);
            return Err(Fault::WriteProtected);
        }
        let Some(id) = self.maps.folio_of(W::Format::pfn(pte)) else {
            self.unlock(cpu, pt);
            return Err(Fault::Unsupported);
        };
        if self.vma.is_private() {
            return self.copy_on_write(cpu, table, pt, pte, id);
        }
        self.maps.folio(id).note_dirty();
        self.grant(cpu, pt, AccessFlags::YoungDirtyWrite)
    }

    /// Lets the entry permit the access and notes it there. An entry that did already was cached
    /// by this CPU as it was before.
    pub(super) fn grant(
        &self,
        cpu: &mut CpuCtx,
        pt: LockedTable<'a, W>,
        flags: AccessFlags,
    ) -> Outcome {
        let (asid, start) = (self.asid(), self.addr);
        if !set_access_flags(self.world, &pt, asid, start, flags) {
            let stale = Invalidate::Range { asid, start, nr: 1, level: Level::Pte };
            self.world.mmu().invalidate_local(stale);
        }
        self.unlock(cpu, pt);
        MINOR
    }

    /// A PMD leaf, in the PMD table in frame `table`.
    pub(super) fn leaf_fault(&self, cpu: &mut CpuCtx, table: Pfn) -> Outcome {
        let pt = self.lock(cpu, table);
        let i = W::Format::index(Level::Pmd, self.addr);
        let mut pmd = pt.table().load(i);
        let outcome = loop {
            if W::Format::is_table(pmd) || !W::Format::is_valid(pmd) {
                break MINOR;
            }
            if self.access == Access::Write && !W::Format::is_write(pmd) {
                break Err(Fault::Unsupported);
            }
            let young = W::Format::mkyoung(pmd);
            let write = self.access == Access::Write;
            let new = if write { W::Format::mkdirty(young) } else { young };
            match pt.table().cas(i, pmd, new) {
                Ok(()) => break MINOR,
                Err(found) => pmd = found,
            }
        };
        let start = self.addr.align_down(W::Format::shift(Level::Pmd));
        let (asid, level) = (self.asid(), Level::Pmd);
        self.world.mmu().invalidate_local(Invalidate::Range { asid, start, nr: 1, level });
        self.unlock(cpu, pt);
        outcome
    }
}
