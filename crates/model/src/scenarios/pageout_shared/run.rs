//! A single run. In turn, a process reads its memory and pages it out; before it is paged out,
//! other processes read the same memory.

use super::PageoutShared;
use crate::{Between, Kernel, Model, ModelRun, Program, Reported, Swap, activity, reported};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::metrics::machine::{INSTRUCTION_TIME, TABLE_TIME};
use pageout_experiment::scenarios::metrics::pageout_shared::{
    BATCH_SHARE, CPU_SHARE, EACH, FLUSHING, REPETITION, STOLEN, UNMAP_SHARE, WRITTEN, YOUNG_SHARE,
};
use pageout_experiment::scenarios::metrics::reclaim_file::{INSTRUCTIONS, TABLE_OPERATIONS};
use pageout_experiment::scenarios::{Content, Out};
use pageout_experiment::variant::Variant;
use pageout_host::layout::{Arena, Ground, MAP_START};
use pageout_machine::{CoreId, Machine, Task, TaskId, TaskSpec, Time};
use pageout_paging::mmu::Asid;
use pageout_paging::{Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{
    Access, Advice, Counter, CpuCtx, Fault, FaultKind, MappingKind, MemcgId, MmId, NewVma,
    ReclaimRequest, Tuning, VmFlags,
};
use pageout_record::schema::Metric;
use std::cell::{Cell, RefCell};

const SIZED: &str = "the arena is sized for the scenario";

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of repetitions.
    times: f64,
    /// The time of each repetition, in order.
    each: Vec<Time>,
    /// 4K pages written to swap.
    written: u64,
    /// Instructions of all tasks, and their time.
    instructions: (u64, Time),
    /// The reports before and after the repetitions.
    pub(super) between: Between,
}

/// The memory, filled by the first process and shared with the others by forking: it is not shmem.
struct Memory<'g, 'a, F> {
    ground: &'g Ground<'a, F>,
    memcg: MemcgId,
    spaces: Vec<(MmId, Pfn)>,
    range: VirtRange,
}

impl<'g, 'a, F: Arch> Memory<'g, 'a, F> {
    fn fill(of: &PageoutShared, ground: &'g Ground<'a, F>, tuning: Tuning) -> Self {
        let Ground { env, maps, supply } = ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, tuning);
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        let mapping = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        let range = MAP_START..MAP_START.add(of.bytes);
        let flags = VmFlags::READ | VmFlags::WRITE;
        let new = NewVma { mm, range: range.clone(), flags, mapping, pgoff: 0 };
        engine.mmap(&new).expect(SIZED);
        let mut memory = Self { ground, memcg, spaces: vec![(mm, root)], range };
        for at in memory.pages() {
            let fault = engine.handle_fault(mm, at, Access::Write);
            assert_eq!(fault, Fault::Done(FaultKind::Minor), "{SIZED}");
        }
        for process in 1..of.processes {
            let root = supply.alloc_table().expect(SIZED);
            let child = engine.fork(mm, root, Asid(process)).expect(SIZED);
            memory.spaces.push((child, root));
        }
        memory.spaces.iter().for_each(|(mm, _)| maps.lru_gen_use_mm(*mm).expect("it lives"));
        memory
    }

    fn pages(&self) -> impl Iterator<Item = VirtAddr> + use<F> {
        let (start, bytes) = (self.range.start, self.range.end.get() - self.range.start.get());
        (0..bytes >> F::PAGE_SHIFT).map(move |page| start.add(page << F::PAGE_SHIFT))
    }
}

/// The point at which the process that pages out meets the readers.
struct Meeting {
    readers: usize,
    host: Cell<Option<TaskId>>,
    guests: RefCell<Vec<TaskId>>,
    arrived: Cell<usize>,
    round: Cell<u32>,
    over: Cell<bool>,
}

impl Meeting {
    fn of(readers: usize) -> Self {
        let (host, guests, arrived, round, over) = Default::default();
        Self { readers, host, guests, arrived, round, over }
    }

    /// Notes that a reader has read.
    fn arrive<F: Arch>(&self, task: &Task<'_, '_, F>) {
        self.arrived.set(self.arrived.get() + 1);
        if let Some(host) = self.host.get().filter(|_| self.arrived.get() == self.readers) {
            task.wake(host);
        }
    }

