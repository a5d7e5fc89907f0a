//! The scenario on a modelled machine. `memory.reclaim` runs on its first core; the processes that
//! map the file sleep, or use it on all other cores.

use crate::software::{self, Software};
use crate::{
    Guest, Kernel, Model, ModelRun, Program, Scenario, Swap, Vm, VmCount, activity, interval,
};
use pageout_experiment::declare::{Checked, Declared, Lists, read_both};
use pageout_experiment::fields::{self, FieldError, bad};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, with_format};
use pageout_experiment::metrics::{MetricSpec, NS_PER_PAGE, PER_PAGE};
use pageout_experiment::scenarios::metrics::machine::{
    BARRIERS, BROADCASTS, CORES_INTERRUPTED, HIDDEN, INSTRUCTION_TIME, INTERRUPTS, LOCAL,
    LOCAL_FLUSHES, MISSES, ROUNDS, SECOND_LEVEL_HITS, TABLE_TIME,
};
use pageout_experiment::scenarios::metrics::reclaim_file::{
    ACCESSES, FLUSHING, INSTRUCTIONS, NOTIFYING, SECONDARY, STOLEN, TABLE_OPERATIONS, WHOLE,
};
use pageout_experiment::scenarios::metrics::{RECLAIMED, REFAULTS, STAGES};
use pageout_experiment::scenarios::{
    self, Process, Processes, ProcessesLists, ReclaimFileLists, Secondary,
};
use pageout_experiment::variant::Variant;
use pageout_host::layout::Arena;
use pageout_host::scenario::HostScenario;
use pageout_host::scenarios::reclaim_file::{self, Setup};
use pageout_machine::platform::{Draw, Platform, Prices};
use pageout_machine::{CoreId, Machine, Report, Spent, Task, TaskSpec, Time};
use pageout_paging::mmu::Asid;
use pageout_paging::{Pfn, Stage, VirtAddr};
use pageout_reclaim::{Counter, CpuCtx, Errno, FREE_BATCH, Limits, MapAs};
use pageout_record::schema::{Basis, Labels, Metric};
use std::cell::Cell;

/// Checks that threads can use a page each on all cores but one, with a folio to spare.
fn check_running(scenario: &scenarios::ReclaimFile, cores: u16) -> Result<(), FieldError> {
    if cores < 2 {
        let problem = "needs two cores or more, here is one";
        return Err(bad("process", "running", problem, "asleep, or more --cores"));
    }
    let used = (u64::from(cores) << scenario.format.page_shift())
        .next_multiple_of(scenario.largest_folio());
    if scenario.bytes <= used {
        let problem =
            format!("is too little for process=running on {cores} cores, which use a page each");
        let accepted = format!("more than {}", fields::display_size(used));
        return Err(bad("size", &fields::display_size(scenario.bytes), problem, accepted));
    }
    Ok(())
}

/// The name of the task that makes the request.
pub(crate) const TASK: &str = "reclaim";

/// The time that a program spends between two uses of its page.
const THINKING: Time = Time::from_ns(2_000);

/// The scenario on the machine of its [`Model`].
#[derive(Clone, Debug)]
pub struct ReclaimFile {
    scenario: scenarios::ReclaimFile,
    added: Processes,
    platform: Platform,
}

/// The outcome of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// 4K pages reclaimed.
    pages: f64,
    /// The time from the request to its end.
    whole: Time,
    /// The time of each stage.
    stages: [Time; Stage::ALL.len()],
    /// The part of the time in which the core invalidates, or waits for that.
    flushing: Time,
    /// The time that other cores lost to interrupts and invalidations.
    stolen: Time,
    /// The number of pages that came back.
    refaults: u64,
    /// Kernel instructions, and their time.
    instructions: (u64, Time),
    /// The time of table operations beyond their instructions.
    table: Time,
    /// The time in notifiers, and the counts of virtual machines, if there are any.
    secondary: Option<(Time, [u64; VmCount::ALL.len()])>,
    /// The reports before the request, and after it.
    reports: [Report; 2],
}

