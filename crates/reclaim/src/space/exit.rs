//! The end of an address space.

use super::flush_mm;
use crate::CpuCtx;
use crate::maps::Maps;
use crate::mm::{Mm, MmId};
use crate::world::World;
use core::sync::atomic::Ordering::AcqRel;
use pageout_paging::{Format, Level, Pfn, Pte, Table, VirtAddr};

impl Maps<'_> {
    /// Removes all that an address space maps, its page tables but for the root, which was the
    /// caller's and is empty then, and the address space (Linux 7.3.4, exit_mmap). No CPU runs in
    /// it any more.
    pub fn exit_mm<W: World>(&self, world: &W, cpu: &mut CpuCtx, id: MmId) {
        let mm = self.mm(id);
        mm.set_exiting();
        self.lru_gen_exit_mm(world, cpu, id);
        let guard = self.lock_mmap(world, cpu, mm);
        self.remove_range(world, cpu, mm, &(VirtAddr::new(0)..VirtAddr::new(u64::MAX)));
        free_tables(world, mm);
        if let Some(mapping) = mm.anon() {
            mm.set_anon(None);
            let last = self.mapping(mapping).users.fetch_sub(1, AcqRel) == 1;
            if last {
                self.remove_mapping(world, cpu, mapping);
            }
        }
        self.unlock_mmap(cpu, guard);
        self.remove_mm(world, cpu, id);
    }
}

/// Empties the root table and frees the tables below. A walk may be cached up to a table that is
/// reached no more, so those are freed only after a flush.
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

/// Frees a table of `level`, which maps nothing, and those below.
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
