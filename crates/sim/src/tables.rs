//! Page tables with their locks, the supply of empty ones, and memory for the engine's own tables.

use pageout_paging::table::HostTables;
use pageout_paging::walk::TableFrames;
use pageout_paging::{Format, Pfn, Table};
use pageout_reclaim::{Limits, Lock, Memory, MmState};
use std::iter::repeat_with;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The frame of the first page table, far from the folios' frames.
pub const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

/// Page tables, and the supply of those that are empty.
#[derive(Debug)]
pub struct PageTables {
    entries: Vec<AtomicU64>,
    locks: Vec<Lock>,
    supply: Mutex<Supply>,
}

#[derive(Debug)]
struct Supply {
    used: Vec<bool>,
    /// The number of tables that were ever in use.
    made: usize,
    /// The number of tables that may still be allocated, if there is a limit.
    left: Option<usize>,
}

fn filled<T: Default>(len: usize) -> Vec<T> {
    repeat_with(T::default).take(len).collect()
}

fn number(frame: Pfn) -> usize {
    frame.offset_from(FIRST_TABLE) as usize
}

impl PageTables {
    /// Returns `nr` empty tables of the format `F`.
    pub fn new<F: Format>(nr: usize) -> Self {
        let supply = Supply { used: vec![false; nr], made: 0, left: None };
        let supply = Mutex::new(supply);
        Self { entries: filled(nr * F::PTES), locks: filled(nr), supply }
    }

    /// Returns the tables, all of which have the format `F`.
    pub fn tables<F: Format>(&self) -> HostTables<'_, F> {
        HostTables::new(&self.entries, FIRST_TABLE)
    }

    /// Returns the lock of a table.
    pub fn lock(&self, frame: Pfn) -> &Lock {
        &self.locks[number(frame)]
    }

    /// Returns true if no entry of a table of the format `F` is in use.
    pub fn is_empty<F: Format>(&self, frame: Pfn) -> bool {
        let table = self.tables::<F>().table(frame);
        (0..F::PTES).all(|i| table.load(i).is_none())
    }

    fn supply(&self) -> MutexGuard<'_, Supply> {
        self.supply.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates the first table that is free, unless none is left.
    pub fn alloc(&self) -> Option<Pfn> {
        let mut supply = self.supply();
        if supply.left == Some(0) {
            return None;
        }
        let free = supply.used.iter().position(|used| !used)?;
        supply.left = supply.left.map(|left| left - 1);
        supply.used[free] = true;
        supply.made = supply.made.max(free + 1);
        Some(FIRST_TABLE.add(free as u64))
    }

    /// Frees a table.
    ///
    /// # Panics
    /// If it is not in use.
    pub fn free(&self, frame: Pfn) {
        let used = std::mem::take(&mut self.supply().used[number(frame)]);
        assert!(used, "a table is freed once");
    }

    /// Returns true if a table is in use.
    pub fn is_used(&self, frame: Pfn) -> bool {
        self.supply().used[number(frame)]
    }

    /// Returns the number of tables in use.
    pub fn in_use(&self) -> usize {
        self.supply().used.iter().filter(|used| **used).count()
    }

    /// Returns the number of tables that were ever in use.
    pub fn made(&self) -> usize {
        self.supply().made
    }

    /// Limits the number of tables that may still be allocated.
    pub fn set_left(&self, left: Option<usize>) {
        self.supply().left = left;
    }

    /// Raises that limit, if there is one.
    pub fn add_left(&self, nr: usize) {
        let mut supply = self.supply();
        supply.left = supply.left.map(|left| left + nr);
    }
}

impl TableFrames for &PageTables {
    fn take(&mut self) -> Option<Pfn> {
        self.alloc()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.free(frame);
    }
}

/// Memory for the engine's own tables.
#[derive(Debug)]
pub struct EngineMemory {
    bytes: Box<[MaybeUninit<u8>]>,
    limits: Limits,
}

impl EngineMemory {
    /// Returns memory for an engine with these limits.
    pub fn new(limits: &Limits) -> Self {
        Self { bytes: Box::new_uninit_slice(Memory::bytes_for(limits)), limits: *limits }
    }

    /// Returns a new engine, whose folios have the frames from `first` on.
    ///
    /// # Panics
    /// If the limits are too large to be numbered.
    pub fn state(&mut self, first: Pfn) -> MmState<'_> {
        let memory = Memory::carve(&mut self.bytes, &self.limits).expect("as many as they take");
        MmState::new(memory, first).expect("small tables can be numbered")
    }
}
