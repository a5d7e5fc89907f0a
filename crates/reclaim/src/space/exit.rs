//! The end of an address space.

use super::flush_mm;
use crate::engine::Engine;
use crate::id::MmId;
use crate::mm::Mm;
use crate::world::World;
use core::sync::atomic::Ordering::AcqRel;
use pageout_paging::{Format, Level, Pfn, Pte, Table, VirtAddr};

impl<W: World> Engine<'_, W> {
    /// Removes an address space with all that it maps (Linux 7.3.4, exit_mmap). Its page tables go
    /// too, except the root, which is the caller's and is left empty. No CPU runs in it any more.
    pub fn exit_mm(&mut self, id: MmId) {
        let maps = self.maps;
        let mm = maps.mm(id);
        mm.set_exiting();
        self.lru_gen_exit_mm(id);
        let guard = self.lock_mmap(mm);
        self.remove_range(mm, &(VirtAddr::new(0)..VirtAddr::new(u64::MAX)));
        free_tables(self.world, mm);
        self.free_spare_tables();
        if let Some(mapping) = mm.anon() {
            mm.set_anon(None);
            let last = maps.mapping(mapping).users.fetch_sub(1, AcqRel) == 1;
            if last {
                self.remove_mapping(mapping);
            }
        }
        drop(guard);
        self.remove_mm(id);
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
