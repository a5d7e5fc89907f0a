//! The engine's environment on a modelled machine. Every operation takes its price, and other tasks
//! may act before each operation that they can see.

use super::activity;
use super::kernel::{Kernel, Swap};
use super::secondary::VmNotifier;
use super::software::{KernelOp, Meter};
use super::table::{Metered, ModelTable};
use pageout_experiment::formats::Arch;
use pageout_machine::{Activity, ActivityGuard, LockGuard, LockId, Task, Time, Transfer};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::table::WatchedTable;
use pageout_paging::{Env, LockEvent, LockWord, Notifier, Observer, Order, Pfn, Sound, Stage};
use pageout_reclaim::{Backing, Frames, Io, Place, Submitted, World};
use std::cell::{Cell, RefCell};

/// A task of a modelled machine in kernel code. The engine runs unchanged: the machine prices what
/// hardware does, and [`Software`](super::software::Software) prices the instructions around it.
pub struct ModelEnv<'e, 'a, F: Arch> {
    task: &'e Task<'e, 'a, F>,
    kernel: &'e Kernel<'e>,
    meter: &'e Meter<'e>,
    /// The frame of the current stage in the folded stack.
    frame: RefCell<Option<ActivityGuard<'e, 'a, F>>>,
    /// The lock that the engine will wait for in its next pause.
    awaited: Cell<Option<LockWord>>,
    /// True if the last try of a page table's lock failed.
    awaits_table: Cell<bool>,
    /// The notifiers of virtual machines.
    notifiers: Vec<VmNotifier<'e, 'a, F>>,
}

impl<'e, 'a, F: Arch> ModelEnv<'e, 'a, F> {
    pub(super) fn new(
        kernel: &'e Kernel<'e>,
        task: &'e Task<'e, 'a, F>,
        meter: &'e Meter<'e>,
    ) -> Self {
        let (frame, awaited, awaits_table) = Default::default();
        let notifiers = kernel.vms.iter().map(|vm| VmNotifier::new(vm, task, meter)).collect();
        Self { task, kernel, meter, frame, awaited, awaits_table, notifiers }
    }

    /// Returns the task.
    pub fn task(&self) -> &'e Task<'e, 'a, F> {
        self.task
    }

    /// Returns the kernel that all tasks share.
    pub fn kernel(&self) -> &'e Kernel<'e> {
        self.kernel
    }

    /// Spends the instructions of an effort of software, `times` times.
    pub fn does(&self, effort: KernelOp, times: u64) {
        self.task.instructions(self.meter.does(effort, times));
    }

    /// Does `work` under its own frame of the folded stack.
    pub fn within<R>(&self, activity: Activity, work: impl FnOnce() -> R) -> R {
        let _frame = self.task.activity(activity);
        work()
    }

    /// Does `work` under the frame of another stage, if the engine has no stage for it.
    fn as_stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let before = self.meter.stage();
        self.show(stage);
        let result = work();
        self.show(before);
        result
    }

    /// Replaces the last stage's frame by this stage's.
    fn show(&self, stage: Stage) {
        let mut frame = self.frame.borrow_mut();
        frame.take();
        if stage != Stage::Other {
            *frame = Some(self.task.activity(activity::of_stage(stage)));
        }
    }

    /// Returns the number of 4 KiB pages in `nr` of the format's pages.
    const fn small_pages(nr: usize) -> u64 {
        (nr as u64) << (F::PAGE_SHIFT - 12)
    }

    /// Returns the time to swap one 4 KiB page to or from memory. For pages of one repeated word,
    /// writing costs as much as copying a page, which reads as much.
    fn swap_price(&self, write: bool) -> Time {
        let prices = self.task.machine().prices();
        match (self.kernel.swap == Swap::SameFilled, write) {
            (true, true) => prices.copy_page,
            (true, false) => prices.zero_page,
            (false, true) => prices.compress_page,
            (false, false) => prices.decompress_page,
        }
    }

    fn transfer(&self, io: Io, write: bool) -> Submitted {
        if let Some(journal) = self.kernel.journal {
            journal.note_transfer(io, write);
        }
        let to_device = self.kernel.swap == Swap::Device || !matches!(io.place, Place::Swap(_));
        self.within(activity::STORAGE, || {
            self.does(KernelOp::Submit, 1);
            if !to_device {
                let price = self.swap_price(write);
                self.task.spend(price * Self::small_pages(io.nr));
                return Submitted::Done;
            }
            self.request(io, write);
            Submitted::Pending
        })
    }

    /// Sends a request to the storage device.
    fn request(&self, io: Io, write: bool) {
        let bytes = (io.nr as u64) << F::PAGE_SHIFT;
        let ends = self.task.io(Transfer { bytes, write });
        self.kernel.begin_transfer(ends, io.folio, write);
    }
}

impl<F: Arch> std::fmt::Debug for ModelEnv<'_, '_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEnv").field("task", self.task).finish_non_exhaustive()
    }
}

impl<'e, 'a, F: Arch> Env for ModelEnv<'e, 'a, F> {
    type Format = F;
    type Table = ModelTable<'e, 'a, F>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = Self;
    type TableGuard<'g>
        = LockGuard<'e, 'a, F>
    where
        Self: 'g;

