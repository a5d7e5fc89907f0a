//! Memory, storage and page tables.

use crate::cpu::CPUS;
use crate::env::TestEnv;
use pageout_paging::{Format, Order, Pfn, Rules};
use pageout_reclaim::{Backing, Frames, FreeBlocks, Io, Submitted, World};
use pageout_sim::{Levels, Memory, Tlbs};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory, and the state of the calling task.
#[derive(Debug)]
pub(crate) struct Ground {
    memory: Mutex<Memory>,
    /// The translations that CPUs hold.
    pub(crate) tlbs: Mutex<Tlbs>,
    early: AtomicBool,
    /// True if the calling task is to stop.
    pub(crate) signal: AtomicBool,
    pub(crate) now_ms: AtomicU64,
    /// True if memory is compacted.
    pub(crate) compacts: AtomicBool,
    /// True if a frame that is freed may become a page table.
    pub(crate) becomes_tables: AtomicBool,
}

impl Ground {
    pub(crate) fn new(frames: usize) -> Self {
        Self {
            memory: Mutex::new(Memory::new(Pfn::new(0)..Pfn::new(frames as u64))),
            tlbs: Mutex::new(Tlbs::new(CPUS, Levels::Named)),
            early: AtomicBool::new(false),
            signal: AtomicBool::new(false),
            now_ms: AtomicU64::new(0),
            compacts: AtomicBool::new(false),
            becomes_tables: AtomicBool::new(false),
        }
    }

    /// Returns true if a write ever began while an invalidation was issued and not complete.
    pub(crate) fn wrote_too_early(&self) -> bool {
        self.early.load(Relaxed)
    }
}

impl<'a, F, R> TestEnv<'a, F, R> {
    /// Returns the memory and its storage, whose lock is held.
    pub(crate) fn memory(&self) -> MutexGuard<'a, Memory> {
        self.ground.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Format, R: Rules> Frames for TestEnv<'_, F, R> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.memory().alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        let freed = self.memory().free(pfn, order);
        freed.expect("frames are freed once");
        if self.ground.becomes_tables.load(Relaxed) {
            self.supply.add_left(order.nr_pages());
        }
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.supply.alloc()
    }

    fn free_table(&self, frame: Pfn) {
        assert!(self.supply.is_empty::<F>(frame), "a table that is freed is empty");
        self.supply.free(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.memory().zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.memory().copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.memory().free_pages()
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.ground.compacts.load(Relaxed).then_some(self as _)
    }
}

impl<F: Format, R: Rules> FreeBlocks for TestEnv<'_, F, R> {
    fn frames(&self) -> Range<Pfn> {
        self.memory().range()
    }

    fn block_at(&self, pfn: Pfn) -> Option<Order> {
        self.memory().block_at(pfn)
    }

    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool {
        self.memory().alloc_at(pfn, order)
    }

    fn has_block(&self, order: Order) -> bool {
        self.memory().has_block(order)
    }

    fn low_watermark(&self) -> usize {
        0
    }
}

impl<F: Format, R: Rules> Backing for TestEnv<'_, F, R> {
    fn read(&self, io: Io) -> Submitted {
        self.memory().submit(false, io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.ground.early.fetch_or(self.ground.tlbs.lock().unwrap().is_incomplete(), Relaxed);
        self.memory().submit(true, io)
    }
}

impl<F: Format, R: Rules> World for TestEnv<'_, F, R> {
    fn signal_pending(&self) -> bool {
        self.ground.signal.load(Relaxed)
    }

    fn now_ms(&self) -> u64 {
        self.ground.now_ms.load(Relaxed)
    }
}
