//! A single run: all tasks fault their pages in, in the order of addresses.

use super::setup::{Memory, ground, limits, pages, tables};
use crate::{
    Between, Kernel, LockTally, Locks, Model, ModelRun, Program, Reported, Swap, activity, reported,
};
use pageout_experiment::formats::Arch;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::RECLAIMED;
use pageout_experiment::scenarios::metrics::faults::{
    EACH, FAULT, LINES_MOVED, RANKS, RECLAIM_OF_PAGE, TAKEN, THROUGHPUT, THROUGHPUT_OF_CORE, TRIES,
    WAITS, WORDS,
};
use pageout_experiment::scenarios::metrics::machine::{INSTRUCTION_TIME, TABLE_TIME};
use pageout_experiment::scenarios::metrics::reclaim_file::{INSTRUCTIONS, TABLE_OPERATIONS};
use pageout_experiment::scenarios::{Beside, FaultedIn, Faults};
use pageout_experiment::variant::Variant;
use pageout_host::layout::Arena;
use pageout_machine::{CoreId, Machine, Task, TaskSpec, Time};
use pageout_reclaim::{CpuCtx, ReclaimRequest, Tuning};
use pageout_record::schema::Metric;
use std::cell::Cell;
use std::ops::Range;

/// The pages of a request to `memory.reclaim`, as kernels reclaim in one batch (Linux 7.3.4,
/// SWAP_CLUSTER_MAX).
const REQUEST: u64 = 32;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    tasks: u32,
    /// The faults of all tasks.
    pub(super) faults: u64,
    /// The sum of the times of all tasks that fault.
    sum: Time,
    /// The time from the first start to the last end of such a task.
    whole: Time,
    /// The uses of locks by those tasks: of each of [`RANKS`], and of all others.
    pub(super) locks: [LockTally; RANKS.len() + 1],
    /// 4K pages that the task beside them reclaimed, and its time.
    pub(super) reclaimed: (u64, Time),
    /// Instructions of all tasks, and their time.
    instructions: (u64, Time),
    /// The reports before and after.
    pub(super) between: Between,
}

/// The progress of the tasks.
#[derive(Debug, Default)]
struct Progress {
    /// The number of tasks that have not ended.
    left: Cell<u32>,
    faults: Cell<u64>,
    sum: Cell<Time>,
    span: Cell<Option<(Time, Time)>>,
    reclaimed: Cell<(u64, Time)>,
}

impl Progress {
    /// Notes that a task has faulted in all of its pages.
    fn end(&self, faults: u64, Range { start, end }: Range<Time>) {
        self.left.set(self.left.get() - 1);
        self.faults.set(self.faults.get() + faults);
        self.sum.set(self.sum.get() + end.since(start));
        let (first, last) = self.span.get().unwrap_or((start, end));
        self.span.set(Some((first.min(start), last.max(end))));
    }
}

struct Run<'r, 'a, F: Arch> {
    of: &'r Faults,
    memory: &'r Memory<'r, 'a, F>,
    kernel: &'r Kernel<'r>,
    tuning: Tuning,
    progress: &'r Progress,
}

impl<'r, 'a, F: Arch> Run<'r, 'a, F> {
    /// Returns the task that faults on this core.
    fn faulting(&self, core: u16) -> TaskSpec<'r, 'a, F> {
        let mapped = self.memory.mapped[usize::from(core)];
        let (maps, kernel, progress) = (&self.memory.ground.maps, self.kernel, self.progress);
        let program = Program { maps, kernel, mm: mapped.mm, tuning: self.tuning };
        let (pages, store) = (pages::<F>(self.of) as u64, self.of.memory == FaultedIn::Anon);
        let body = move |task: &Task<'_, 'a, F>| {
            task.load_mm(mapped.asid, mapped.root);
            let (begun, mut faults, mut cpu) = (task.now(), 0, CpuCtx::new());
            for page in 0..pages {
                let at = mapped.start.add(page << F::PAGE_SHIFT);
                faults += program.access(task, &mut cpu, at, store);
            }
            progress.end(faults, begun..task.now());
        };
        TaskSpec::new(format!("faulting {core}"), body).on(CoreId(core))
    }

    /// Returns the task that reclaims as long as others fault.
    fn reclaiming(&self, core: u16) -> TaskSpec<'r, 'a, F> {
        let (memory, kernel, tuning) = (self.memory, self.kernel, self.tuning);
        let progress = self.progress;
        let body = move |task: &Task<'_, 'a, F>| {
            let (begun, mut reclaimed, mut cpu) = (task.now(), 0, CpuCtx::new());
            while progress.left.get() > 0 {
                let request = ReclaimRequest::of(REQUEST << F::PAGE_SHIFT);
                let done = kernel.on(task, |env| {
                    env.within(activity::MEMORY_RECLAIM, || {
                        let engine = &mut memory.ground.maps.on(env, &mut cpu, tuning);
                        engine.memory_reclaim(memory.memcg, request)
                    })
                });
                reclaimed += done.expect("the old file outlasts the faults");
            }
            progress.reclaimed.set((reclaimed, task.now().since(begun)));
        };
        TaskSpec::new("reclaiming", body).on(CoreId(core))
    }

