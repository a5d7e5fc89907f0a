//! Scenario `trace` on a modelled machine: the program runs on one core with a TLB, and the engine
//! reclaims from it in its faults. It counts the accesses that the TLB hides from young bits, and
//! their effects.

use crate::software::KernelOp;
use crate::{Kernel, Model, ModelRun, Swap, activity, first_run, interval};
use pageout_experiment::declare::{Checked, Declared, read};
use pageout_experiment::fields::FieldError;
use pageout_experiment::formats::{Arch, with_format};
use pageout_experiment::scenarios::metrics::machine::{
    BARRIERS, BROADCASTS, INTERRUPTS, LOCAL, LOCAL_FLUSHES, QUANTILES, ROUNDS,
};
use pageout_experiment::scenarios::metrics::trace as of;
use pageout_experiment::scenarios::{TraceModelled, TraceModelledLists};
use pageout_experiment::spread::spread;
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Axes, Variant};
use pageout_host::journal::Journal;
use pageout_host::memcg_trace::{Decisions, Plan, Program};
use pageout_host::residency::ReplayError;
use pageout_machine::platform::Platform;
use pageout_machine::{CoreId, Machine, Report, Task, TaskSpec, Time};
use pageout_paging::VirtAddr;
use pageout_paging::mmu::Asid;
use pageout_reclaim::CpuCtx;
use pageout_record::schema::{Ground, Labels, Metric, Record};
use pageout_trace::reference_string::Identities;
use pageout_trace::source::TraceSource;
use pageout_trace::{Event, Page};

/// The most faults of one access: those without a TLB, and each of them once more for a stale TLB
/// entry or after a wait for a transfer.
const FAULTS_AN_ACCESS: usize = 8;

/// The scenario, with one value for each field.
#[derive(Clone, Debug)]
pub struct MemcgTrace {
    source: TraceSource,
    scenario: TraceModelled,
    platform: Platform,
}

/// The outcome of one run.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) decisions: Decisions,
    /// The history of the program's memory over its epochs.
    history: Vec<Metric>,
    pub(crate) played: Played,
    pub(crate) report: Report,
    /// Bytes of memory for page tables, the engine and the machine's state of both.
    pub(crate) bytes: u64,
}

/// The part of a program that was played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Played {
    /// Accesses that the machine saw.
    pub(crate) simulated: u64,
    /// References that the trace leaves out. Each took the time of an access that hits.
    pub(crate) left_out: u64,
    /// Faults that were tried again because the first try had to wait for a transfer.
    tried_again: u64,
}

impl Played {
    /// Returns the number of all accesses that the program made.
    pub(crate) fn accesses(&self) -> u64 {
        self.simulated + self.left_out
    }
}

impl MemcgTrace {
    /// Reads scenarios from `FIELD=VALUE` arguments; fields may be comma-separated lists.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted; also for a trace that
    /// leaves out what a platform's TLB could miss.
    ///
    /// # Panics
    /// If the trace's header, which was read before, cannot be read.
    pub fn parse(
        arguments: &[String],
        trace: &TraceSource,
        model: &Model,
    ) -> Result<Vec<Self>, FieldError> {
        let mut lists = TraceModelledLists { format: model.formats(), ..Default::default() };
        read::<TraceModelled>(arguments, &mut lists)?;
        Self::all(&lists, trace, model)
    }

    /// Returns every combination of `lists`, each on the model's machine for its format.
    ///
    /// # Errors
    /// [`FieldError`], also for a trace that leaves out what a platform's TLB could miss.
    ///
    /// # Panics
    /// If the trace's header, which was read before, cannot be read.
    pub fn all(
        lists: &TraceModelledLists,
        trace: &TraceSource,
        model: &Model,
    ) -> Result<Vec<Self>, FieldError> {
        let one = |scenario: TraceModelled| {
            let platform = model.platform_for(scenario.format)?;
            check_density(trace, &platform)?;
            Ok(Self { source: trace.clone(), scenario, platform })
        };
        TraceModelled::combined(lists)?.into_iter().map(one).collect()
    }

