//! The counting environment: the same operations as those of `host`, each counted. Counting runs
//! are separate and never timed.

use crate::env::HostEnv;
use crate::journal::Journal;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::metrics::TABLES;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::table::{HostTable, LINE, Operation, Watch, WatchedTable};
use pageout_paging::{Env, Notifier, Order, Pfn, Sound};
use pageout_reclaim::{Backing, Frames, Io, Submitted, World, WriteGuard};
use pageout_record::schema::Metric;
use std::cell::Cell;

/// The operations on tables and TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Entries read: one for each load, eight for each line.
    pub entries_visited: u64,
    /// Atomic read-modify-writes of entries.
    pub atomics: u64,
    /// The number of invalidations issued.
    pub invalidations: u64,
    /// The number of barriers that wait for invalidations.
    pub barriers: u64,
}

impl Counts {
    /// Adds the counts of a pass that was made that many times.
    pub(crate) fn add(&mut self, pass: Self, times: u64) {
        self.entries_visited += pass.entries_visited * times;
        self.atomics += pass.atomics * times;
        self.invalidations += pass.invalidations * times;
        self.barriers += pass.barriers * times;
    }

    /// Returns the counts of a pass over `pages` pages, divided by the pages.
    pub fn metrics(&self, pages: f64) -> Vec<Metric> {
        let counts = [self.entries_visited, self.atomics, self.invalidations, self.barriers];
        let all = TABLES.iter().zip(counts);
        all.map(|(metric, count)| metric.one(count as f64 / pages)).collect()
    }
}

/// A [`HostEnv`] that counts in a [`Counter`].
#[derive(Clone, Copy, Debug)]
pub struct CountingEnv<'a, F> {
    host: HostEnv<'a, F>,
    counter: &'a Counter,
    journal: Option<&'a Journal>,
}

impl<'a, F: Arch> CountingEnv<'a, F> {
    /// Returns an environment that counts the operations on `host`'s tables in `counter`.
    pub fn new(host: HostEnv<'a, F>, counter: &'a Counter) -> Self {
        Self { host, counter, journal: None }
    }

    /// Adds a journal to the environment.
    #[must_use]
    pub fn with_journal(self, journal: &'a Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }
}

impl<'a, F: Arch> Env for CountingEnv<'a, F> {
    type Format = F;
    type Table = CountingTable<'a, F>;
    type Mmu = Counter;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> CountingTable<'a, F> {
        WatchedTable::new(self.host.table(frame), self.counter)
    }

    fn mmu(&self) -> &Counter {
        self.counter
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.host.try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.host.notifier(asid)
    }

    fn observer(&self) -> &() {
        self.host.observer()
    }

    fn relax(&self) {
        self.host.relax();
    }
}

impl<F: Arch> Frames for CountingEnv<'_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.host.alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        if let Some(journal) = self.journal {
            journal.note_free(pfn, order);
        }
        self.host.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.host.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.host.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.host.zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.host.copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.host.free_pages()
    }
}

impl<F: Arch> Backing for CountingEnv<'_, F> {
    fn read(&self, io: Io) -> Submitted {
        if let Some(journal) = self.journal {
            journal.note_transfer(io, false);
        }
        self.host.read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        if let Some(journal) = self.journal {
            journal.note_transfer(io, true);
        }
        self.host.write(io)
    }
}

impl<F: Arch> World for CountingEnv<'_, F> {
    fn now_ms(&self) -> u64 {
        self.host.now_ms()
    }
}

/// A counter, which also plays the MMU whose maintenance is counted.
#[derive(Debug)]
pub struct Counter {
    caps: Caps,
    counts: Cell<Counts>,
}

impl Counter {
    /// Returns a counter at zero; the MMU is that of the format's architecture.
    pub fn of<F: Arch>() -> Self {
        Self { caps: F::CAPS, counts: Cell::default() }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    fn count(&self, add: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
    }
}

impl Mmu for Counter {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn invalidate(&self, _what: Invalidate) {
        self.count(|counts| counts.invalidations += 1);
    }

    fn barrier(&self, barrier: Barrier) {
        if barrier == Barrier::Complete {
            self.count(|counts| counts.barriers += 1);
        }
    }
}

/// A table whose accesses are counted.
pub type CountingTable<'a, F> = WatchedTable<HostTable<'a, F>, &'a Counter>;

impl Watch for &Counter {
    fn before(self, operation: Operation, _i: usize) {
        self.count(|counts| match operation {
            Operation::Load => counts.entries_visited += 1,
            Operation::Line => counts.entries_visited += LINE as u64,
            Operation::Change => counts.atomics += 1,
            Operation::Set(_) | Operation::Prefetch => {}
        });
    }
}
