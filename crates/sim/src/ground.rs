//! The engine's world on the simulated machine.

use crate::{Memory, PageTables, Tlbs};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::table::HostTable;
use pageout_paging::{
    Env, Format, LockEvent, LockWord, Mmu, Notifier, Observer, Order, Pfn, Rules, Sound, Stage,
    Table,
};
use pageout_reclaim::{Backing, Frames, FreeBlocks, Io, NodeId, Submitted, World, WriteGuard};
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The hardware that all CPUs share: page tables, memory with its storage, and the CPUs' TLBs.
#[derive(Debug)]
pub struct Hardware {
    /// The page tables.
    pub tables: PageTables,
    memory: Mutex<Memory>,
    tlbs: Mutex<Tlbs>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hardware {
    /// Puts the hardware together.
    pub const fn new(tables: PageTables, memory: Memory, tlbs: Tlbs) -> Self {
        Self { tables, memory: Mutex::new(memory), tlbs: Mutex::new(tlbs) }
    }

    /// Returns the table in `frame`, of the format `F`.
    pub fn table<F: Format>(&self, frame: Pfn) -> HostTable<'_, F> {
        self.tables.tables().table(frame)
    }

    /// Returns the memory, whose lock is held.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    /// Returns the TLBs, whose lock is held.
    pub fn tlbs(&self) -> MutexGuard<'_, Tlbs> {
        lock(&self.tlbs)
    }
}

/// A call of the engine to its world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes the lock of a page table, if it is free.
    Lock(Pfn),
    /// Issues an invalidation.
    Invalidate(Invalidate),
    /// Invalidates in this CPU's TLB.
    InvalidateLocal(Invalidate),
    /// Orders memory and invalidations.
    Barrier(Barrier),
    /// Defers the flush of an address space.
    Defer(Asid),
    /// Allocates frames. Once they are allocated it has the first of them.
    Alloc(Order, Option<Pfn>),
    /// Frees frames.
    Free(Pfn, Order),
    /// Frees a page table.
    FreeTable(Pfn),
    /// Copies frames.
    Copy {
        /// The first frame to copy.
        from: Pfn,
        /// The first frame to copy to.
        to: Pfn,
        /// The number of frames.
        nr: usize,
    },
    /// Starts to read from storage.
    Read(Io),
    /// Starts to write to storage.
    Write(Io),
    /// Enters a stage.
    Enter(Stage),
}

/// A CPU that the engine runs on, and a test's own work at each of the engine's calls.
pub trait Cpu {
    /// The format of the page tables.
    type Format: Format;
    /// The handle to a page table.
    type Table: Table;

    /// Returns the hardware.
    fn hardware(&self) -> &Hardware;

    /// Returns the number of the CPU.
    fn number(&self) -> usize;

    /// Returns the abilities of the CPU.
    fn caps(&self) -> Caps;

    /// Returns the handle of the table in `frame`.
    fn table(&self, frame: Pfn) -> Self::Table;

    /// Called before a call takes effect.
    fn before(&self, _call: Call) {}

    /// Called after a call has taken effect: not after a lock that was not free, an allocation that
    /// failed, or a barrier that completed no invalidation.
    fn after(&self, _call: Call) {}

    /// Called when some of the content of a write was taken, and the rest was not.
    fn within_write(&self) {}

    /// Takes note of an event of one of the engine's locks.
    fn note_lock(&self, _event: LockEvent, _lock: LockWord) {}

    /// Takes note of a call that the engine must not make. The default panics.
    fn wrong(&self, found: String) {
        panic!("{found}");
    }

    /// Waits for a lock.
    fn relax(&self);

    /// Returns true if invalidations stay on this CPU, which is a mistake.
    fn keeps_invalidations(&self) -> bool {
        false
    }

    /// Returns true if another CPU may hold translations of an address space, as far as this CPU
    /// knows.
    fn remote(&self, _asid: Asid) -> bool {
        true
    }

    /// Returns the secondary MMUs of an address space, if there are any.
    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    /// Returns the number of pages that should stay free while memory is compacted, if it is.
    fn low_watermark(&self) -> Option<usize> {
        None
    }

    /// Returns true if another task waits for the CPU.
    fn need_resched(&self) -> bool {
        false
    }

    /// Returns true if the calling task is to stop.
    fn signal_pending(&self) -> bool {
        false
    }

    /// Returns the time in milliseconds.
    fn now_ms(&self) -> u64 {
        0
    }
}

/// The engine's world as a CPU has it, under the rules `R`.
#[derive(Debug)]
pub struct Ground<C, R = Sound> {
    cpu: C,
    rules: PhantomData<fn() -> R>,
}

impl<C: Cpu, R> Ground<C, R> {
    /// Returns the world of a CPU.
    pub const fn new(cpu: C) -> Self {
        Self { cpu, rules: PhantomData }
    }

    /// Makes a call that takes effect in any case.
    fn call<T>(&self, call: Call, effect: impl FnOnce() -> T) -> T {
        self.cpu.before(call);
        let done = effect();
        self.cpu.after(call);
        done
    }
}

