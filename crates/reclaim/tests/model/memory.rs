//! The hardware of a scenario, and the caller's memory.

use crate::hardware::{CPUS, Walker};
use crate::model::Model;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::Limits;
use pageout_sim::{EngineMemory, Hardware, Levels, Memory, PageTables, Tlbs};

/// The limits: room for some processes, but too little for all they may want. There are slots
/// enough for generations of anonymous memory to be evicted, which takes 64 free ones.
pub(crate) const ROOM: Limits = Limits {
    frames: 96,
    folios: 72,
    vmas: 16,
    mms: 5,
    mappings: 12,
    memcgs: 4,
    nodes: 2,
    shadows: 8,
    slots: 100,
    filters: 4,
};

/// The number of page tables.
pub(crate) const TABLES: usize = 44;

/// Calls `work` with an engine of these limits, which follows the rules `R`, on new hardware with
/// this many page tables.
pub(crate) fn with<F: Format, R, T>(
    limits: &Limits,
    tables: usize,
    work: impl FnOnce(&Model<'_, '_, F, R>) -> T,
) -> T {
    let mut engine = EngineMemory::new(limits);
    let hardware = Hardware::new(
        PageTables::new::<F>(tables),
        Memory::new(Pfn::new(0)..Pfn::new(limits.frames as u64)),
        Tlbs::new(CPUS, Levels::Named),
    );
    let walker = Walker::new(&hardware, tables);
    work(&Model::new(&engine.state(Pfn::new(0)), &walker))
}
