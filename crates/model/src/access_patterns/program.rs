//! The program: its accesses and faults, with what kernels do there beside the engine. They read
//! ahead where a file is used in order, wake background reclaim where memory runs low, and make a
//! program wait that dirties pages faster than they are written.

use super::AccessPatterns;
use super::setup::{Setup, page_at};
use crate::software::KernelOp;
use crate::{Kernel, ModelEnv, activity};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::{AccessPattern as Pattern, READ_AHEAD_BYTES, Use};
use pageout_machine::{Task, TaskId, Time};
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::{Mmu, Order, Pfn};
use pageout_reclaim::{
    Access, Backing, CpuCtx, Fault, FolioFlags, Frames, Io, MemcgId, NewFolio, Place, Tuning,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Pages read ahead at once (Linux: 128 KiB, VM_READAHEAD_PAGES).
pub(super) const READ_AHEAD: u64 = READ_AHEAD_BYTES / 4096;
/// Bytes of a line of memory: a program that reads a page through loads each of them.
const LINE: u64 = 64;
/// How long one waits that found no memory at all and no transfer to wait for.
pub(super) const PATIENCE: Time = Time::from_ns(1_000_000);

/// What the tasks of a run share.
pub(super) struct Shared<'r, 'a, F> {
    pub(super) setup: &'r Setup<'a, F>,
    pub(super) kernel: &'r Kernel<'r>,
    pub(super) tuning: Tuning,
    /// Pages of the file that were stored to since they were last written.
    pub(super) dirty: RefCell<BTreeSet<u64>>,
    /// Pages that are being written.
    pub(super) writing: Cell<u64>,
    /// Reclaim met dirty pages: they are to be written, few as they may be.
    pub(super) flush: Cell<bool>,
    /// The program is at its end.
    pub(super) over: Cell<bool>,
    pub(super) tasks: Tasks,
}

/// Who is to be woken; each tells so when it begins.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) program: Cell<Option<TaskId>>,
    pub(super) reclaim: Cell<Option<TaskId>>,
    pub(super) flusher: Cell<Option<TaskId>>,
}

/// What a program came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    /// From its first access to its last.
    pub(super) time: Time,
    /// Pages used.
    pub(super) uses: u64,
    pub(super) faults: u64,
    /// Pages that came back to memory after a last use that went through a stale entry.
    pub(super) mistakes: u64,
    /// Times that it waited until dirty pages were written.
    pub(super) throttled: u64,
    /// Times that it found no memory, and nothing that could be reclaimed.
    pub(super) stalls: u64,
}

impl<'r, 'a, F: Arch> Shared<'r, 'a, F> {
    pub(super) fn new(setup: &'r Setup<'a, F>, kernel: &'r Kernel<'r>, tuning: Tuning) -> Self {
        Self {
            setup,
            kernel,
            tuning,
            dirty: RefCell::default(),
            writing: Cell::default(),
            flush: Cell::default(),
            over: Cell::default(),
            tasks: Tasks::default(),
        }
    }

    /// Above so many dirty pages flushers begin; twice as many make who dirties them wait (Linux:
    /// dirty_background_ratio 10 %, dirty_ratio 20 %).
    pub(super) fn background(&self) -> u64 {
        self.setup.memory / 10
    }

    /// Pages of memory that are free.
    pub(super) fn free(&self) -> u64 {
        self.setup.ground.supply.free_pages() as u64
    }

    pub(super) fn wake(task: &Task<'_, 'a, F>, whom: &Cell<Option<TaskId>>) {
        if let Some(whom) = whom.get() {
            task.wake(whom);
        }
    }
}

/// The program in the middle of a run.
pub(super) struct Program<'p, 'r, 'a, F: Arch> {
    of: &'p AccessPatterns,
    shared: &'p Shared<'r, 'a, F>,
    task: &'p Task<'p, 'a, F>,
    cpu: CpuCtx,
    tally: Tally,
    /// Pages whose last use aging could not see.
    unseen: Vec<bool>,
    reads_ahead: bool,
    /// The first page that was not read ahead yet, and that whose use asks for the next ones.
    ahead: u64,
    marker: u64,
}

