//! The ground of a program under a memory limit: notes transfers, and frames given back.

use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Notifier, Order, Pfn, Stage};
use pageout_reclaim::{Backing, Frames, Io, Submitted, World};
use std::cell::{Cell, RefCell};

/// What the engine did with frames and storage.
#[derive(Debug, Default)]
pub struct Journal {
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

/// Any ground, of which a [`Journal`] is kept.
#[derive(Debug)]
pub struct NotingWorld<'w, W> {
    /// The ground.
    pub world: &'w W,
    /// Where it is kept.
    pub journal: &'w Journal,
}

impl<W: World> Env for NotingWorld<'_, W> {
    type Format = W::Format;
    type Table = W::Table;
    type Mmu = W::Mmu;
    type Rules = W::Rules;
    type TableGuard<'g>
        = W::TableGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> W::Table {
        self.world.table(frame)
    }

    fn mmu(&self) -> &W::Mmu {
        self.world.mmu()
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<W::TableGuard<'_>> {
        self.world.try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.world.notifier(asid)
    }

    fn relax(&self) {
        self.world.relax();
    }

    fn need_resched(&self) -> bool {
        self.world.need_resched()
    }

    fn enter(&self, stage: Stage) {
        self.world.enter(stage);
    }

    fn check_run<R>(&self, check: impl FnOnce() -> R) -> R {
        self.world.check_run(check)
    }
}

impl<W: World> Frames for NotingWorld<'_, W> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.world.alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
        self.journal.freed.borrow_mut().push((pfn, order));
        self.world.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.world.alloc_table()
    }

    fn free_table(&self, frame: Pfn) {
        self.world.free_table(frame);
    }

    fn zero(&self, pfn: Pfn, nr: usize) {
        self.world.zero(pfn, nr);
    }

    fn copy(&self, from: Pfn, to: Pfn, nr: usize) {
        self.world.copy(from, to, nr);
    }

    fn free_pages(&self) -> usize {
        self.world.free_pages()
    }
}

impl<W: World> Backing for NotingWorld<'_, W> {
    fn read(&self, io: Io) -> Submitted {
        self.journal.read.set(self.journal.read.get() + io.nr as u64);
        self.world.read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.journal.written.set(self.journal.written.get() + io.nr as u64);
        self.world.write(io)
    }
}

impl<W: World> World for NotingWorld<'_, W> {
    fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }
}
