//! What a thread of the benchmark does, step by step.

use super::outcome::Sample;
use super::setup::{ASID, Areas, SIZED, Setup};
use crate::{Kernel, ModelEnv, Program, Zone, activity};
use pageout_experiment::formats::Arch;
use pageout_machine::{Task, TaskId, Transfer};
use pageout_paging::walk::{self, Descent};
use pageout_paging::{Env, Format, Level, Order, Table, VirtAddr, VirtRange};
use pageout_reclaim::{
    CpuCtx, FolioFlags, Frames, MappingId, MappingKind, NewFolio, NewVma, Thp, Tuning, VmFlags,
};
use std::cell::RefCell;

/// Pages that a kernel reads ahead of a program that reads in order: 128 KiB (Linux 7.3.4,
/// VM_READAHEAD_PAGES).
const AHEAD: u64 = 128 << 10;

/// The page of a slot that the probe asks for.
const PROBED: u64 = 64;

/// What the threads share.
pub(super) struct Threads<'r, 'a, F: Arch> {
    pub(super) setup: &'r Setup<'a, F>,
    pub(super) kernel: &'r Kernel<'r>,
    pub(super) tuning: Tuning,
    pub(super) barrier: Barrier,
    pub(super) samples: RefCell<Vec<Sample>>,
}

/// One thread.
pub(super) struct Thread<'r, 't, 'a, F: Arch> {
    of: &'r Threads<'r, 'a, F>,
    task: &'r Task<'t, 'a, F>,
    cpu: CpuCtx,
}

impl<'r, 't, 'a, F: Arch> Thread<'r, 't, 'a, F> {
    /// A thread that runs as this task.
    pub(super) fn new(of: &'r Threads<'r, 'a, F>, task: &'r Task<'t, 'a, F>) -> Self {
        task.load_mm(ASID, of.setup.root);
        Self { of, task, cpu: CpuCtx::new() }
    }

    /// All that it does.
    pub(super) fn run(&mut self, areas: &Areas) {
        self.map_anon(&areas.first);
        self.fill(&areas.first, Thp::Never);
        for hole in areas.holes() {
            self.munmap(&hole);
        }
        self.map_anon(&areas.second);
        self.map_file(areas);
        self.read(areas);
        self.of.barrier.wait(self.task);
        for slot in areas.slots() {
            let begun = self.task.now();
            self.store(slot.start, Thp::Always);
            let huge = self.is_there(slot.start.add(PROBED << F::PAGE_SHIFT));
            self.fill(&slot, Thp::Always);
            let took = self.task.now().since(begun);
            self.of.samples.borrow_mut().push(Sample { took, huge });
        }
        for area in [&areas.file, &areas.first, &areas.second] {
            self.munmap(area);
        }
    }

    /// Does `work` in kernel code.
    fn on<R>(&mut self, work: impl FnOnce(&ModelEnv<'_, 'a, F>, &mut CpuCtx) -> R) -> R {
        let cpu = &mut self.cpu;
        self.of.kernel.on(self.task, |env| work(env, cpu))
    }

    fn map(&mut self, range: &VirtRange, flags: VmFlags, mapping: MappingId, pgoff: u64) {
        let Threads { setup: Setup { ground, mm, .. }, tuning, .. } = self.of;
        let new = NewVma { mm: *mm, range: range.clone(), flags, mapping, pgoff };
        self.on(|env, cpu| ground.maps.on(env, cpu, *tuning).mmap(&new)).expect(SIZED);
    }

    fn map_anon(&mut self, range: &VirtRange) {
        let Threads { setup, tuning, .. } = self.of;
        let mapping = self
            .on(|env, cpu| setup.ground.maps.on(env, cpu, *tuning).add_mapping(MappingKind::Anon));
        self.map(range, VmFlags::READ | VmFlags::WRITE, mapping.expect(SIZED), 0);
    }

    fn map_file(&mut self, areas: &Areas) {
        let flags = VmFlags::READ | VmFlags::SHARED;
        self.map(&areas.file, flags, self.of.setup.file, areas.offset >> F::PAGE_SHIFT);
    }

    fn munmap(&mut self, range: &VirtRange) {
        let Threads { setup: Setup { ground, mm, .. }, tuning, .. } = self.of;
        let unmapped = self.on(|env, cpu| {
            env.within(activity::MUNMAP, || {
                ground.maps.on(env, cpu, *tuning).munmap_range(*mm, range)
            })
        });
        unmapped.expect(SIZED);
    }