impl ReclaimFile {
    /// Reads scenarios from `FIELD=VALUE` arguments: the fields of [`scenarios::ReclaimFile`],
    /// `process` and `secondary`.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut lists = Self::lists(model);
        let mut added = ProcessesLists::default();
        read_both::<scenarios::ReclaimFile, Processes>(arguments, (&mut lists, &mut added))?;
        Self::all(&lists, &added, model)
    }

    /// Returns the lists of values when nothing is given.
    pub fn lists(model: &Model) -> ReclaimFileLists {
        ReclaimFileLists { format: model.formats(), ..ReclaimFileLists::modelled() }
    }

    /// Returns every combination of both, each on the model's machine for its format.
    ///
    /// # Errors
    /// [`FieldError`] for values that do not go together, and for a format that does not fit the
    /// machine.
    pub fn all(
        lists: &ReclaimFileLists,
        added: &ProcessesLists,
        model: &Model,
    ) -> Result<Vec<Self>, FieldError> {
        let mut all = Vec::new();
        for scenario in scenarios::ReclaimFile::combined(lists)? {
            let platform = model.platform_for(scenario.format)?;
            for added in added.combinations() {
                if added.secondary == Secondary::Guest && scenario.map == MapAs::PmdLeaf {
                    let problem = "does not go with map=pmd-leaf";
                    return Err(bad("secondary", "guest", problem, "none, or map=ptes"));
                }
                if added.process == Process::Running {
                    check_running(&scenario, model.shape(&platform).cores)?;
                }
                let platform = platform.clone();
                all.push(Self { scenario, added, platform });
            }
        }
        Ok(all)
    }

    /// Returns the limits and the number of page tables of a run. There is room for pages that
    /// running threads fault in again while the reclaimed ones still wait for a flush.
    fn limits<F: Arch>(&self, cores: u16) -> (Limits, usize) {
        let limits = self.scenario.limits::<F>();
        let spare = match self.added.process {
            Process::Asleep => 0,
            Process::Running => FREE_BATCH + usize::from(cores),
        };
        let pages = (self.scenario.largest_folio() >> F::PAGE_SHIFT) as usize;
        let frames = limits.frames + spare * pages;
        let limits = Limits { frames, folios: limits.folios + spare, ..limits };
        let tables = match self.added.secondary {
            Secondary::None => 1,
            Secondary::Guest => 2,
        };
        (limits, tables * self.scenario.tables::<F>())
    }

    fn arena<F: Arch>(&self, cores: u16) -> Arena {
        let (limits, tables) = self.limits::<F>(cores);
        Arena::new::<F>(&limits, tables)
    }

    /// Returns the virtual machines, one a process. Their guests have used all that the process
    /// maps.
    fn vms<F: Arch>(&self, setup: &Setup<'_, F>) -> Vec<Vm> {
        if self.added.secondary == Secondary::None {
            return Vec::new();
        }
        let mut supply = setup.ground.supply;
        let vm = |(process, (_, primary)): (usize, &(_, Pfn))| {
            let asid = Asid(process as u32);
            let vmid = Asid(self.scenario.processes + asid.0);
            let root = supply.alloc_table().expect("the arena has a second table for each");
            let vm = Vm::new((asid, *primary), (vmid, root));
            vm.take_over(&setup.ground.env, &mut supply);
            vm
        };
        setup.spaces.iter().enumerate().map(vm).collect()
    }

    /// Returns the mean price of an instruction of the request under `prices`.
    pub(crate) fn instruction(&self, variant: Variant, prices: &Prices) -> Time {
        let nominal = self.platform.prices(Draw::Nominal);
        software::instruction(&self.scenario, variant, &nominal, prices)
    }

    fn run_as<F: Arch>(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        let mut arena = self.arena::<F>(model.shape(&self.platform).cores);
        let caps = self.platform.shape().caps::<F>();
        let setup = Setup::<F>::build_for(&mut arena, &self.scenario, variant.lru, one.seed, caps);
        let mut priced = model.setup(&self.platform, one);
        priced.prices.instruction = self.instruction(variant, &priced.prices);
        let machine = Machine::new(priced, setup.ground.env.tables());
        let software = Software::of::<F>().counted(&self.scenario, variant);
        let kernel = Kernel::new::<F>(setup.ground.supply, Swap::Device).with_software(software);
        let kernel = kernel.with_vms(self.vms(&setup));
        let run = Run { of: self, seed: one.seed, setup: &setup, kernel: &kernel, variant };
        let before = machine.run(run.touching(machine.shape().cores));
        let done = Cell::new(None);
        let refaults = Cell::new(0);
        let instructions = kernel.done().instructions();
        let mut tasks = vec![run.reclaiming(&done)];
        if self.added.process == Process::Running {
            tasks.extend((1..machine.shape().cores).map(|core| run.using(core, &done, &refaults)));
        }
        let after = machine.run(tasks);
        let done = done.get().expect("the reclaiming task ended");
        let instructions = kernel.done().instructions() - instructions;
        let instructions = (instructions, machine.prices().instruction * instructions);
        Outcome {
            refaults: refaults.get(),
            ..Outcome::of::<F>(&kernel, [before, after], done, instructions)
        }
    }
}

