//! A ground that counts: tables in memory that count their accesses and locks, an MMU that records
//! its calls, and secondary MMUs that record theirs.

use crate::cpu::Tlbs;
use crate::ground::{Ground, Tables};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu, Shootdown};
use pageout_paging::table::{HostTable, HostTables, LINE};
use pageout_paging::{Env, Format, Notifier, Pfn, Pte, Sound, Table, VirtAddr, VirtRange};
use pageout_reclaim::{Lock, WriteGuard};
use std::collections::BTreeSet;
use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};

/// The frame of the first page table, far from the folios' frames.
pub(crate) const FIRST_TABLE: Pfn = Pfn::new(1 << 20);

/// The counts of one page table.
#[derive(Debug, Default)]
pub(crate) struct TableCounts {
    pub(crate) accesses: AtomicU64,
    pub(crate) locked: AtomicU64,
}

/// An MMU that only records.
#[derive(Debug, Default)]
pub(crate) struct MmuLog {
    pub(crate) invalidations: Mutex<Vec<Invalidate>>,
    pub(crate) completions: AtomicU64,
    /// The translations that CPUs hold.
    pub(crate) tlbs: Mutex<Tlbs>,
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
    /// True if an invalidation was issued and is not complete.
    pub(crate) incomplete: AtomicBool,
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
}

impl Mmu for MmuLog {
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

    fn invalidate(&self, what: Invalidate) {
        self.invalidations.lock().unwrap().push(what);
        self.tlbs.lock().unwrap().issue(what);
        self.incomplete.store(true, Relaxed);
    }

    fn barrier(&self, barrier: Barrier) {
        self.tlbs.lock().unwrap().complete(barrier);
        if barrier == Barrier::Complete {
            self.completions.fetch_add(1, Relaxed);
            self.incomplete.store(false, Relaxed);
        }
    }

    fn defer(&self, asid: Asid) {
        self.deferred.lock().unwrap().push(asid);
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

/// The ground. Address space `n` has tag `n` and the secondary MMU `n`.
#[derive(Debug)]
pub(crate) struct TestEnv<'a, F> {
    pub(crate) tables: HostTables<'a, F>,
    pub(crate) locks: &'a [Lock],
    pub(crate) counts: &'a [TableCounts],
    pub(crate) mmu: &'a MmuLog,
    pub(crate) secondaries: &'a [Secondary],
    pub(crate) supply: &'a Tables,
    pub(crate) ground: &'a Ground,
}

impl<'a, F: Format> TestEnv<'a, F> {
    pub(crate) fn counts_of(&self, table: Pfn) -> &'a TableCounts {
        &self.counts[table.offset_from(FIRST_TABLE) as usize]
    }
}

impl<'a, F: Format> Env for TestEnv<'a, F> {
    type Format = F;
    type Table = CountedTable<'a, F>;
    type Mmu = MmuLog;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> CountedTable<'a, F> {
        CountedTable { table: self.tables.table(frame), counts: self.counts_of(frame) }
    }

    fn mmu(&self) -> &MmuLog {
        self.mmu
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        let number = frame.offset_from(FIRST_TABLE) as usize;
        let guard = self.locks[number].try_write()?;
        self.counts[number].locked.fetch_add(1, Relaxed);
        Some(guard)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        let secondary = &self.secondaries[asid.0 as usize];
        secondary.attached.load(Relaxed).then_some(secondary as _)
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        std::thread::yield_now();
    }

    fn need_resched(&self) -> bool {
        self.mmu.resched_asked.fetch_add(1, Relaxed);
        self.mmu.need_resched.load(Relaxed)
    }
}

/// A table whose accesses are counted.
#[derive(Debug)]
pub(crate) struct CountedTable<'a, F> {
    table: HostTable<'a, F>,
    counts: &'a TableCounts,
}

impl<F> Clone for CountedTable<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for CountedTable<'_, F> {}

impl<'a, F: Format> CountedTable<'a, F> {
    fn counted(self) -> HostTable<'a, F> {
        self.counts.accesses.fetch_add(1, Relaxed);
        self.table
    }
}

impl<F: Format> Table for CountedTable<'_, F> {
    fn load(self, i: usize) -> Pte {
        self.counted().load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.counted().line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        self.counted().test_and_clear_bit(i, bit)
    }

    fn clear_bits(self, i: usize, bits: u64) {
        self.counted().clear_bits(i, bits);
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        self.counted().cas(i, old, new)
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        self.counted().swap(i, new)
    }

    fn set(self, i: usize, pte: Pte) {
        self.counted().set(i, pte);
    }

    fn prefetch_write(self, i: usize) {
        self.counted().prefetch_write(i);
    }
}
