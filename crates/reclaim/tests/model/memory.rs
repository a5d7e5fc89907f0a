//! The caller's memory.

use crate::hardware::Hardware;
use crate::model::Model;
use crate::watched::WatchedTables;
use pageout_paging::table::HostTables;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::mglru::BloomFilter;
use pageout_reclaim::{
    Folio, Limits, Lock, Mapping, Maps, Memcg, Memory, Mm, ShadowEntry, Sizes, Slot, Vma,
};
use std::cell::RefCell;
use std::iter::repeat_with;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Frame of the first page table: far from the folios' frames.
pub(crate) const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

/// Room for some processes, too little for all they may want; but slots enough for generations of
/// anonymous memory to be evicted, which takes 64 that are free.
pub(crate) const ROOM: Limits = Limits {
    frames: 96,
    folios: 72,
    vmas: 40,
    mms: 5,
    mappings: 10,
    memcgs: 4,
    shadows: 8,
    slots: 100,
    filters: 4,
};

/// Page tables.
pub(crate) const TABLES: usize = 44;

/// Slices for [`Maps`], page tables and their locks.
#[derive(Debug)]
pub(crate) struct Arena {
    tables: Vec<AtomicU64>,
    locks: Vec<Lock>,
    frames: Vec<AtomicU32>,
    folios: Vec<Folio>,
    vmas: Vec<Vma>,
    mms: Vec<Mm>,
    mappings: Vec<Mapping>,
    pages: Vec<AtomicU8>,
    memcgs: Vec<Memcg>,
    shadows: Vec<ShadowEntry>,
    slots: Vec<Slot>,
    filters: Vec<BloomFilter>,
}

fn filled<T: Default>(len: usize) -> Vec<T> {
    repeat_with(T::default).take(len).collect()
}

impl Arena {
    pub(crate) fn new<F: Format>(limits: &Limits, tables: usize) -> Self {
        let sizes = Sizes::for_limits(limits);
        Self {
            tables: filled(tables * F::PTES),
            locks: filled(tables),
            frames: filled(sizes.frames),
            folios: filled(sizes.folios),
            vmas: filled(sizes.vmas),
            mms: filled(sizes.mms),
            mappings: filled(sizes.mappings),
            pages: filled(sizes.pages),
            memcgs: filled(sizes.memcgs),
            shadows: filled(sizes.shadows),
            slots: filled(sizes.slots),
            filters: filled(sizes.filters),
        }
    }

    /// Calls `work` with an engine in this memory that follows the rules `R`.
    pub(crate) fn with<F: Format, R, T>(
        &mut self,
        work: impl FnOnce(&Model<'_, '_, F, R>) -> T,
    ) -> T {
        let frames = self.frames.len();
        let memory = Memory {
            frames: &mut self.frames,
            folios: &mut self.folios,
            vmas: &mut self.vmas,
            mms: &mut self.mms,
            mappings: &mut self.mappings,
            pages: &mut self.pages,
            memcgs: &mut self.memcgs,
            shadows: &mut self.shadows,
            slots: &mut self.slots,
            filters: &mut self.filters,
        };
        let maps = Maps::new(memory, Pfn::new(0)).expect("small tables");
        let tables = HostTables::new(&self.tables, FIRST_TABLE);
        let hardware = RefCell::new(Hardware::new(frames, tables.len()));
        let tables = WatchedTables { tables, hardware: &hardware };
        work(&Model::new(&maps, tables, &self.locks))
    }
}
