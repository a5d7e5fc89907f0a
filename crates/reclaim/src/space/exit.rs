//! The end of an address space.

use super::flush_mm;
use crate::engine::Engine;
use crate::id::{MmId, MmNr};
use crate::memory::{BadId, TableKind};
use crate::mm::Mm;
use crate::world::World;
use pageout_paging::{Format, Level, Pfn, Pte, Table, VirtAddr};

impl<W: World> Engine<'_, W> {
    /// Ends an address space with all that it maps (Linux 7.3.4, exit_mmap). Its page tables go
    /// too, except the root, which is the caller's and is left empty. No CPU runs in it any more.
    ///
    /// Aging walks that are in it leave at their next page table, for which this waits. Their hold
    /// on its entry in [`Memory::mms`](crate::Memory) may outlast this call.
    ///
    /// # Errors
    /// [`BadId`] if it has ended, or another call is ending it.
    pub fn exit_mm(&mut self, id: MmId) -> Result<(), BadId> {
        let mm = self.maps.mm(id)?;
        if !mm.generation.end(id.generation) {
            return Err(BadId(TableKind::Mms));
        }
        self.exit(MmNr(id.nr));
        Ok(())
    }

    /// Ends an address space whose id is not valid any more.
    pub(super) fn exit(&mut self, nr: MmNr) {
        let mm = self.maps.mm_at(nr);
        mm.set_exiting();
        let guard = self.lock_mmap(mm);
        // Under that lock nobody moves it to another cgroup.
        self.lru_gen_del_mm(nr);
        self.remove_range(mm, &(VirtAddr::new(0)..VirtAddr::new(u64::MAX)));
        free_tables(self.world, mm);
        self.free_spare_tables();
        self.leave_copies(mm);
        drop(guard);
        self.end_mm(nr);
    }
}

/// Empties the root table and frees the tables below. A CPU may cache the path to a table that is
/// no longer reached, so tables are freed only after a flush.
fn free_tables<W: World>(world: &W, mm: &Mm) {
    for i in 0..W::Format::PTES {
        let pte = world.table(mm.root()).load(i);
        if W::Format::is_table(pte) {
            world.table(mm.root()).set(i, Pte::NONE);
            flush_mm(world, mm);
            free_tree(world, W::Format::pfn(pte), Level::Pud);
        }
    }
}

/// Frees a table of `level`, which maps nothing, and those below it.
fn free_tree<W: World>(world: &W, frame: Pfn, level: Level) {
    if let Some(below) = level.below() {
        for i in 0..W::Format::PTES {
            let pte = world.table(frame).load(i);
            if W::Format::is_table(pte) {
                world.table(frame).set(i, Pte::NONE);
                free_tree(world, W::Format::pfn(pte), below);
            }
        }
    }
    world.free_table(frame);
}
