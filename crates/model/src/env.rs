//! The engine's environment on a modelled machine: every operation takes its price, and others may
//! act before each that they can see.

use super::activity;
use super::kernel::{Kernel, Swap};
use super::secondary::VmNotifier;
use super::software::{KernelOp, Meter};
use super::table::ModelTable;
use super::zone::Zone;
use pageout_experiment::formats::Arch;
use pageout_machine::{Activity, ActivityGuard, LockGuard, LockId, Task, Time, Transfer};
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate, Mmu};
use pageout_paging::{Env, Notifier, Observer, Order, Pfn, Sound, Stage};
use pageout_reclaim::{Backing, Frames, FreeBlocks, Io, Place, Submitted, World};
use std::cell::{Cell, RefCell};

/// The largest order that is not costly to allocate (PAGE_ALLOC_COSTLY_ORDER).
const COSTLY_ORDER: u8 = 3;

/// What a task of a modelled machine does in the kernel. The engine runs unchanged: the machine
/// prices what hardware does, and [`Software`](super::software::Software) the instructions around
/// it.
pub struct ModelEnv<'e, 'a, F: Arch> {
    task: &'e Task<'e, 'a, F>,
    kernel: &'e Kernel<'e>,
    meter: &'e Meter<'e>,
    /// The stage's frame of the folded stack.
    frame: RefCell<Option<ActivityGuard<'e, 'a, F>>>,
    /// When the last turn of waiting ended, and how long it was.
    waited: Cell<(Time, u64)>,
    /// Transfers that are put off, and whether they write.
    plug: RefCell<Option<Vec<(Io, bool)>>>,
    /// Of virtual machines.
    notifiers: Vec<VmNotifier<'e, 'a, F>>,
}

impl<'e, 'a, F: Arch> ModelEnv<'e, 'a, F> {
    pub(super) fn new(
        kernel: &'e Kernel<'e>,
        task: &'e Task<'e, 'a, F>,
        meter: &'e Meter<'e>,
    ) -> Self {
        let (frame, waited, plug) = (RefCell::default(), Cell::default(), RefCell::default());
        let notifiers = kernel.vms.iter().map(|vm| VmNotifier::new(vm, task, meter)).collect();
        Self { task, kernel, meter, frame, waited, plug, notifiers }
    }

    /// The task.
    pub fn task(&self) -> &'e Task<'e, 'a, F> {
        self.task
    }

    /// What all tasks share.
    pub fn kernel(&self) -> &'e Kernel<'e> {
        self.kernel
    }

    /// Software does something so many times.
    pub fn does(&self, effort: KernelOp, times: u64) {
        self.task.instructions(self.meter.does(effort, times));
    }

    /// Does `work` under a frame of its own within the folded stack.
    pub fn within<R>(&self, activity: Activity, work: impl FnOnce() -> R) -> R {
        let _frame = self.task.activity(activity);
        work()
    }

    /// Does `work` under the frame of another stage, where the engine has no stage of its own for
    /// it.
    fn as_stage<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let before = self.meter.stage();
        self.show(stage);
        let result = work();
        self.show(before);
        result
    }

    /// Puts a stage's frame in the place of the last one's.
    fn show(&self, stage: Stage) {
        let mut frame = self.frame.borrow_mut();
        frame.take();
        if stage != Stage::Other {
            *frame = Some(self.task.activity(activity::of_stage(stage)));
        }
    }

    /// The zone.
    ///
    /// # Panics
    /// If frames come from elsewhere.
    pub(super) fn zone(&self) -> &'e Zone {
        self.kernel.zone.as_ref().expect("frames that get fragmented are a zone's")
    }

    /// A run of the zone's. When memory gets low, who reclaims in the background is woken, but not
    /// for huge pages: who asks for those reclaims alone (Linux 7.3.4, vma_thp_gfp_mask with
    /// `defrag=madvise`).
    fn alloc_in_zone(&self, order: Order) -> Option<Pfn> {
        let zone = self.zone();
        let found = zone.alloc(order);
        if zone.is_low() && order.get() <= COSTLY_ORDER {
            zone.take_sleeper().into_iter().for_each(|task| self.task.wake(task));
        }
        found
    }

    /// Pages of 4 KiB in `nr` of the format's.
    const fn small_pages(nr: usize) -> u64 {
        (nr as u64) << (F::PAGE_SHIFT - 12)
    }

    /// The time of one 4 KiB page of swap in memory. Reading a page is priced as copying it, which
    /// reads as much.
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
        if let Some(plug) = self.plug.borrow_mut().as_mut().filter(|_| to_device) {
            plug.push((io, write));
            return Submitted::Pending;
        }
        self.within(activity::STORAGE, || {
            self.does(KernelOp::Submit, 1);
            if !to_device {
                let price = self.swap_price(write);
                self.task.spend(price * Self::small_pages(io.nr));
                return Submitted::Done;
            }
            self.request(&[(io, write)]);
            Submitted::Pending
        })
    }

    /// One request to the storage device, for transfers of one direction that follow one another.
    fn request(&self, run: &[(Io, bool)]) {
        let (_, write) = run[0];
        let pages: usize = run.iter().map(|(io, _)| io.nr).sum();
        let bytes = (pages as u64) << F::PAGE_SHIFT;
        let ends = self.task.io(Transfer { bytes, write });
        for (io, _) in run {
            self.kernel.begin_transfer(ends, io.folio, write);
        }
    }

    /// Does `work` and puts off the transfers that it starts to its end: then those that follow one
    /// another in a file go to the storage device as one request (Linux: a plug).
    ///
    /// # Panics
    /// If it is within another.
    pub fn plugged<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = self.plug.replace(Some(Vec::new()));
        assert!(before.is_none(), "plugs are not nested");
        let result = work();
        let all = self.plug.take().expect("it was set above");
        for run in all.chunk_by(follows) {
            self.within(activity::STORAGE, || {
                self.does(KernelOp::Submit, 1);
                self.request(run);
            });
        }
        result
    }
}

