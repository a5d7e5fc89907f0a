//! The ground of a program under a memory limit: counts what is done to tables, and notes transfers
//! and frames given back.

use crate::counting::{Counter, CountingEnv, CountingTable};
use crate::formats::Arch;
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Notifier, Order, Pfn, Sound};
use pageout_reclaim::{Backing, Frames, Io, Submitted, World, WriteGuard};
use std::cell::{Cell, RefCell};

/// What the engine did with frames and storage.
#[derive(Debug, Default)]
pub(super) struct Journal {
    read: Cell<u64>,
    written: Cell<u64>,
    freed: RefCell<Vec<(Pfn, Order)>>,
}

impl Journal {
    /// Pages read from storage so far.
    pub(super) fn read(&self) -> u64 {
        self.read.get()
    }

    /// Pages written to storage so far.
    pub(super) fn written(&self) -> u64 {
        self.written.get()
    }

    /// The frames given back since this was asked last.
    pub(super) fn take_freed(&self) -> impl Iterator<Item = Pfn> {
        let runs = self.freed.take().into_iter();
        runs.flat_map(|(first, order)| (0..order.nr_pages() as u64).map(move |k| first.add(k)))
    }
}

/// A [`CountingEnv`] that keeps a [`Journal`]. Transfers are complete at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotingWorld<'a, F> {
    pub(super) env: CountingEnv<'a, F>,
    pub(super) journal: &'a Journal,
}

impl<'a, F: Arch> Env for NotingWorld<'a, F> {
    type Format = F;
    type Table = CountingTable<'a, F>;
    type Mmu = Counter;
    type Rules = Sound;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> CountingTable<'a, F> {
        self.env.table(frame)
    }

    fn mmu(&self) -> &Counter {
        self.env.mmu()
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.env.try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.env.notifier(asid)
    }

    fn relax(&self) {
        self.env.relax();
    }
}

impl<F: Arch> Frames for NotingWorld<'_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.env.alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.journal.freed.borrow_mut().push((pfn, order));
        self.env.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.env.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.env.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.env.zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.env.copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.env.free_pages()
    }
}

impl<F: Arch> Backing for NotingWorld<'_, F> {
    fn read(&self, io: Io) -> Submitted {
        self.journal.read.set(self.journal.read.get() + io.nr as u64);
        self.env.read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.journal.written.set(self.journal.written.get() + io.nr as u64);
        self.env.write(io)
    }
}

impl<F: Arch> World for NotingWorld<'_, F> {
    fn now_ms(&self) -> u64 {
        self.env.now_ms()
    }
}