    /// Runs every scenario under every variant, and returns a record for each.
    ///
    /// # Errors
    /// [`ReplayError`] of the first run that fails.
    pub fn records(
        all: &[Self],
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError> {
        let plans: Vec<_> = all.iter().map(Self::plan).collect::<Result<_, _>>()?;
        let runs = model.all_runs();
        let each = all.iter().zip(&plans);
        let each: Vec<_> = each.flat_map(|one| variants.iter().map(move |v| (one, *v))).collect();
        let at_once = model.threads.get().min(each.len() * runs.len()) as u64;
        for ((one, plan), _) in &each {
            one.check_memory(plan, at_once)?;
        }
        let outcomes = spread(each.len() * runs.len(), model.threads, progress, |k| {
            let ((one, plan), variant) = each[k / runs.len()];
            let run = k % runs.len();
            let mut outcome = one.run(plan, model, variant, runs[run])?;
            if run > 0 {
                // Records have the history of the first run only. It is by far the largest part of
                // an outcome.
                outcome.history = Vec::new();
            }
            Ok(outcome)
        });
        let outcomes: Vec<_> = outcomes.into_iter().collect::<Result<_, ReplayError>>()?;
        let of_each = each.iter().zip(outcomes.chunks(runs.len()));
        let record =
            |(((one, _), variant), outcomes): (&((&Self, _), Variant), &[Outcome])| Record {
                scenario: TraceModelled::NAME.to_owned(),
                ground: Ground::Model,
                seed: model.seed,
                fields: one.labels(model),
                variant: variant.labels(Axes::Reclaim),
                metrics: metrics(outcomes, model.runs as usize),
            };
        Ok(of_each.map(record).collect())
    }

    /// Checks that there is memory for `at_once` runs at once.
    fn check_memory(&self, plan: &Plan<'_>, at_once: u64) -> Result<(), ReplayError> {
        let each = with_format!(self.scenario.format, F => plan.bytes::<F>());
        let needed = each.saturating_mul(at_once);
        match this_machine::available_memory() {
            Some(available) if needed > available => {
                Err(ReplayError::TooLarge { needed, available })
            }
            _ => Ok(()),
        }
    }

    /// Returns where the time of the first run goes, as folded stacks in nanoseconds.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn folded(&self, model: &Model, variant: Variant) -> Result<String, ReplayError> {
        let outcome = self.run(&self.plan()?, model, variant, model.all_runs()[0])?;
        Ok(outcome.report.folded_lines())
    }

    /// Returns the scenario's fields as labels of records.
    fn labels(&self, model: &Model) -> Labels {
        let mut labels = Declared::labels(&self.scenario);
        labels.insert("trace".to_owned(), self.source.name().to_owned());
        labels.insert("sha256".to_owned(), self.source.sha256());
        labels.extend(model.labels(&self.platform));
        labels
    }

    pub(crate) fn plan(&self) -> Result<Plan<'_>, ReplayError> {
        let TraceModelled { format, order, limit, .. } = self.scenario;
        let order = order.in_format(format);
        with_format!(format, F => Plan::new::<F>(&self.source, limit, order))
    }

    pub(crate) fn run(
        &self,
        plan: &Plan<'_>,
        model: &Model,
        variant: Variant,
        one: ModelRun,
    ) -> Result<Outcome, ReplayError> {
        with_format!(self.scenario.format, F => self.run_as::<F>(plan, model, variant, one))
    }

    fn run_as<F: Arch>(
        &self,
        plan: &Plan<'_>,
        model: &Model,
        variant: Variant,
        one: ModelRun,
    ) -> Result<Outcome, ReplayError> {
        let journal = Journal::default();
        let mut arena = plan.arena::<F>()?;
        let ground = arena.ground::<F>();
        ground.switch_with(variant.lru, self.platform.shape().caps::<F>());
        let machine = Machine::new(model.setup(&self.platform, one), ground.env.tables());
        let kernel = Kernel::new::<F>(ground.supply, Swap::Compressed).with_journal(&journal);
        let mappings = plan.source.open()?.header().mappings;
        let mut program = plan.program(ground, &journal, variant, mappings);
        let running = Running { plan, kernel: &kernel, repeat: self.scenario.repeat };
        let mut played = Ok(Played::default());
        let body = |task: &Task<'_, '_, F>| played = running.play(task, &mut program);
        let report = machine.run(vec![TaskSpec::new("program", body).on(CoreId(0))]);
        let played = played?;
        let decisions = plan.decisions(&program, &journal, played.tried_again);
        let bytes = plan.bytes::<F>() + machine.bytes_by_tables() as u64;
        Ok(Outcome { decisions, history: program.history(), played, report, bytes })
    }
}

