//! A ground that counts: tables in memory that count their accesses and locks, an MMU that records
//! its calls, and secondary MMUs that record theirs.

use crate::ground::Ground;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu, Shootdown};
use pageout_paging::table::HostTables;
use pageout_paging::{
    Env, Format, Notifier, Observer, Pfn, Rules, Sound, Stage, VirtAddr, VirtRange,
};
use pageout_reclaim::WriteGuard;
use pageout_sim::{FIRST_TABLE, Operation, PageTables, Watch, WatchedTable};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};

/// The counts of one page table.
#[derive(Debug, Default)]
pub(crate) struct TableCounts {
    pub(crate) accesses: AtomicU64,
    pub(crate) locked: AtomicU64,
}

/// The abilities of the MMU, and the record of its calls.
#[derive(Debug, Default)]
pub(crate) struct MmuLog {
    pub(crate) invalidations: Mutex<Vec<Invalidate>>,
    pub(crate) completions: AtomicU64,
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

/// The ground, under the rules `R`. Address space `n` has tag `n` and the secondary MMU `n`.
pub(crate) struct TestEnv<'a, F, R = Sound> {
    pub(crate) tables: HostTables<'a, F>,
    pub(crate) counts: &'a [TableCounts],
    pub(crate) mmu: &'a MmuLog,
    pub(crate) secondaries: &'a [Secondary],
    pub(crate) supply: &'a PageTables,
    pub(crate) ground: &'a Ground,
    /// The test's own work at each moment.
    pub(crate) at: &'a (dyn Fn(Moment) + Sync),
    pub(crate) rules: PhantomData<fn() -> R>,
}

impl<'a, F: Format, R> TestEnv<'a, F, R> {
    /// Returns the same ground under other rules, with the test's own work at each moment.
    pub(crate) fn ruled<'h, S>(&'h self, at: &'h (dyn Fn(Moment) + Sync)) -> TestEnv<'h, F, S> {
        let Self { tables, counts, mmu, secondaries, supply, ground, .. } = *self;
        let rules = PhantomData;
        TestEnv { tables, counts, mmu, secondaries, supply, ground, at, rules }
    }

    pub(crate) fn counts_of(&self, table: Pfn) -> &'a TableCounts {
        &self.counts[table.offset_from(FIRST_TABLE) as usize]
    }
}

impl<'a, F: Format, R: Rules> Env for TestEnv<'a, F, R> {
    type Format = F;
    type Table = CountedTable<'a, F>;
    type Mmu = Self;
    type Rules = R;
    type Observer = Self;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> CountedTable<'a, F> {
        WatchedTable::new(self.tables.table(frame), self.counts_of(frame))
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        let guard = self.supply.lock(frame).try_write()?;
        self.counts_of(frame).locked.fetch_add(1, Relaxed);
        Some(guard)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        let secondary = &self.secondaries[asid.0 as usize];
        secondary.attached.load(Relaxed).then_some(secondary as _)
    }

    fn observer(&self) -> &Self {
        self
    }

    fn relax(&self) {
        (self.at)(Moment::Relaxes);
        std::thread::yield_now();
    }

    fn need_resched(&self) -> bool {
        self.mmu.resched_asked.fetch_add(1, Relaxed);
        self.mmu.need_resched.load(Relaxed)
    }
}

impl<F, R> Observer for TestEnv<'_, F, R> {
    fn enter(&self, _stage: Stage) {
        (self.at)(Moment::Enters);
    }
}

/// Invalidations take effect at the next barrier that completes them, on all CPUs.
impl<F: Format, R: Rules> Mmu for TestEnv<'_, F, R> {
    fn caps(&self) -> Caps {
        self.mmu.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        self.mmu.invalidations.lock().unwrap().push(what);
        self.ground.tlbs.lock().unwrap().invalidate::<F>(0, what, Shootdown::Broadcast);
    }

    fn barrier(&self, barrier: Barrier) {
        self.ground.tlbs.lock().unwrap().barrier::<F>(0, barrier);
        if barrier == Barrier::Complete {
            self.mmu.completions.fetch_add(1, Relaxed);
        }
    }

    fn defer(&self, asid: Asid) {
        self.mmu.deferred.lock().unwrap().push(asid);
    }
}

/// A table whose accesses are counted.
pub(crate) type CountedTable<'a, F> = WatchedTable<'a, F, &'a TableCounts>;

impl Watch for &TableCounts {
    fn before(self, _operation: Operation) {
        self.accesses.fetch_add(1, Relaxed);
    }
}
