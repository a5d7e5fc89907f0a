//! A ground that counts: tables in memory that count their accesses and locks, an MMU that records
//! its calls, and secondary MMUs that record theirs.

use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Shootdown};
use pageout_paging::table::{HostTable, Operation, Watch, WatchedTable};
use pageout_paging::{Format, LockEvent, LockWord, Notifier, Pfn, Sound, VirtAddr, VirtRange};
use pageout_sim::{Call, Cpu, FIRST_TABLE, Ground, Hardware, Memory};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::mem::take;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The counts of one page table.
#[derive(Debug, Default)]
pub(crate) struct TableCounts {
    pub(crate) accesses: AtomicU64,
    pub(crate) locked: AtomicU64,
}

/// The abilities of the MMU, and the record of its calls.
#[derive(Debug, Default)]
pub(crate) struct MmuLog {
    invalidations: Mutex<Vec<Invalidate>>,
    completions: AtomicU64,
    /// True if hardware does not set the accessed bit.
    pub(crate) software_af: AtomicBool,
    /// True if hardware sets the accessed bit of entries that lead to tables.
    pub(crate) nonleaf_af: AtomicBool,
    /// True if another task always waits for the CPU.
    pub(crate) need_resched: AtomicBool,
    /// The number of calls that asked for that.
    pub(crate) resched_asked: AtomicU64,
    /// True if deferred invalidations are interrupts.
    pub(crate) interrupts: AtomicBool,
    /// The number of CPUs, if it matters.
    pub(crate) cpus: AtomicU16,
    /// The address spaces whose flushes were deferred.
    pub(crate) deferred: Mutex<Vec<Asid>>,
    early: AtomicBool,
}

impl MmuLog {
    /// Returns the invalidations since the last call.
    pub(crate) fn invalidations(&self) -> Vec<Invalidate> {
        take(&mut *self.invalidations.lock().unwrap())
    }

    /// Returns the number of completing barriers since the last call.
    pub(crate) fn completions(&self) -> u64 {
        self.completions.swap(0, Relaxed)
    }

    /// Returns true if a write ever began while an invalidation was issued and not complete.
    pub(crate) fn wrote_too_early(&self) -> bool {
        self.early.load(Relaxed)
    }

    fn note(&self, what: Invalidate) {
        self.invalidations.lock().unwrap().push(what);
    }

    fn caps(&self) -> Caps {
        let shootdown = match self.interrupts.load(Relaxed) {
            true => Shootdown::Ipi,
            false => Shootdown::Broadcast,
        };
        let hardware_af = !self.software_af.load(Relaxed);
        let nonleaf_af = self.nonleaf_af.load(Relaxed);
        let cpus = self.cpus.load(Relaxed);
        Caps { hardware_af, nonleaf_af, shootdown, cpus, ..Caps::IDEAL }
    }
}

/// A call of a secondary MMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    ClearFlush(VirtRange),
    Clear(VirtRange),
    Test(VirtAddr),
    Invalidate(VirtRange),
}

/// The secondary MMU of one address space: the pages it holds as young, and its calls.
#[derive(Debug, Default)]
pub(crate) struct Secondary {
    pub(crate) attached: AtomicBool,
    pub(crate) young: Mutex<BTreeSet<VirtAddr>>,
    asked: Mutex<Vec<Asked>>,
}

impl Secondary {
    /// Returns the calls since the last call of this.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        take(&mut *self.asked.lock().unwrap())
    }

    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap().push(asked);
    }

    fn clear(&self, range: &VirtRange) -> bool {
        let mut young = self.young.lock().unwrap();
        let before = young.len();
        young.retain(|addr| !range.contains(addr));
        young.len() < before
    }
}

impl Notifier for Secondary {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.note(Asked::ClearFlush(range.clone()));
        self.clear(&range)
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        self.note(Asked::Clear(range.clone()));
        self.clear(&range)
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        self.note(Asked::Test(addr));
        self.young.lock().unwrap().contains(&addr)
    }

    fn invalidate(&self, range: VirtRange) {
        self.note(Asked::Invalidate(range.clone()));
        self.clear(&range);
    }
}

/// A moment at which the engine calls the ground.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// The engine enters another stage.
    Enters,
    /// The engine gives up the CPU.
    Relaxes,
}

/// The state of the calling task, and what memory does.
#[derive(Debug, Default)]
pub(crate) struct Task {
    /// True if the task is to stop.
    pub(crate) signal: AtomicBool,
    pub(crate) now_ms: AtomicU64,
    /// True if memory is compacted.
    pub(crate) compacts: AtomicBool,
    /// True if a frame that is freed may become a page table.
    pub(crate) becomes_tables: AtomicBool,
}