impl<C, R> Deref for Ground<C, R> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.cpu
    }
}

impl<C: Cpu, R: Rules> Env for Ground<C, R> {
    type Format = C::Format;
    type Table = C::Table;
    type Mmu = Self;
    type Rules = R;
    type Observer = Self;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> C::Table {
        self.cpu.table(frame)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.cpu.before(Call::Lock(frame));
        let guard = self.cpu.hardware().tables.lock(frame).try_write()?;
        self.cpu.after(Call::Lock(frame));
        Some(guard)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.cpu.notifier(asid)
    }

    fn relax(&self) {
        self.cpu.relax();
    }

    fn need_resched(&self) -> bool {
        self.cpu.need_resched()
    }

    fn observer(&self) -> &Self {
        self
    }
}

impl<C: Cpu, R> Observer for Ground<C, R> {
    fn enter(&self, stage: Stage) {
        self.cpu.before(Call::Enter(stage));
    }

    fn lock(&self, event: LockEvent, lock: LockWord) {
        self.cpu.note_lock(event, lock);
    }
}

impl<C: Cpu, R> Mmu for Ground<C, R> {
    fn caps(&self) -> Caps {
        self.cpu.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        if self.cpu.keeps_invalidations() {
            return self.invalidate_local(what);
        }
        self.call(Call::Invalidate(what), || {
            let (cpu, by) = (self.cpu.number(), self.cpu.caps().shootdown);
            self.cpu.hardware().tlbs().invalidate::<C::Format>(cpu, what, by);
        });
    }

    fn barrier(&self, barrier: Barrier) {
        self.cpu.before(Call::Barrier(barrier));
        let completes = self.cpu.hardware().tlbs().barrier::<C::Format>(self.cpu.number(), barrier);
        if completes {
            self.cpu.after(Call::Barrier(barrier));
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.call(Call::InvalidateLocal(what), || {
            self.cpu.hardware().tlbs().invalidate_local::<C::Format>(self.cpu.number(), what);
        });
    }

    fn remote(&self, asid: Asid) -> bool {
        self.cpu.remote(asid)
    }

    fn defer(&self, asid: Asid) {
        self.call(Call::Defer(asid), || {});
    }
}

impl<C: Cpu, R> Frames for Ground<C, R> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.cpu.before(Call::Alloc(order, None));
        let pfn = self.cpu.hardware().memory().alloc(order)?;
        self.cpu.after(Call::Alloc(order, Some(pfn)));
        Some(pfn)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.call(Call::Free(pfn, order), || {
            let freed = self.cpu.hardware().memory().free(pfn, order);
            if let Err(twice) = freed {
                self.cpu.wrong(format!("frame {} is freed twice", twice.get()));
            }
        });
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.cpu.hardware().tables.alloc()
    }

    fn free_table(&self, frame: Pfn) {
        self.call(Call::FreeTable(frame), || {
            let tables = &self.cpu.hardware().tables;
            if !tables.is_empty::<C::Format>(frame) {
                self.cpu.wrong(format!("{frame:?} is freed, a table that maps something"));
            }
            tables.free(frame);
        });
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.cpu.hardware().memory().zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.call(Call::Copy { from, to, nr }, || self.cpu.hardware().memory().copy(from, to, nr));
    }

    fn free_pages(&self) -> usize {
        self.cpu.hardware().memory().free_pages()
    }

    fn free_pages_on(&self, node: NodeId) -> usize {
        self.cpu.hardware().memory().free_pages_on(node)
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.cpu.low_watermark().map(|_| self as _)
    }
}

impl<C: Cpu, R> FreeBlocks for Ground<C, R> {
    fn frames(&self) -> Range<Pfn> {
        self.cpu.hardware().memory().range()
    }

    fn block_at(&self, pfn: Pfn) -> Option<Order> {
        self.cpu.hardware().memory().block_at(pfn)
    }

    fn alloc_at(&self, pfn: Pfn, order: Order) -> bool {
        self.cpu.hardware().memory().alloc_at(pfn, order)
    }

    fn has_block(&self, order: Order) -> bool {
        self.cpu.hardware().memory().has_block(order)
    }

    fn low_watermark(&self) -> usize {
        self.cpu.low_watermark().unwrap_or_default()
    }
}

impl<C: Cpu, R> Backing for Ground<C, R> {
    fn read(&self, io: Io) -> Submitted {
        self.call(Call::Read(io), || self.cpu.hardware().memory().submit(false, io))
    }

    fn write(&self, io: Io) -> Submitted {
        self.call(Call::Write(io), || {
            let transfer = self.cpu.hardware().memory().begin(true, io);
            self.cpu.within_write();
            self.cpu.hardware().memory().answer(transfer)
        })
    }
}

impl<C: Cpu, R: Rules> World for Ground<C, R> {
    fn signal_pending(&self) -> bool {
        self.cpu.signal_pending()
    }

    fn now_ms(&self) -> u64 {
        self.cpu.now_ms()
    }
}