impl Outcome {
    /// Computes the outcome from reports before and after the request, which reclaimed `pages`
    /// pages in the time `whole` by `instructions`.
    pub(crate) fn of<F: Arch>(
        kernel: &Kernel<'_>,
        [before, after]: [Report; 2],
        (pages, whole): (u64, Time),
        instructions: (u64, Time),
    ) -> Self {
        let request = request(&after).expect("the request took time");
        Self {
            pages: (pages << (F::PAGE_SHIFT - 12)) as f64,
            whole,
            stages: Stage::ALL.map(|stage| within_reclaim(request, stage)),
            flushing: request.at(&|path| matches!(path.last(), Some(&"invalidate" | &"wait"))),
            table: request.at(&|path| path.last() == Some(&"table")),
            stolen: stolen(&after).since(stolen(&before)),
            refaults: 0,
            instructions,
            secondary: secondary_time(kernel, request),
            reports: [before, after],
        }
    }

    /// Returns the time of a page, in nanoseconds.
    pub(crate) fn whole(&self) -> f64 {
        self.whole.ns() / self.pages
    }

    /// Returns the machine's report at the end.
    pub(crate) fn report(&self) -> &Report {
        &self.reports[1]
    }
}

impl Scenario for ReclaimFile {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::ReclaimFile::NAME;
    const WHOLE: MetricSpec = WHOLE.on(Basis::Modelled);

    fn platform(&self) -> &Platform {
        &self.platform
    }

    fn labels(&self, model: &Model) -> Labels {
        let mut labels = self.scenario.labels();
        labels.extend(self.added.labels());
        labels.extend(model.labels(&self.platform));
        labels
    }