/// The CPU that the engine runs on. Address space `n` has tag `n` and the secondary MMU `n`.
pub(crate) struct TestCpu<'a, F> {
    pub(crate) hardware: &'a Hardware,
    pub(crate) counts: &'a [TableCounts],
    pub(crate) mmu: &'a MmuLog,
    pub(crate) secondaries: &'a [Secondary],
    pub(crate) task: &'a Task,
    /// The test's own work at each moment.
    pub(crate) at: &'a (dyn Fn(Moment) + Sync),
    /// The test's own work at each event of a lock.
    pub(crate) locks: &'a (dyn Fn(LockEvent, LockWord) + Sync),
    pub(crate) format: PhantomData<fn() -> F>,
}

/// The ground, under the rules `R`.
pub(crate) type TestEnv<'a, F, R = Sound> = Ground<TestCpu<'a, F>, R>;

impl<'a, F: Format> TestCpu<'a, F> {
    /// Returns the same ground under the rules `R`, with the test's own work at each moment.
    pub(crate) fn ruled<'h, R>(&'h self, at: &'h (dyn Fn(Moment) + Sync)) -> TestEnv<'h, F, R> {
        Ground::new(TestCpu { at, ..*self })
    }

    /// Returns the same ground, with the test's own work at each event of a lock.
    pub(crate) fn watched<'h>(
        &'h self,
        locks: &'h (dyn Fn(LockEvent, LockWord) + Sync),
    ) -> TestEnv<'h, F> {
        Ground::new(TestCpu { locks, ..*self })
    }

    pub(crate) fn counts_of(&self, table: Pfn) -> &'a TableCounts {
        &self.counts[table.offset_from(FIRST_TABLE) as usize]
    }

    /// Returns the memory and its storage, whose lock is held.
    pub(crate) fn memory(&self) -> MutexGuard<'a, Memory> {
        self.hardware.memory()
    }
}

impl<'a, F: Format> Cpu for TestCpu<'a, F> {
    type Format = F;
    type Table = WatchedTable<HostTable<'a, F>, &'a TableCounts>;

    fn hardware(&self) -> &Hardware {
        self.hardware
    }

    fn number(&self) -> usize {
        0
    }

    fn caps(&self) -> Caps {
        self.mmu.caps()
    }

    fn table(&self, frame: Pfn) -> Self::Table {
        WatchedTable::new(self.hardware.table(frame), self.counts_of(frame))
    }

    fn before(&self, call: Call) {
        match call {
            Call::Invalidate(what) | Call::InvalidateLocal(what) => self.mmu.note(what),
            Call::Barrier(Barrier::Complete) => _ = self.mmu.completions.fetch_add(1, Relaxed),
            Call::Defer(asid) => self.mmu.deferred.lock().unwrap().push(asid),
            Call::Write(_) => {
                let early = self.hardware.tlbs().is_incomplete();
                self.mmu.early.fetch_or(early, Relaxed);
            }
            Call::Enter(_) => (self.at)(Moment::Enters),
            _ => {}
        }
    }

    fn after(&self, call: Call) {
        match call {
            Call::Lock(table) => _ = self.counts_of(table).locked.fetch_add(1, Relaxed),
            Call::Free(_, order) if self.task.becomes_tables.load(Relaxed) => {
                self.hardware.tables.add_left(order.nr_pages());
            }
            _ => {}
        }
    }

    fn note_lock(&self, event: LockEvent, lock: LockWord) {
        (self.locks)(event, lock);
    }

    fn relax(&self) {
        (self.at)(Moment::Relaxes);
        std::thread::yield_now();
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        let secondary = &self.secondaries[asid.0 as usize];
        secondary.attached.load(Relaxed).then_some(secondary as _)
    }

    fn low_watermark(&self) -> Option<usize> {
        self.task.compacts.load(Relaxed).then_some(0)
    }

    fn need_resched(&self) -> bool {
        self.mmu.resched_asked.fetch_add(1, Relaxed);
        self.mmu.need_resched.load(Relaxed)
    }

    fn signal_pending(&self) -> bool {
        self.task.signal.load(Relaxed)
    }

    fn now_ms(&self) -> u64 {
        self.task.now_ms.load(Relaxed)
    }
}

impl Watch for &TableCounts {
    fn before(self, _operation: Operation, _i: usize) {
        self.accesses.fetch_add(1, Relaxed);
    }
}
