//! The ground under other rules, with hooks at moments that a test chooses.

use crate::env::{CountedTable, MmuLog, TestEnv};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Format, Notifier, Observer, Order, Pfn, Rules, Stage};
use pageout_reclaim::{Backing, Frames, Io, Submitted, World, WriteGuard};
use std::marker::PhantomData;

/// A moment at which the engine calls the ground.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// The engine enters another stage.
    Enters,
    /// The engine gives up the CPU.
    Relaxes,
}

/// A ground under the rules `R`.
pub(crate) struct Ruled<'e, 'a, F, R> {
    env: &'e TestEnv<'a, F>,
    at: &'e (dyn Fn(Moment) + Sync),
    rules: PhantomData<fn() -> R>,
}

impl<'e, 'a, F, R> Ruled<'e, 'a, F, R> {
    pub(crate) fn new(env: &'e TestEnv<'a, F>) -> Self {
        Self::with(env, &|_| {})
    }

    /// Makes such a ground that calls `at` at each moment.
    pub(crate) fn with(env: &'e TestEnv<'a, F>, at: &'e (dyn Fn(Moment) + Sync)) -> Self {
        Self { env, at, rules: PhantomData }
    }
}

impl<'a, F: Format, R: Rules> Env for Ruled<'_, 'a, F, R> {
    type Format = F;
    type Table = CountedTable<'a, F>;
    type Mmu = MmuLog;
    type Rules = R;
    type Observer = Self;
    type TableGuard<'g>
        = WriteGuard<'g>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> CountedTable<'a, F> {
        self.env.table(frame)
    }

    fn mmu(&self) -> &MmuLog {
        self.env.mmu()
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.env.try_lock_table(frame)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        self.env.notifier(asid)
    }

    fn observer(&self) -> &Self {
        self
    }

    fn relax(&self) {
        (self.at)(Moment::Relaxes);
        self.env.relax();
    }

    fn need_resched(&self) -> bool {
        self.env.need_resched()
    }
}

impl<F, R> Observer for Ruled<'_, '_, F, R> {
    fn enter(&self, _stage: Stage) {
        (self.at)(Moment::Enters);
    }
}

impl<F: Format, R: Rules> Frames for Ruled<'_, '_, F, R> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.env.alloc(order)
    }

    fn free(&self, pfn: Pfn, order: Order) {
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

impl<F: Format, R: Rules> Backing for Ruled<'_, '_, F, R> {
    fn read(&self, io: Io) -> Submitted {
        self.env.read(io)
    }

    fn write(&self, io: Io) -> Submitted {
        self.env.write(io)
    }
}

impl<F: Format, R: Rules> World for Ruled<'_, '_, F, R> {
    fn signal_pending(&self) -> bool {
        self.env.signal_pending()
    }

    fn now_ms(&self) -> u64 {
        self.env.now_ms()
    }
}