    fn tasks(&self) -> Vec<TaskSpec<'r, 'a, F>> {
        let cores = self.of.tasks as u16;
        self.progress.left.set(self.of.tasks);
        let reclaiming = (self.of.reclaim == Beside::Yes).then(|| self.reclaiming(cores));
        (0..cores).map(|core| self.faulting(core)).chain(reclaiming).collect()
    }
}

/// Runs the scenario.
pub(super) fn run<F: Arch>(
    of: &super::Faults,
    model: &Model,
    variant: Variant,
    one: ModelRun,
) -> Outcome {
    let mut arena = Arena::new::<F>(&limits::<F>(of), tables::<F>(of));
    let ground = ground::<F>(&mut arena, variant.lru, of.platform.shape().caps::<F>());
    let memory = Memory::map(of, &ground);
    let machine = Machine::new(model.setup(&of.platform, one), ground.env.tables());
    let (locks, progress) = (Locks::default(), Progress::default());
    let kernel = Kernel::new::<F>(ground.supply, Swap::Device).with_locks(&locks);
    let tuning = variant.tuning(F::FLUSH);
    let run = Run { of, memory: &memory, kernel: &kernel, tuning, progress: &progress };
    let before = machine.report();
    let after = machine.run(run.tasks());
    debug_assert!(locks.are_free(), "every lock that was taken was released");
    let (first, last) = progress.span.get().expect("the tasks ended");
    let (reclaimed, time) = progress.reclaimed.get();
    let instructions = kernel.done().instructions();
    Outcome {
        tasks: of.tasks,
        faults: progress.faults.get(),
        sum: progress.sum.get(),
        whole: last.since(first),
        locks: by_rank(&locks, of.tasks),
        reclaimed: (reclaimed << (F::PAGE_SHIFT - 12), time),
        instructions: (instructions, machine.prices().instruction * instructions),
        between: Between { before, after },
    }
}

/// Returns the uses of locks by the first `tasks` tasks.
fn by_rank(locks: &Locks, tasks: u32) -> [LockTally; RANKS.len() + 1] {
    std::array::from_fn(|k| {
        locks.tally_of(|task, rank| {
            let wanted = match RANKS.get(k) {
                Some(wanted) => rank == *wanted,
                None => !RANKS.contains(&rank),
            };
            task.0 < tasks && wanted
        })
    })
}

impl Outcome {
    /// Returns the time of a fault, in nanoseconds.
    pub fn fault(&self) -> f64 {
        self.each(self.sum)
    }

    /// Returns the faults a second of all tasks.
    pub fn throughput(&self) -> f64 {
        self.faults as f64 / (self.whole.ns() / 1e9)
    }

    /// Returns a time of all tasks as nanoseconds a fault.
    fn each(&self, time: Time) -> f64 {
        time.ns() / self.faults as f64
    }
}

/// The metrics that have an interval over draws.
const REPORTED: [Reported<Outcome>; 3] = [
    (FAULT, Outcome::fault),
    (THROUGHPUT, Outcome::throughput),
    (THROUGHPUT_OF_CORE, |one| one.throughput() / f64::from(one.tasks)),
];

/// Returns the metrics of runs with nominal prices and of those with drawn ones.
pub(super) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let (one, faults) = (&nominal[0], nominal[0].faults as f64);
    let mut metrics = reported(&REPORTED, nominal, drawn);
    let times = |specs: &[MetricSpec], of: fn(&LockTally) -> Time| -> Vec<_> {
        let pairs = specs.iter().zip(&one.locks);
        pairs.map(|(spec, tally)| spec.one(one.each(of(tally)))).collect()
    };
    metrics.extend(times(WAITS, |tally| tally.waited));
    metrics.extend(times(WORDS, |tally| tally.access));
    let sum = |of: fn(&LockTally) -> u64| one.locks.iter().map(of).sum::<u64>();
    metrics.push(TAKEN.one(sum(|tally| tally.taken) as f64 / faults));
    metrics.push(TRIES.one(sum(|tally| tally.tried) as f64 / faults));
    metrics.push(LINES_MOVED.one(sum(|tally| tally.moved) as f64 / faults));
    let (reclaimed, time) = one.reclaimed;
    if reclaimed > 0 {
        metrics.push(RECLAIM_OF_PAGE.one(time.ns() / reclaimed as f64));
        metrics.push(RECLAIMED.one(reclaimed as f64));
    }
    metrics.extend(one.between.metrics(EACH, faults));
    let (instructions, time) = one.instructions;
    let table = one.between.time(|path| path.last() == Some(&"table"));
    metrics.push(INSTRUCTION_TIME.per(FAULT.unit).one(one.each(time)));
    metrics.push(TABLE_TIME.per(FAULT.unit).one(one.each(table)));
    metrics.push(INSTRUCTIONS.per(EACH).one(instructions as f64 / faults));
    metrics.push(
        TABLE_OPERATIONS.per(EACH).one(one.between.count("table_operations") as f64 / faults),
    );
    metrics
}