    /// Waits, as a reader, for the round after `seen`; `None` if there is none.
    fn next<F: Arch>(&self, task: &Task<'_, '_, F>, seen: u32) -> Option<u32> {
        while self.round.get() == seen {
            task.block("the next repetition");
        }
        (!self.over.get()).then(|| self.round.get())
    }

    /// Waits until all readers have read.
    fn gather<F: Arch>(&self, task: &Task<'_, '_, F>) {
        self.host.set(Some(task.id()));
        while self.arrived.get() < self.readers {
            task.block("those who read");
        }
        self.arrived.set(0);
    }

    /// Lets all readers go on.
    fn open<F: Arch>(&self, task: &Task<'_, '_, F>) {
        self.round.set(self.round.get() + 1);
        self.guests.borrow().iter().for_each(|guest| task.wake(*guest));
    }
}

struct Run<'r, 'a, F: Arch> {
    out: Out,
    memory: &'r Memory<'r, 'a, F>,
    kernel: &'r Kernel<'r>,
    tuning: Tuning,
    meeting: &'r Meeting,
}

impl<'r, 'a, F: Arch> Run<'r, 'a, F> {
    fn program(&self, process: usize) -> Program<'r, 'a> {
        let (maps, mm) = (&self.memory.ground.maps, self.memory.spaces[process].0);
        Program { maps, kernel: self.kernel, mm, tuning: self.tuning }
    }

    /// Returns process 0, on core 0, which pages out.
    fn paging_out(
        &self,
        name: &str,
        times: u32,
        each: &'r RefCell<Vec<Time>>,
    ) -> TaskSpec<'r, 'a, F> {
        let (memory, meeting, kernel) = (self.memory, self.meeting, self.kernel);
        let (out, tuning, program) = (self.out, self.tuning, self.program(0));
        let bytes = memory.range.end.get() - memory.range.start.get();
        let page_out = move |task: &Task<'_, 'a, F>, cpu: &mut CpuCtx| {
            let (maps, (mm, _)) = (&memory.ground.maps, memory.spaces[0]);
            kernel.on(task, |env| match out {
                Out::Madvise => env.within(activity::MADVISE, || {
                    let engine = &mut maps.on(env, cpu, tuning);
                    let done = engine.madvise(mm, &memory.range, Advice::PageOut);
                    done.expect("the process maps the range");
                }),
                // If it got less than it asked for, the pages written show that.
                Out::MemoryReclaim => env.within(activity::MEMORY_RECLAIM, || {
                    let request = ReclaimRequest::of(bytes);
                    let _ = maps.on(env, cpu, tuning).memory_reclaim(memory.memcg, request);
                }),
            });
        };
        let body = move |task: &Task<'_, 'a, F>| {
            task.load_mm(Asid(0), memory.spaces[0].1);
            let mut cpu = CpuCtx::new();
            meeting.gather(task);
            for _ in 0..times {
                let begun = task.now();
                meeting.open(task);
                for at in memory.pages() {
                    program.access(task, &mut cpu, at, false);
                }
                meeting.gather(task);
                page_out(task, &mut cpu);
                each.borrow_mut().push(task.now().since(begun));
            }
            meeting.over.set(true);
            meeting.open(task);
        };
        TaskSpec::new(name, body).on(CoreId(0))
    }

    /// Returns another process, which reads all of the memory in every repetition.
    fn reading(&self, name: &str, process: usize, core: CoreId) -> TaskSpec<'r, 'a, F> {
        let (memory, meeting, program) = (self.memory, self.meeting, self.program(process));
        let body = move |task: &Task<'_, 'a, F>| {
            task.load_mm(Asid(process as u32), memory.spaces[process].1);
            meeting.guests.borrow_mut().push(task.id());
            let mut cpu = CpuCtx::new();
            let mut seen = meeting.round.get();
            meeting.arrive(task);
            while let Some(round) = meeting.next(task, seen) {
                seen = round;
                for at in memory.pages() {
                    program.access(task, &mut cpu, at, false);
                }
                meeting.arrive(task);
            }
        };
        TaskSpec::new(format!("{name} reader {process}"), body).on(core)
    }

    fn tasks(
        &self,
        (name, times, cores): (&str, u32, u16),
        each: &'r RefCell<Vec<Time>>,
    ) -> Vec<TaskSpec<'r, 'a, F>> {
        let readers = (1..self.memory.spaces.len())
            .map(|process| self.reading(name, process, CoreId(process as u16 % cores)));
        [self.paging_out(name, times, each)].into_iter().chain(readers).collect()
    }
}