impl<'p, 'r, 'a, F: Arch> Program<'p, 'r, 'a, F> {
    /// Uses pages in this order, a word of each, to fill memory. Then its TLB is empty, as that of
    /// a program that is about to begin.
    pub(super) fn warm_up(
        of: &'p AccessPatterns,
        shared: &'p Shared<'r, 'a, F>,
        task: &'p Task<'p, 'a, F>,
        pages: &[u32],
    ) {
        let mut program = Self::new(of, shared, task);
        pages.iter().for_each(|page| program.access(u64::from(*page), 0));
        task.invalidate_local(Invalidate::AddressSpace(Asid(0)));
        program.end();
    }

    /// Uses pages in this order.
    pub(super) fn run(
        of: &'p AccessPatterns,
        shared: &'p Shared<'r, 'a, F>,
        task: &'p Task<'p, 'a, F>,
        pages: &[u32],
    ) -> Tally {
        let mut program = Self::new(of, shared, task);
        program.reads_ahead = of.pattern == Pattern::Seq;
        let lines = if program.reads_ahead { F::PAGE_SIZE / LINE } else { 1 };
        let begun = task.now();
        for page in pages {
            (0..lines).for_each(|line| program.access(u64::from(*page), line * LINE));
        }
        program.tally.time = task.now().since(begun);
        program.tally.uses = pages.len() as u64;
        program.end()
    }

    fn new(
        of: &'p AccessPatterns,
        shared: &'p Shared<'r, 'a, F>,
        task: &'p Task<'p, 'a, F>,
    ) -> Self {
        task.load_mm(Asid(0), shared.setup.root);
        shared.tasks.program.set(Some(task.id()));
        Self {
            of,
            shared,
            task,
            cpu: CpuCtx::new(),
            tally: Tally::default(),
            unseen: vec![false; of.pages() as usize],
            reads_ahead: false,
            ahead: 0,
            marker: u64::MAX,
        }
    }

    fn end(self) -> Tally {
        self.shared.over.set(true);
        Shared::wake(self.task, &self.shared.tasks.reclaim);
        Shared::wake(self.task, &self.shared.tasks.flusher);
        self.tally
    }

    fn access(&mut self, page: u64, offset: u64) {
        let store = self.of.access == Use::Write;
        let at = page_at::<F>(page).add(offset);
        loop {
            let hidden = self.task.hidden_accesses();
            if self.task.access(at, store).is_ok() {
                self.unseen[page as usize] = self.task.hidden_accesses() > hidden;
                return;
            }
            self.fault(page, store);
        }
    }

    fn fault(&mut self, page: u64, store: bool) {
        let Shared { setup, kernel, .. } = self.shared;
        self.tally.faults += 1;
        kernel.on(self.task, |env| {
            let fault = env.within(activity::FAULT, || {
                env.does(KernelOp::Fault, 1);
                self.read_around(env, page);
                let access = if store { Access::Write } else { Access::Read };
                let (maps, tuning, at) =
                    (&setup.ground.maps, self.shared.tuning, page_at::<F>(page));
                maps.on(env, &mut self.cpu, tuning).handle_fault(setup.mm, at, access)
            });
            match fault {
                Fault::Done(_) if store => self.dirtied(env, page),
                Fault::Done(_) => {}
                Fault::Pending(folio) => {
                    self.watch_memory();
                    if let Some(ends) = kernel.transfer_of(folio) {
                        self.task.wait_until(ends);
                    }
                    kernel.end_transfers(env, &setup.ground.maps, &mut self.cpu);
                }
                Fault::OutOfMemory(_) => self.wait_for_memory(env),
                failed => panic!("an access to page {page} cannot be resolved: {failed:?}"),
            }
        });
        self.watch_memory();
    }

    /// Wakes background reclaim if memory runs low.
    fn watch_memory(&self) {
        if self.shared.free() < self.shared.setup.watermarks.low {
            Shared::wake(self.task, &self.shared.tasks.reclaim);
        }
    }

    /// Nothing is free and nothing can be reclaimed, since all is dirty or about to be read or
    /// written: waits until a transfer ends.
    fn wait_for_memory(&mut self, env: &ModelEnv<'_, 'a, F>) {
        let Shared { setup, kernel, tasks, .. } = self.shared;
        self.tally.stalls += 1;
        self.shared.flush.set(true);
        Shared::wake(self.task, &tasks.reclaim);
        Shared::wake(self.task, &tasks.flusher);
        let until = kernel.next_transfer().unwrap_or(Time::ZERO);
        let until = if until > self.task.now() { until } else { self.task.now() + PATIENCE };
        self.task.wait_until(until);
        kernel.end_transfers(env, &setup.ground.maps, &mut self.cpu);
    }

