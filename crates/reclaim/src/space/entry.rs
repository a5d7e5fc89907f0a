//! The entries of address spaces: adding and ending them.

use crate::engine::Engine;
use crate::id::{MmId, MmNr, NONE};
use crate::memory::{BadId, OutOfTable, TableKind};
use crate::mm::RemoveError;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Pfn};

impl<E: Env> Engine<'_, E> {
    /// Adds an address space whose root table is in frame `root`.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table is full.
    pub fn add_mm(&mut self, root: Pfn, asid: Asid) -> Result<MmId, OutOfTable> {
        let nr = self.take_mm(root, asid)?;
        self.lru_gen_add_mm(nr);
        Ok(self.maps.mm_id(nr))
    }

    /// Ends an address space without VMAs. Nothing is flushed.
    ///
    /// # Errors
    /// [`RemoveError::BadId`] if it has ended, and [`RemoveError::Mapped`] if it has a VMA; nothing
    /// is changed then.
    pub fn remove_mm(&mut self, id: MmId) -> Result<(), RemoveError> {
        let (mm, guard) = self.lock_mm(id)?;
        let vacant = mm.vmas.load(Relaxed) == NONE;
        let ends = vacant && mm.generation.end(id.generation);
        if ends {
            mm.set_exiting();
        }
        drop(guard);
        if !ends {
            return Err(if vacant { BadId(TableKind::Mms).into() } else { RemoveError::Mapped });
        }
        self.leave_copies(mm);
        self.end_mm(MmNr(id.nr));
        Ok(())
    }

    /// Frees the entry of an address space that has ended, unless a walk has it: then that walk
    /// frees it.
    pub(super) fn end_mm(&mut self, nr: MmNr) {
        self.lru_gen_del_mm(nr);
        if self.maps.mm_at(nr).walked.end() {
            self.put_mm(nr);
        }
    }
}