/// Runs the scenario: one repetition that is not counted, and then the others.
pub(super) fn run<F: Arch>(
    of: &PageoutShared,
    model: &Model,
    variant: Variant,
    one: ModelRun,
) -> Outcome {
    let mut arena = Arena::new::<F>(&of.limits::<F>(), of.tables::<F>());
    let ground = arena.ground::<F>();
    ground.switch_with(variant.lru, of.platform.shape().caps::<F>());
    let tuning = variant.tuning(F::FLUSH);
    let memory = Memory::fill(of, &ground, tuning);
    let machine = Machine::new(model.setup(&of.platform, one), ground.env.tables());
    let swap = match of.content {
        Content::Same => Swap::SameFilled,
        Content::Mixed => Swap::Compressed,
    };
    let kernel = Kernel::new::<F>(ground.supply, swap);
    let cores = machine.shape().cores;
    let readers = of.processes as usize - 1;
    let (first, rest) = (Meeting::of(readers), Meeting::of(readers));
    let run = |meeting| Run { out: of.out, memory: &memory, kernel: &kernel, tuning, meeting };
    let (warm, each) = (RefCell::default(), RefCell::default());
    let before = machine.run(run(&first).tasks(("first", 1, cores), &warm));
    let vmstat = ground.maps.memcg(memory.memcg).expect("it is online").vmstat();
    let swapped = vmstat.get(Counter::Pswpout);
    let instructions = kernel.done().instructions();
    let after = machine.run(run(&rest).tasks(("pageout", of.times, cores), &each));
    let written = vmstat.get(Counter::Pswpout) - swapped;
    let instructions = kernel.done().instructions() - instructions;
    Outcome {
        times: f64::from(of.times),
        each: each.take(),
        written: written << (F::PAGE_SHIFT - 12),
        instructions: (instructions, machine.prices().instruction * instructions),
        between: Between { before, after },
    }
}

impl Outcome {
    /// Returns the time of a repetition, in microseconds.
    pub fn repetition(&self) -> f64 {
        self.each.iter().copied().sum::<Time>().ns() / 1e3 / self.times
    }

    /// Returns the time in which tasks invalidate, or wait until others have, in microseconds a
    /// repetition.
    pub fn flushing(&self) -> f64 {
        self.between.flushing(None).ns() / 1e3 / self.times
    }

    /// Returns the share of all tasks' CPU time in which they invalidate, or wait until others
    /// have, in per cent.
    pub fn flush_share(&self) -> f64 {
        self.share(self.between.flushing(None))
    }

    /// Returns that share while entries are unmapped.
    pub fn unmap_share(&self) -> f64 {
        self.share(self.between.flushing(Some("unmap")))
    }

    /// Returns `time` as a share of the tasks' CPU time, in per cent.
    fn share(&self, time: Time) -> f64 {
        100.0 * time.ns() / self.between.time(|_| true).ns()
    }
}

/// The metrics that have an interval over draws.
const REPORTED: [Reported<Outcome>; 7] = [
    (REPETITION, Outcome::repetition),
    (FLUSHING, Outcome::flushing),
    (STOLEN, |one| one.between.stolen().ns() / 1e3 / one.times),
    (CPU_SHARE, Outcome::flush_share),
    (UNMAP_SHARE, Outcome::unmap_share),
    (BATCH_SHARE, |one| one.share(one.between.flushing(Some("flush")))),
    (YOUNG_SHARE, |one| one.share(one.between.flushing(Some("young")))),
];

/// Returns the metrics of runs with nominal prices and of those with drawn ones.
pub(super) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let one = &nominal[0];
    let mut metrics = reported(&REPORTED, nominal, drawn);
    metrics.extend(one.between.metrics(EACH, one.times));
    let (instructions, time) = one.instructions;
    let table = one.between.time(|path| path.last() == Some(&"table"));
    for (metric, time) in [(INSTRUCTION_TIME, time), (TABLE_TIME, table)] {
        metrics.push(metric.per(REPETITION.unit).one(time.ns() / 1e3 / one.times));
    }
    let table = one.between.count("table_operations");
    for (metric, count) in [
        (INSTRUCTIONS.per(EACH), instructions),
        (TABLE_OPERATIONS.per(EACH), table),
        (WRITTEN, one.written),
    ] {
        metrics.push(metric.one(count as f64 / one.times));
    }
    metrics
}
