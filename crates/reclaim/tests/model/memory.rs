//! The caller's memory.

use crate::hardware::Hardware;
use crate::model::Model;
use crate::watched::WatchedTables;
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::{Limits, Lock, Memory, MmState};
use std::cell::RefCell;
use std::iter::repeat_with;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;

/// The frame of the first page table, far from the folios' frames.
pub(crate) const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

/// The limits: room for some processes, but too little for all they may want. There are slots
/// enough for generations of anonymous memory to be evicted, which takes 64 free ones.
pub(crate) const ROOM: Limits = Limits {
    frames: 96,
    folios: 72,
    vmas: 40,
    mms: 5,
    mappings: 12,
    memcgs: 4,
    shadows: 8,
    slots: 100,
    filters: 4,
};

/// The number of page tables.
pub(crate) const TABLES: usize = 44;

/// The memory for [`MmState`], page tables and their locks.
#[derive(Debug)]
pub(crate) struct Arena {
    tables: Vec<AtomicU64>,
    locks: Vec<Lock>,
    engine: Box<[MaybeUninit<u8>]>,
    limits: Limits,
}

fn filled<T: Default>(len: usize) -> Vec<T> {
    repeat_with(T::default).take(len).collect()
}

impl Arena {
    pub(crate) fn new<F: Format>(limits: &Limits, tables: usize) -> Self {
        Self {
            tables: filled(tables * F::PTES),
            locks: filled(tables),
            engine: Box::new_uninit_slice(Memory::bytes_for(limits)),
            limits: *limits,
        }
    }

    /// Calls `work` with an engine in this memory that follows the rules `R`.
    pub(crate) fn with<F: Format, R, T>(
        &mut self,
        work: impl FnOnce(&Model<'_, '_, F, R>) -> T,
    ) -> T {
        let memory = Memory::carve(&mut self.engine, &self.limits).expect("room for all");
        let maps = MmState::new(memory, Pfn::new(0)).expect("small tables");
        let tables = HostTables::new(&self.tables, FIRST_TABLE);
        let hardware = RefCell::new(Hardware::new(self.limits.frames, tables.len()));
        let tables = WatchedTables { tables, hardware: &hardware };
        work(&Model::new(&maps, tables, &self.locks))
    }
}