    /// A page may be stored to from now on. With too many dirty ones, waits until some are written
    /// (Linux: balance_dirty_pages).
    fn dirtied(&mut self, env: &ModelEnv<'_, 'a, F>, page: u64) {
        let shared = self.shared;
        shared.dirty.borrow_mut().insert(page);
        let nr = || shared.dirty.borrow().len() as u64 + shared.writing.get();
        if nr() > shared.background() {
            Shared::wake(self.task, &shared.tasks.flusher);
        }
        if nr() > 2 * shared.background() {
            self.tally.throttled += 1;
            while nr() > 2 * shared.background() {
                self.task.block("write-back");
            }
            shared.kernel.end_transfers(env, &shared.setup.ground.maps, &mut self.cpu);
        }
    }

    /// Whether the file's page is in memory, or on its way.
    fn is_there(&mut self, env: &ModelEnv<'_, 'a, F>, page: u64) -> bool {
        let (maps, file) = (&self.shared.setup.ground.maps, self.shared.setup.file);
        let engine = &mut maps.on(env, &mut self.cpu, self.shared.tuning);
        let found = engine.filemap_get_folio(file, page);
        found.map(|id| engine.release(id, 1)).is_some()
    }

    /// Before a fault on a page is handled: notes who comes back, and reads ahead if the file is
    /// used in order. A page that is not there is read with those that follow; where one is used
    /// that was read ahead last, so are the next (Linux 7.3.4, page_cache_sync_ra and
    /// page_cache_async_ra, once their window has its full size).
    fn read_around(&mut self, env: &ModelEnv<'_, 'a, F>, page: u64) {
        let there = self.is_there(env, page);
        if !there && !self.reads_ahead {
            self.comes_back(page);
        } else if !there {
            (self.marker, self.ahead) = (page, page);
            self.read_ahead(env);
        } else if self.reads_ahead && (self.marker..self.ahead).contains(&page) {
            self.marker = self.ahead;
            self.read_ahead(env);
        }
    }

    /// Asks for the pages that follow, as one request where none of them is there.
    fn read_ahead(&mut self, env: &ModelEnv<'_, 'a, F>) {
        let end = (self.ahead + READ_AHEAD).min(self.of.pages());
        env.plugged(|| {
            while self.ahead < end {
                if !self.is_there(env, self.ahead) && !self.read_new(env, self.ahead) {
                    break;
                }
                self.ahead += 1;
            }
        });
    }

    /// Starts to read a page that is not there; false if there is no memory for it, after one try
    /// to get some.
    fn read_new(&mut self, env: &ModelEnv<'_, 'a, F>, page: u64) -> bool {
        let (maps, file) = (&self.shared.setup.ground.maps, self.shared.setup.file);
        let (cpu, tuning) = (&mut self.cpu, self.shared.tuning);
        let engine = &mut maps.on(env, cpu, tuning);
        let one = Order::default();
        let mut again = || -> Option<Pfn> {
            engine.try_to_free_pages();
            env.alloc(one)
        };
        let Some(pfn) = env.alloc(one).or_else(&mut again) else {
            return false;
        };
        let flags = FolioFlags::READING;
        let new = NewFolio { pfn, order: one, mapping: file, index: page, flags };
        let id = engine.add_folio(new).expect("a folio for every frame");
        engine.charge(id, MemcgId::ROOT).expect("there is no limit");
        let shadow = engine.filemap_add_folio(id).expect("no one else reads the file");
        if let Some(shadow) = shadow {
            engine.workingset_refault(id, shadow);
        }
        engine.lru_add(id);
        // The reference that it was made with is the transfer's.
        let _ = env.read(Io { folio: id, place: Place::File(file, page), pfn, nr: 1 });
        self.comes_back(page);
        true
    }

    fn comes_back(&mut self, page: u64) {
        let unseen = &mut self.unseen[page as usize];
        self.tally.mistakes += u64::from(std::mem::take(unseen));
    }
}