/// Whether a transfer goes on where another ends, in a file and in the same direction.
fn follows((one, writes): &(Io, bool), (next, write): &(Io, bool)) -> bool {
    match (one.place, next.place) {
        (Place::File(file, index), Place::File(of, then)) => {
            writes == write && file == of && then == index + one.nr as u64
        }
        _ => false,
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
        ModelTable::new(self.task.table(frame), self.task, self.meter)
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<LockGuard<'e, 'a, F>> {
        self.task.try_lock(LockId(frame.get()))
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
        let (ended, turns) = self.waited.get();
        let goes_on = ended == self.task.now();
        let turns = if goes_on { (turns * 2).min(self.kernel.patience) } else { 1 };
        self.task.relax_for(LockId::ANY, turns);
        self.waited.set((self.task.now(), turns));
    }

    fn need_resched(&self) -> bool {
        self.task.need_resched()
    }
}

impl<F: Arch> Observer for ModelEnv<'_, '_, F> {
    fn enter(&self, stage: Stage) {
        self.task.instructions(self.meter.leave(stage));
        if stage == Stage::Unmap {
            // Linux is through with a folio before it unmaps the next, which takes longer than an
            // invalidation (7.3.4, shrink_folio_list); the engine unmaps 31 and then goes on.
            self.task.outlast_invalidations();
        }
        self.show(stage);
        self.task.instructions(self.meter.enter(stage));
    }

    fn check_run<R>(&self, check: impl FnOnce() -> R) -> R {
        self.task.instructions(self.meter.begin_run());
        let result = check();
        self.meter.end_run();
        result
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
        // The flush that precedes freeing has no stage of its own.
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
            match &self.kernel.zone {
                Some(_) => self.alloc_in_zone(order),
                None => self.kernel.frames.alloc(order),
            }
        })
    }

    fn free(&self, pfn: Pfn, order: Order) {
        if let Some(journal) = self.kernel.journal {
            journal.note_free(pfn, order);
        }
        // Of folios reclaimed, what their size adds to unmapping them and taking them out of their
        // index is told here.
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
        match &self.kernel.zone {
            Some(zone) => zone.free(pfn, order),
            None => self.kernel.frames.free(pfn, order),
        }
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
        self.kernel.zone.as_ref().map_or_else(|| self.kernel.frames.free_pages(), Zone::free_pages)
    }

    fn blocks(&self) -> Option<&dyn FreeBlocks> {
        self.kernel.zone.is_some().then_some(self as &dyn FreeBlocks)
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