    /// An access, with the faults it takes.
    fn access(&mut self, at: VirtAddr, store: bool, thp: Thp) {
        let Threads { setup, kernel, tuning, .. } = self.of;
        let tuning = Tuning { thp, ..*tuning };
        let program = Program { maps: &setup.ground.maps, kernel, mm: setup.mm, tuning };
        program.access(self.task, &mut self.cpu, at, store);
    }

    fn store(&mut self, at: VirtAddr, thp: Thp) {
        self.access(at, true, thp);
    }

    /// Stores to all of a range, in order: an access a page, and what a kernel takes to fill a page
    /// with zeros for the rest of it.
    fn fill(&mut self, range: &VirtRange, thp: Thp) {
        let page = self.task.machine().prices().zero_page * (F::PAGE_SIZE >> 12);
        for at in pages::<F>(range) {
            self.store(at, thp);
            self.task.spend(page);
        }
    }

    /// Reads a byte of every page of the file's part.
    fn read(&mut self, areas: &Areas) {
        for (k, at) in pages::<F>(&areas.file).enumerate() {
            let done = (k as u64) << F::PAGE_SHIFT;
            if done.is_multiple_of(AHEAD) {
                let left = areas.file.end.get() - at.get();
                self.read_ahead(areas.offset + done, left.min(AHEAD));
            }
            self.access(at, false, Thp::Never);
        }
    }

    /// Reads some bytes of the file into the page cache, and waits for them (Linux 7.3.4,
    /// page_cache_ra_unbounded; the engine itself reads what is asked for alone). Where memory is
    /// short the rest is left to faults.
    fn read_ahead(&mut self, from: u64, bytes: u64) {
        let file = self.of.setup.file;
        let ends = self.on(|env, cpu| {
            env.within(activity::READ_AHEAD, || {
                let first = from >> F::PAGE_SHIFT;
                let indices = first..first + (bytes >> F::PAGE_SHIFT);
                let read = indices.take_while(|index| self.of.add_page(env, cpu, file, *index));
                let bytes = (read.count() as u64) << F::PAGE_SHIFT;
                env.task().io(Transfer { bytes, write: false })
            })
        });
        self.task.wait_until(ends);
    }

    /// Whether a page is mapped (mincore).
    fn is_there(&mut self, at: VirtAddr) -> bool {
        let root = self.of.setup.root;
        self.on(|env, _| {
            env.within(activity::MINCORE, || {
                let Descent::PteTable(frame, _) = walk::descend(env, root, at) else {
                    return false;
                };
                F::is_present(env.table(frame).load(F::index(Level::Pte, at)))
            })
        })
    }
}

impl<'r, 'a, F: Arch> Threads<'r, 'a, F> {
    /// Where frames come from.
    pub(super) fn zone(&self) -> &'r Zone {
        self.kernel.zone().expect("the scenario's kernel has one")
    }

    /// Puts a page of the file into the page cache; false if there is no frame for it.
    fn add_page(
        &self,
        env: &ModelEnv<'_, 'a, F>,
        cpu: &mut CpuCtx,
        mapping: MappingId,
        index: u64,
    ) -> bool {
        let maps = &self.setup.ground.maps;
        let engine = &mut maps.on(env, cpu, self.tuning);
        let order = Order::default();
        let Some(pfn) = env.alloc(order) else {
            return false;
        };
        let new = NewFolio { pfn, order, mapping, index, flags: FolioFlags::UPTODATE };
        let id = engine.add_folio(new).expect(SIZED);
        let memcg = maps.mm(self.setup.mm).memcg();
        engine.charge(id, memcg).expect("the root cgroup has no limit");
        engine.filemap_add_folio(id).expect("each thread reads a part of its own, once");
        engine.lru_add(id);
        engine.release(id, 1);
        true
    }
}

fn pages<F: Format>(range: &VirtRange) -> impl Iterator<Item = VirtAddr> {
    let start = range.start;
    let nr = (range.end.get() - start.get()) >> F::PAGE_SHIFT;
    (0..nr).map(move |page| start.add(page << F::PAGE_SHIFT))
}

/// Where threads wait for one another.
pub(super) struct Barrier {
    missing: RefCell<u32>,
    waiting: RefCell<Vec<TaskId>>,
}

impl Barrier {
    /// For so many.
    pub(super) fn new(threads: u32) -> Self {
        Self { missing: RefCell::new(threads), waiting: RefCell::default() }
    }

    fn wait<F: Format>(&self, task: &Task<'_, '_, F>) {
        *self.missing.borrow_mut() -= 1;
        if *self.missing.borrow() > 0 {
            self.waiting.borrow_mut().push(task.id());
            task.block("the other threads");
            return;
        }
        for other in self.waiting.take() {
            task.wake(other);
        }
    }
}
