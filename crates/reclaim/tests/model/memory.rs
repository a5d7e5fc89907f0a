//! The caller's memory.

use crate::hardware::Hardware;
use crate::model::Model;
use crate::watched::WatchedTables;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::Limits;
use pageout_sim::{EngineMemory, PageTables};
use std::cell::RefCell;

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

/// The memory for [`MmState`](pageout_reclaim::MmState), and page tables.
#[derive(Debug)]
pub(crate) struct Arena {
    tables: PageTables,
    engine: EngineMemory,
    frames: usize,
}

impl Arena {
    pub(crate) fn new<F: Format>(limits: &Limits, tables: usize) -> Self {
        let (tables, engine) = (PageTables::new::<F>(tables), EngineMemory::new(limits));
        Self { tables, engine, frames: limits.frames }
    }

    /// Calls `work` with an engine in this memory that follows the rules `R`.
    pub(crate) fn with<F: Format, R, T>(
        &mut self,
        work: impl FnOnce(&Model<'_, '_, F, R>) -> T,
    ) -> T {
        let maps = self.engine.state(Pfn::new(0));
        let tables = self.tables.tables();
        let hardware = RefCell::new(Hardware::new(self.frames, tables.len()));
        let tables = WatchedTables { tables, hardware: &hardware };
        work(&Model::new(&maps, tables, &self.tables))
    }
}