    fn footprint(&self, model: &Model) -> Footprint {
        with_format!(self.scenario.format, F => {
            let (limits, tables) = self.limits::<F>(model.shape(&self.platform).cores);
            Footprint::of::<F>(&limits, tables)
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        with_format!(self.scenario.format, F => self.run_as::<F>(model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        metrics(nominal, drawn)
    }

    fn whole(outcome: &Outcome) -> f64 {
        outcome.whole()
    }

    fn report(outcome: &Outcome) -> &Report {
        outcome.report()
    }
}

/// A single run, set up.
struct Run<'r, 'a, F: Arch> {
    of: &'r ReclaimFile,
    seed: u64,
    setup: &'r Setup<'a, F>,
    kernel: &'r Kernel<'r>,
    variant: Variant,
}

/// The number of pages reclaimed and the time that took, once known.
pub(crate) type Done = Cell<Option<(u64, Time)>>;

impl<'r, 'a, F: Arch> Run<'r, 'a, F> {
    /// Each process uses its young pages once, in the order of their addresses, and sleeps from
    /// then on: its core's TLB holds the last ones.
    fn touching(&self, cores: u16) -> Vec<TaskSpec<'r, 'a, F>> {
        let touching = |(process, (_, root)): (usize, &(_, _))| {
            let (of, seed, root, vm) = (self.of, self.seed, *root, self.vm(process));
            let core = if cores == 1 { 0 } else { 1 + process as u16 % (cores - 1) };
            let touch = move |task: &Task<'_, 'a, F>| {
                match vm {
                    Some(vm) => vm.enter(task),
                    None => task.load_mm(Asid(process as u32), root),
                }
                for at in reclaim_file::young_pages::<F>(&of.scenario, seed) {
                    // Half of the folios may have been unmapped.
                    let _ = task.access(at, false);
                }
            };
            TaskSpec::new(format!("process {process}"), touch).on(CoreId(core))
        };
        self.setup.spaces.iter().enumerate().map(touching).collect()
    }

    /// Returns the virtual machine of a process, if it has one.
    fn vm(&self, process: usize) -> Option<&'r Vm> {
        self.kernel.vms().get(process)
    }

    /// Returns the task that makes the request.
    fn reclaiming(&self, done: &'r Done) -> TaskSpec<'r, 'a, F> {
        let (setup, kernel) = (self.setup, self.kernel);
        let tuning = self.variant.tuning(F::FLUSH);
        let bytes = self.of.scenario.reclaim_bytes();
        let reclaim = move |task: &Task<'_, 'a, F>| {
            let begun = task.now();
            let reclaimed = kernel.on(task, |env| {
                env.within(activity::MEMORY_RECLAIM, || setup.reclaim(env, bytes, tuning))
            });
            let reclaimed = reclaimed.unwrap_or_else(|error| {
                // Pages that are always in use may leave less than was requested.
                assert_eq!(error, Errno::EAGAIN, "all else is in the request");
                setup.vmstat().get(Counter::PgstealProactive)
            });
            done.set(Some((reclaimed, task.now().since(begun))));
        };
        TaskSpec::new(TASK, reclaim).on(CoreId(0))
    }

    /// Returns a thread that uses one page of the file until the request is done, and counts its
    /// faults.
    fn using(&self, core: u16, done: &'r Done, refaults: &'r Cell<u64>) -> TaskSpec<'r, 'a, F> {
        let process = usize::from(core - 1) % self.setup.spaces.len();
        let (mm, root) = self.setup.spaces[process];
        let range = reclaim_file::range::<F>(&self.of.scenario);
        let page = VirtAddr::new(range.end.get() - (u64::from(core) << F::PAGE_SHIFT));
        let tuning = self.variant.tuning(F::FLUSH);
        let program = Program { maps: &self.setup.ground.maps, kernel: self.kernel, mm, tuning };
        let guest = self.vm(process).map(|vm| Guest { program, vm });
        let thread = move |task: &Task<'_, 'a, F>| {
            match guest {
                Some(guest) => guest.vm.enter(task),
                None => task.load_mm(Asid(process as u32), root),
            }
            let mut cpu = CpuCtx::new();
            while done.get().is_none() {
                let faults = match guest {
                    Some(guest) => guest.access(task, &mut cpu, page, false),
                    None => program.access(task, &mut cpu, page, false),
                };
                refaults.set(refaults.get() + faults);
                task.spend(THINKING);
            }
        };
        TaskSpec::new(format!("thread of process {process}"), thread).on(CoreId(core))
    }
}

/// Returns the parts of the request's time.
fn request(report: &Report) -> Option<&Spent> {
    report.task(TASK)?.part(activity::name(activity::MEMORY_RECLAIM))
}

/// Returns the time of a stage within the request. Time outside of all stages is in
/// [`Stage::Other`].
fn within_reclaim(request: &Spent, stage: Stage) -> Time {
    let is_stage = |part: &&Spent| Stage::ALL.iter().any(|stage| stage.name() == part.name);
    match stage {
        Stage::Other => {
            let others = request.parts.iter().filter(|part| !is_stage(part));
            request.own + others.map(Spent::total).sum()
        }
        _ => request.part(stage.name()).map_or(Time::ZERO, Spent::total),
    }
}

/// Returns the time in notifiers within the request, and the counts of all virtual machines
/// together.
fn secondary_time(
    kernel: &Kernel<'_>,
    request: &Spent,
) -> Option<(Time, [u64; VmCount::ALL.len()])> {
    let counted = VmCount::ALL.map(|told| kernel.vms().iter().map(|vm| vm.times(told)).sum());
    let time = request.at(&|path| path.contains(&activity::name(activity::NOTIFIER)));
    (!kernel.vms().is_empty()).then_some((time, counted))
}

/// Returns the time that interrupts and other cores' invalidations took from all cores.
fn stolen(report: &Report) -> Time {
    report.cores.iter().map(|core| core.stolen).sum()
}

/// Returns the metrics of one scenario under one variant: of runs with nominal prices, and of one
/// run a draw.
pub(crate) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let of = |of: fn(&Outcome) -> Time, outcomes: &[Outcome]| -> Vec<f64> {
        outcomes.iter().map(|outcome| of(outcome).ns() / outcome.pages).collect()
    };
    let mut metrics = Vec::new();
    for (metric, time) in [
        (WHOLE, (|outcome| outcome.whole) as fn(&Outcome) -> Time),
        (FLUSHING, |outcome| outcome.flushing),
        (STOLEN, |outcome| outcome.stolen),
    ] {
        let interval = interval(&of(time, drawn));
        let metric = metric.on(Basis::Modelled).of(&of(time, nominal));
        metrics.push(Metric { interval, ..metric });
    }
    if !drawn.is_empty() {
        let whole = WHOLE.on(Basis::Modelled);
        metrics.push(whole.of_draws(&of(|outcome| outcome.whole, drawn)));
    }
    for (stage, metric) in Stage::ALL.into_iter().zip(STAGES) {
        let time = |outcome: &Outcome| outcome.stages[stage as usize].ns() / outcome.pages;
        let values: Vec<_> = nominal.iter().map(time).collect();
        metrics.push(metric.on(Basis::Modelled).of(&values));
    }
    if nominal[0].secondary.is_some() {
        let time = |outcome: &Outcome| outcome.secondary.map_or(Time::ZERO, |(time, _)| time);
        metrics.push(NOTIFYING.of(&of(time, nominal)));
    }
    let one = &nominal[0];
    let (instructions, time) = one.instructions;
    metrics.push(INSTRUCTIONS.one(instructions as f64 / one.pages));
    for (metric, time) in [(INSTRUCTION_TIME, time), (TABLE_TIME, one.table)] {
        metrics.push(metric.per(NS_PER_PAGE).one(time.ns() / one.pages));
    }
    metrics.extend(one.counted());
    metrics
}

impl Outcome {
    /// Returns the counts, per page.
    fn counted(&self) -> Vec<Metric> {
        let [before, after] = &self.reports;
        let before: Vec<_> = before.counts.named().collect();
        let counts = after.counts.named().zip(before);
        let counts: Vec<_> =
            counts.map(|((name, after), (_, before))| (name, after - before)).collect();
        let count = |wanted: &str| {
            let found = counts.iter().find(|(name, _)| *name == wanted);
            found.unwrap_or_else(|| panic!("the machine counts {wanted}")).1 as f64
        };
        let each = |metric: MetricSpec, of: &str| metric.per(PER_PAGE).one(count(of) / self.pages);
        let mut metrics = vec![
            each(TABLE_OPERATIONS, "table_operations"),
            each(BROADCASTS, "broadcasts"),
            each(BARRIERS, "barriers"),
            each(ROUNDS, "rounds"),
            each(INTERRUPTS, "interrupts"),
            each(LOCAL, "local_entries"),
            each(LOCAL_FLUSHES, "local_full"),
        ];
        if count("rounds") > 0.0 {
            let cores = count("interrupts") / count("rounds");
            metrics.push(CORES_INTERRUPTED.one(cores));
        }
        let hidden = after_of(&self.reports, |report| report.hidden.accesses);
        for (metric, value) in [
            (ACCESSES, count("accesses")),
            (SECOND_LEVEL_HITS, count("l2_hits")),
            (MISSES, count("walks")),
            (HIDDEN, hidden),
            (REFAULTS.per(""), self.refaults as f64),
        ] {
            metrics.push(metric.one(value));
        }
        let guests = self.secondary.iter().flat_map(|(_, counted)| SECONDARY.iter().zip(counted));
        metrics.extend(guests.map(|(metric, times)| metric.one(*times as f64 / self.pages)));
        metrics.push(RECLAIMED.one(self.pages));
        metrics
    }
}

/// Returns the growth of a count that only grows.
fn after_of(reports: &[Report; 2], of: fn(&Report) -> u64) -> f64 {
    (of(&reports[1]) - of(&reports[0])) as f64
}

#[cfg(test)]
mod tests;