/// Refuses a trace that leaves out what the platform's first TLB level could miss.
fn check_density(trace: &TraceSource, platform: &Platform) -> Result<(), FieldError> {
    let l1 = platform.shape().tlb.l1;
    // Replaying the trace reports other problems of it.
    let Ok(reader) = trace.open() else { return Ok(()) };
    let filter = reader.header().filter;
    if filter.suits(l1.sets.into(), l1.ways.into()) {
        return Ok(());
    }
    let problem = format!(
        "the trace leaves out what a TLB of {filter} hits on, and platform {} has a first level of \
         {}x{}: record it with a smaller --filter",
        platform.name(),
        l1.sets,
        l1.ways
    );
    Err(FieldError::together(TraceModelled::NAME, problem))
}

/// The context of the program's task.
struct Running<'r> {
    plan: &'r Plan<'r>,
    kernel: &'r Kernel<'r>,
    repeat: u32,
}

impl Running<'_> {
    fn play<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        program: &mut Program<'_, F>,
    ) -> Result<Played, ReplayError> {
        task.load_mm(Asid(0), program.root());
        let mut played = Played::default();
        for again in (0..self.repeat).rev() {
            self.play_once(task, program, &mut played, again > 0)?;
        }
        Ok(played)
    }

    fn play_once<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        program: &mut Program<'_, F>,
        played: &mut Played,
        again: bool,
    ) -> Result<(), ReplayError> {
        let hit = task.machine().prices().access;
        let mut reader = self.plan.source.open()?;
        let (mut identities, mut references) = (Identities::default(), References::default());
        while let Some(event) = reader.next() {
            match event? {
                Event::Access { page: at, store, after } => {
                    let left_out = references.until_access(after);
                    task.spend(hit * left_out);
                    played.left_out += left_out;
                    played.simulated += 1;
                    let page = identities.of(at, store, reader.areas());
                    self.access(task, program, page, (at, store), played)?;
                }
                event => {
                    if let Event::EpochEnd { references: all } = event {
                        let left_out = references.until_end(all);
                        task.spend(hit * left_out);
                        played.left_out += left_out;
                    }
                    identities.change(&event);
                    self.kernel.on(task, |env| program.play(env, &event))?;
                }
            }
        }
        if again {
            self.kernel.on(task, |env| program.exit(env, reader.areas()))?;
        }
        Ok(())
    }

    #[inline]
    fn access<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        program: &mut Program<'_, F>,
        page: u32,
        (at, store): (Page, bool),
        played: &mut Played,
    ) -> Result<(), ReplayError> {
        let addr = Program::<F>::address(at);
        let mut faults = 0;
        while task.access(addr, store).is_err() {
            faults += 1;
            assert!(faults <= FAULTS_AN_ACCESS, "a fault that was handled does not recur");
            let pending = self.fault(task, program, addr, store)?;
            played.tried_again += u64::from(pending);
        }
        program.used(page, addr, faults > 0);
        Ok(())
    }

    /// Handles a fault, and waits off the core while a page is read. Returns true if it waited.
    fn fault<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        program: &mut Program<'_, F>,
        addr: VirtAddr,
        store: bool,
    ) -> Result<bool, ReplayError> {
        let cpu = &mut CpuCtx::new();
        self.kernel.on(task, |env| {
            let pending = env.within(activity::FAULT, || {
                env.does(KernelOp::Fault, 1);
                program.fault(env, cpu, addr, store)
            })?;
            if let Some(folio) = pending {
                self.kernel.wait_for(env, program.maps(), cpu, folio);
            }
            Ok(pending.is_some())
        })
    }
}

/// The position of a trace in its epoch.
#[derive(Default)]
struct References {
    /// The reference that made the last access, from 0.
    accessed: u64,
    /// The first reference that is not counted yet.
    next: u64,
}

impl References {
    /// Returns the number of references left out before an access that comes `after` references
    /// after the last one.
    #[inline]
    fn until_access(&mut self, after: u64) -> u64 {
        self.accessed += after;
        // If one reference makes two accesses, it is counted already.
        let left_out = self.accessed.saturating_sub(self.next);
        self.next = self.accessed + 1;
        left_out
    }

