//! Ground `host`: tables in ordinary memory, real atomics, no TLB to maintain, frames that are
//! numbers.

use crate::frames::HostFrames;
use pageout_experiment::formats::Arch;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::table::{HostTable, HostTables};
use pageout_paging::{Env, Notifier, Observer, Order, Pfn, Sound};
use pageout_reclaim::{Backing, Frames, Io, Lock, Submitted, World, WriteGuard};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

/// The frame number of the first page table. Tables are far above the folios' frames, which begin
/// at 0, and within the addresses of every format.
pub const FIRST_TABLE: Pfn = Pfn::new(1 << 30);

/// The timed environment. It counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct HostEnv<'a, F, O = ()> {
    tables: HostTables<'a, F>,
    locks: &'a [Lock],
    frames: &'a HostFrames,
    mmu: NoTlb<F>,
    observer: O,
}

impl<'a, F: Arch> HostEnv<'a, F> {
    /// Returns an environment over tables in `memory`, with a lock each; `frames` supplies the
    /// frames for folios and tables.
    ///
    /// # Panics
    /// If there are fewer locks than tables.
    pub fn new(memory: &'a [AtomicU64], locks: &'a [Lock], frames: &'a HostFrames) -> Self {
        let tables = HostTables::new(memory, FIRST_TABLE);
        assert!(locks.len() >= tables.len(), "a lock for each of {} tables", tables.len());
        Self { tables, locks, frames, mmu: NoTlb(PhantomData), observer: () }
    }

    /// Returns the page tables.
    pub fn tables(&self) -> HostTables<'a, F> {
        self.tables
    }

    /// Returns the same ground, on which `observer` sees the stages.
    pub fn observed<O: Observer>(self, observer: O) -> HostEnv<'a, F, O> {
        let Self { tables, locks, frames, mmu, .. } = self;
        HostEnv { tables, locks, frames, mmu, observer }
    }
}

impl<'a, F: Arch, O: Observer> Env for HostEnv<'a, F, O> {
    type Format = F;
    type Table = HostTable<'a, F>;
    type Mmu = NoTlb<F>;
    type Rules = Sound;
    type Observer = O;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    #[inline]
    fn table(&self, frame: Pfn) -> HostTable<'a, F> {
        self.tables.table(frame)
    }

    fn mmu(&self) -> &NoTlb<F> {
        &self.mmu
    }

    #[inline]
    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST_TABLE) as usize].try_write()
    }

    #[inline]
    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    #[inline]
    fn observer(&self) -> &O {
        &self.observer
    }

    fn relax(&self) {
        std::hint::spin_loop();
    }

    /// Threads are preempted while they wait.
    fn locks_in_order(&self) -> bool {
        false
    }
}

impl<F: Arch, O: Observer> Frames for HostEnv<'_, F, O> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.frames.alloc(order)
    }

    #[inline]
    fn free(&self, pfn: Pfn, order: Order) {
        self.frames.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.frames.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.frames.free_table(frame);
    }

    /// Does nothing, since frames have no memory.
    fn zero(&self, _pfn: Pfn, _nr: usize) {}

    /// Does nothing, since frames have no memory.
    fn copy(&self, _from: Pfn, _to: Pfn, _nr: usize) {}

    fn free_pages(&self) -> usize {
        self.frames.free_pages()
    }
}

/// Storage whose transfers are complete at once, since there is nothing to transfer.
impl<F: Arch, O: Observer> Backing for HostEnv<'_, F, O> {
    fn read(&self, _io: Io) -> Submitted {
        Submitted::Done
    }

    fn write(&self, _io: Io) -> Submitted {
        Submitted::Done
    }
}

impl<F: Arch, O: Observer> World for HostEnv<'_, F, O> {
    fn now_ms(&self) -> u64 {
        self.frames.now_ms()
    }
}

/// An MMU without a TLB, for the hardware that the ideal walker plays. Invalidations and barriers
/// cost nothing here and are not executed.
#[derive(Clone, Copy, Debug)]
pub struct NoTlb<F>(PhantomData<F>);

impl<F: Arch> Mmu for NoTlb<F> {
    #[inline]
    fn caps(&self) -> Caps {
        F::CAPS
    }

    #[inline]
    fn invalidate(&self, _what: Invalidate) {}

    #[inline]
    fn barrier(&self, _barrier: Barrier) {}
}