    #[inline]
    fn table(&self, frame: Pfn) -> ModelTable<'e, 'a, F> {
        let metered = Metered { task: self.task, meter: self.meter };
        WatchedTable::new(self.task.table(frame), metered)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<LockGuard<'e, 'a, F>> {
        let begun = self.task.own_time();
        let guard = self.task.try_lock(LockId(frame.get()));
        if let Some(locks) = self.kernel.locks {
            let time = self.task.own_time() - begun;
            let atomic = self.task.machine().prices().rmw;
            locks.note_table(self.task.id(), guard.is_some(), time, atomic);
            self.awaits_table.set(guard.is_none());
        }
        guard
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        let found = self.notifiers.iter().find(|notifier| notifier.asid() == asid);
        found.map(|notifier| notifier as &dyn Notifier)
    }

    #[inline]
    fn observer(&self) -> &Self {
        self
    }

    fn relax(&self) {
        let Some(locks) = self.kernel.locks else { return self.task.relax(LockId::ANY) };
        if let Some(lock) = self.awaited.take() {
            return locks.wait(self.task, lock);
        }
        let begun = self.task.own_time();
        self.task.relax(LockId::ANY);
        if self.awaits_table.take() {
            locks.note_table_wait(self.task.id(), self.task.own_time() - begun);
        }
    }

    fn need_resched(&self) -> bool {
        self.task.need_resched()
    }

    /// Prices are those of a lock without a queue: a core that waits tries whenever it is free.
    fn locks_in_order(&self) -> bool {
        false
    }
}

impl<F: Arch> Observer for ModelEnv<'_, '_, F> {
    fn enter(&self, stage: Stage) {
        self.task.instructions(self.meter.leave(stage));
        if stage == Stage::Unmap {
            // Linux finishes with a folio before it unmaps the next, which takes longer than an
            // invalidation (7.3.4, shrink_folio_list); the engine first unmaps 31.
            self.task.outlast_invalidations();
        }
        self.show(stage);
        self.task.instructions(self.meter.enter(stage));
    }

    fn begin_run(&self) {
        self.task.instructions(self.meter.begin_run());
    }

    fn end_run(&self) {
        self.meter.end_run();
    }

    fn lock(&self, event: LockEvent, lock: LockWord) {
        if let Some(locks) = self.kernel.locks {
            locks.note(self.task, event, lock);
            if event == LockEvent::Wait {
                self.awaited.set(Some(lock));
            }
        }
    }
}

impl<F: Arch> Mmu for ModelEnv<'_, '_, F> {
    fn caps(&self) -> Caps {
        self.task.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        self.task.instructions(self.meter.invalidates());
        self.task.invalidate(what);
    }

    fn barrier(&self, barrier: Barrier) {
        // The flush that precedes freeing has no stage.
        if barrier == Barrier::Complete && self.meter.stage() == Stage::Free {
            self.as_stage(Stage::Flush, || self.task.barrier(barrier));
        } else {
            self.task.barrier(barrier);
        }
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.task.instructions(self.meter.invalidates());
        self.task.invalidate_local(what);
    }

    fn remote(&self, asid: Asid) -> bool {
        self.task.remote(asid)
    }

    fn defer(&self, asid: Asid) {
        self.task.instructions(self.meter.invalidates());
        self.task.defer(asid);
    }
}

impl<F: Arch> Frames for ModelEnv<'_, '_, F> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        self.within(activity::FRAMES, || {
            self.does(KernelOp::Alloc, 1);
            self.does(KernelOp::AllocPage, order.nr_pages() as u64);
            self.kernel.frames.alloc(order)
        })
    }

    fn free(&self, pfn: Pfn, order: Order) {
        if let Some(journal) = self.kernel.journal {
            journal.note_free(pfn, order);
        }
        // For reclaimed folios, the parts of unmapping and of removal from their index that depend
        // on their size are counted here.
        if let Some(slots) = self.meter.slots_of(order) {
            self.as_stage(Stage::CacheRemoval, || self.does(KernelOp::Slot, slots));
            let pages = order.nr_pages() as u64;
            self.as_stage(Stage::Unmap, || self.does(KernelOp::UnmapPage, pages));
        }
        let in_flush = self.meter.stage() == Stage::Flush;
        let free = || {
            self.does(KernelOp::Free, 1);
            self.does(KernelOp::FreePage, order.nr_pages() as u64);
        };
        if in_flush {
            self.as_stage(Stage::Free, free);
        } else {
            free();
        }
        self.kernel.frames.free(pfn, order);
    }

    fn alloc_table(&self) -> Option<Pfn> {
        self.within(activity::FRAMES, || {
            self.does(KernelOp::Alloc, 1);
            self.task.spend(self.task.machine().prices().zero_page * Self::small_pages(1));
            self.kernel.frames.alloc_table()
        })
    }

    fn free_table(&self, frame: Pfn) {
        self.does(KernelOp::Free, 1);
        self.kernel.frames.free_table(frame);
    }

    fn zero(&self, _pfn: Pfn, nr: usize) {
        let price = self.task.machine().prices().zero_page;
        self.within(activity::FRAMES, || self.task.spend(price * Self::small_pages(nr)));
    }

    fn copy(&self, _from: Pfn, _to: Pfn, nr: usize) {
        let price = self.task.machine().prices().copy_page;
        self.within(activity::COPY, || self.task.spend(price * Self::small_pages(nr)));
    }

    fn free_pages(&self) -> usize {
        self.kernel.frames.free_pages()
    }
}

impl<F: Arch> Backing for ModelEnv<'_, '_, F> {
    fn read(&self, io: Io) -> Submitted {
        self.transfer(io, false)
    }

    fn write(&self, io: Io) -> Submitted {
        self.transfer(io, true)
    }
}

impl<F: Arch> World for ModelEnv<'_, '_, F> {
    fn now_ms(&self) -> u64 {
        self.kernel.frames.now_ms() + self.task.now().ps() / 1_000_000_000
    }
}