    /// Returns the number of references left out before the end of an epoch of `references`.
    fn until_end(&mut self, references: u64) -> u64 {
        self.accessed = 0;
        references - std::mem::take(&mut self.next)
    }
}

/// Returns the metrics of a scenario under a variant. `outcomes` has those of `runs` runs with
/// nominal prices, then one for each draw.
fn metrics(outcomes: &[Outcome], runs: usize) -> Vec<Metric> {
    let (nominal, drawn) = outcomes.split_at(runs);
    let each = |of: fn(&Outcome) -> Time, outcomes: &[Outcome]| -> Vec<f64> {
        let one = |outcome: &Outcome| of(outcome).ns() / outcome.played.accesses() as f64;
        outcomes.iter().map(one).collect()
    };
    let mut metrics = Vec::new();
    for (metric, time) in [
        (of::TIME, (|outcome| outcome.report.end) as fn(&Outcome) -> Time),
        (of::IN_FAULTS, Outcome::in_faults),
        (of::STORAGE, |outcome| outcome.report.cores.iter().map(|c| c.idle).sum()),
        (of::IN_WALKS, Outcome::in_walks),
    ] {
        let metric = metric.of(&each(time, nominal));
        metrics.push(Metric { interval: interval(&each(time, drawn)), ..metric });
    }
    metrics.extend(nominal[0].counted());
    metrics.extend(nominal[0].history.clone());
    metrics.extend(first_run::metrics(&nominal[0].report));
    metrics
}

impl Outcome {
    fn in_faults(&self) -> Time {
        self.report.at(|path| path.contains(&activity::name(activity::FAULT)))
    }

    fn in_walks(&self) -> Time {
        self.report.at(|path| path.last() == Some(&"walk"))
    }

    fn counted(&self) -> Vec<Metric> {
        let Self { decisions, played, report, .. } = self;
        let (counts, hidden) = (&report.counts, &report.hidden);
        let accesses = played.accesses() as f64;
        let faults = (decisions.major_faults + decisions.minor_faults) as f64;
        let million = |nr: u64| nr as f64 * 1e6 / accesses;
        let mut metrics = vec![
            of::MADE.one(accesses),
            of::SIMULATED.one(played.simulated as f64),
            of::FAULTS.one(faults * 1e6 / accesses),
        ];
        metrics.extend(decisions.metrics());
        metrics.extend([
            of::HIDDEN_ACCESSES.one(hidden.accesses as f64),
            of::STALE.one(hidden.ended() as f64),
        ]);
        for (metric, part) in of::HID_FOR.iter().zip(QUANTILES) {
            // If no entry hid any access, the time is zero.
            let time = hidden.quantile(part).unwrap_or(Time::ZERO);
            metrics.push(metric.one(time.ns()));
        }
        metrics.push(of::L2_HITS.one(million(counts.l2_hits)));
        metrics.push(of::TLB_MISSES.one(million(counts.walks)));
        metrics.extend(
            [
                (BROADCASTS, counts.broadcasts),
                (BARRIERS, counts.barriers),
                (ROUNDS, counts.rounds),
                (INTERRUPTS, counts.interrupts),
                (LOCAL, counts.local_entries),
                (LOCAL_FLUSHES, counts.local_full),
            ]
            .map(|(metric, count)| metric.one(count as f64)),
        );
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_trace::FilterShape;

    #[test]
    fn the_default_filter_leaves_out_what_every_platform_s_tlb_holds() {
        for name in Platform::names() {
            let l1 = Platform::named(name).expect("a platform").shape().tlb.l1;
            let suits = FilterShape::DEFAULT.suits(l1.sets.into(), l1.ways.into());
            assert!(suits, "{name}: {l1:?}");
        }
    }

    #[test]
    fn each_reference_left_out_is_counted_once() {
        let mut references = References::default();
        for _ in 0..2 {
            // Of ten, the fourth makes two accesses, and the sixth makes one.
            let left_out = [3, 0, 2].map(|after| references.until_access(after));
            assert_eq!((left_out, references.until_end(10)), ([3, 0, 1], 4));
        }
        assert_eq!(references.until_end(10), 10);
    }
}
