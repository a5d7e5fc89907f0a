//! Scenario `trace` with a memory limit: the program runs on the engine, in a cgroup whose
//! `memory.max` its faults meet, and what that costs is counted beside demand MIN.
//!
//! Fault-around is off, and nothing is read ahead: with folios of one page, pages come on demand
//! alone, and [`demand_min`] is a bound. There is no time in it: transfers are complete at once,
//! and epochs are the only clock.

mod history;
mod mistakes;
mod needs;
mod program;
mod world;

use crate::counting::{Counter as Counting, CountingEnv};
use crate::layout::{Arena, Ground};
use crate::residency::{Cuts, ReplayError};
use needs::Needs;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::MemoryLimit;
use pageout_experiment::scenarios::metrics::{EXAMINED, REFAULTS, trace as of};
use pageout_experiment::this_machine;
use pageout_experiment::variant::Variant;
use pageout_paging::Order;
use pageout_reclaim::Counter;
use pageout_record::schema::Metric;
use pageout_trace::Event;
use pageout_trace::demand_min::{DemandFaults, demand_min};
use pageout_trace::reference_string::{Identities, ReferenceString};
use pageout_trace::source::TraceSource;
pub use program::Program;
use program::Setting;
use std::num::NonZeroUsize;
pub use world::{Journal, NotingWorld};

/// What a program's memory under a limit came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decisions {
    /// Pages it may use.
    pub limit: u64,
    /// Different pages it uses, told apart by what backs them.
    pub pages: u64,
    /// Faults that read from storage (`pgmajfault`).
    pub major_faults: u64,
    /// All others.
    pub minor_faults: u64,
    /// Pages of files that came back (`workingset_refault_file`).
    pub file_refaults: u64,
    /// Anonymous pages that came back (`workingset_refault_anon`).
    pub anon_refaults: u64,
    /// Pages made active because they came back soon (`workingset_activate_*`).
    pub activated: u64,
    /// Pages of those that had been a working set before (`workingset_restore_*`).
    pub restored: u64,
    /// Pages examined (`pgscan_direct`).
    pub scanned: u64,
    /// Pages reclaimed (`pgsteal_direct`).
    pub reclaimed: u64,
    /// Pages read.
    pub read: u64,
    /// Pages written.
    pub written: u64,
    /// Pages reclaimed that the program used again in the same epoch or the next.
    pub mistakes: u64,
}

/// A trace and a limit for it.
#[derive(Debug)]
pub struct Plan<'t> {
    /// The trace.
    pub source: &'t TraceSource,
    cuts: Cuts,
    needs: Needs,
    order: Order,
    limit: u64,
}

impl<'t> Plan<'t> {
    /// Reads the trace.
    ///
    /// # Errors
    /// [`ReplayError`], also where there is too little memory.
    pub fn new<F: Arch>(
        source: &'t TraceSource,
        limit: MemoryLimit,
        order: u8,
    ) -> Result<Self, ReplayError> {
        let cuts = Cuts::of_trace(source)?;
        let needs = Needs::of_trace::<F>(source, &cuts, order)?;
        let order = Order::new(order).expect("parsed orders are small");
        let limit = limit.pages(needs.nr_pages());
        if let Some(available) = this_machine::available_memory() {
            needs.check::<F>(&needs.limits(limit, order), available)?;
        }
        Ok(Self { source, cuts, needs, order, limit })
    }

    /// Memory for page tables and the engine.
    pub fn bytes<F: Arch>(&self) -> u64 {
        let limits = self.needs.limits(self.limit, self.order);
        Footprint::of::<F>(&limits, self.needs.tables()).bytes()
    }

    /// As much memory.
    pub fn arena<F: Arch>(&self) -> Arena {
        Arena::new::<F>(&self.needs.limits(self.limit, self.order), self.needs.tables())
    }

    /// The program before it begins, on a ground whose lists are chosen; `mappings`: its trace
    /// tells them.
    pub fn program<'a, F: Arch>(
        &'a self,
        ground: Ground<'a, F>,
        journal: &'a Journal,
        variant: Variant,
        mappings: bool,
    ) -> Program<'a, F> {
        let (cuts, addresses) = (&self.cuts, self.needs.addresses());
        let (lru, tuning) = (variant.lru, variant.tuning(F::FLUSH));
        let Self { limit, order, .. } = *self;
        let setting = Setting { cuts, limit, order, tuning, addresses, lru, mappings };
        Program::new(ground, journal, setting)
    }

    /// What became of the program, of whose faults so many were tried again after a transfer.
    pub fn decisions<F: Arch>(
        &self,
        program: &Program<'_, F>,
        journal: &Journal,
        tried_again: u64,
    ) -> Decisions {
        let count = |counters: &[Counter]| -> u64 {
            counters.iter().map(|counter| program.vmstat().get(*counter)).sum()
        };
        let major_faults = count(&[Counter::Pgmajfault]);
        Decisions {
            limit: self.limit,
            pages: self.needs.nr_pages() as u64,
            major_faults,
            minor_faults: count(&[Counter::Pgfault]) - major_faults - tried_again,
            file_refaults: count(&[Counter::WorkingsetRefaultFile]),
            anon_refaults: count(&[Counter::WorkingsetRefaultAnon]),
            activated: count(&[Counter::WorkingsetActivateFile, Counter::WorkingsetActivateAnon]),
            restored: count(&[Counter::WorkingsetRestoreFile, Counter::WorkingsetRestoreAnon]),
            scanned: count(&[Counter::PgscanDirect]),
            reclaimed: count(&[Counter::PgstealDirect]),
            read: journal.read(),
            written: journal.written(),
            mistakes: program.mistakes(),
        }
    }
}

/// A trace, ready to be run under one limit.
#[derive(Debug)]
pub(crate) struct Limited<'t> {
    plan: Plan<'t>,
    /// What demand MIN comes to with as many frames.
    min: DemandFaults,
}

impl<'t> Limited<'t> {
    /// Reads the trace.
    pub(crate) fn plan<F: Arch>(
        source: &'t TraceSource,
        limit: MemoryLimit,
        order: u8,
    ) -> Result<Self, ReplayError> {
        let string = ReferenceString::of_trace(source, this_machine::available_memory())?;
        let plan = Plan::new::<F>(source, limit, order)?;
        let frames = usize::try_from(plan.limit).unwrap_or(usize::MAX);
        let frames = NonZeroUsize::new(frames).expect("a limit is at least a page");
        Ok(Self { plan, min: demand_min(&string, frames) })
    }

    /// Runs the program under one variant: what became of its memory, and what the engine did to
    /// tables and TLBs for it, faults included, a page reclaimed; and its history.
    pub(crate) fn run<F: Arch>(
        &self,
        variant: Variant,
    ) -> Result<(Decisions, Vec<Metric>), ReplayError> {
        let (counting, journal) = (Counting::of::<F>(), Journal::default());
        let mut arena = self.plan.arena::<F>();
        let ground = arena.ground::<F>();
        let world = CountingEnv::new(ground.env, &counting);
        let program = self.play::<F>(ground, &world, &journal, variant)?;
        let decisions = self.plan.decisions(&program, &journal, 0);
        let reclaimed = decisions.reclaimed;
        let counts = counting.counts();
        let counts = if reclaimed > 0 { counts.metrics(reclaimed as f64) } else { Vec::new() };
        Ok((decisions, counts.into_iter().chain(program.history()).collect()))
    }

    /// Runs the program under one variant, then writes each of `commands` to `lru_gen` in a call of
    /// its own; what that says in the end of the root and of the program's cgroup.
    pub(crate) fn generations<F: Arch>(
        &self,
        variant: Variant,
        commands: &[String],
    ) -> Result<String, ReplayError> {
        let (counting, journal) = (Counting::of::<F>(), Journal::default());
        let mut arena = self.plan.arena::<F>();
        let ground = arena.ground::<F>();
        let world = CountingEnv::new(ground.env, &counting);
        let program = self.play::<F>(ground, &world, &journal, variant)?;
        Ok(program.lru_gen_after(&world, commands)?)
    }

    /// The program at its end.
    fn play<'a, F: Arch>(
        &'a self,
        ground: Ground<'a, F>,
        world: &CountingEnv<'_, F>,
        journal: &'a Journal,
        variant: Variant,
    ) -> Result<Program<'a, F>, ReplayError> {
        let world = &NotingWorld { world, journal };
        let mut reader = self.plan.source.open()?;
        ground.switch_to(variant.lru);
        let mappings = reader.header().mappings;
        let mut program = self.plan.program(ground, journal, variant, mappings);
        let mut identities = Identities::default();
        while let Some(event) = reader.next() {
            match event? {
                Event::Access { page: at, store, .. } => {
                    let page = identities.of(at, store, reader.areas());
                    program.access(world, page, at, store)?;
                }
                event => {
                    identities.change(&event);
                    program.play(world, &event)?;
                }
            }
        }
        Ok(program)
    }

    /// As records have them. With larger folios, pages come unasked: demand MIN is no bound then,
    /// and not called one.
    pub(crate) fn metrics(&self, decisions: &Decisions) -> Vec<Metric> {
        let single = self.plan.order.get() == 0;
        let min = if single { of::BOUND } else { of::OF_SINGLE };
        let refaults = self.min.refaults as f64;
        let mut metrics = decisions.metrics();
        metrics.push(min.one(refaults));
        metrics.push(of::BROUGHT_IN.one(self.min.faults as f64));
        if refaults > 0.0 {
            metrics.push(of::OVER_MIN.one(decisions.refaults() as f64 / refaults));
        }
        metrics
    }
}

impl Decisions {
    /// Pages that came back.
    pub fn refaults(&self) -> u64 {
        self.file_refaults + self.anon_refaults
    }

    /// As records have them.
    pub fn metrics(&self) -> Vec<Metric> {
        let all = [
            (of::LIMIT, self.limit),
            (of::PAGES, self.pages),
            (of::MAJOR_FAULTS, self.major_faults),
            (of::MINOR_FAULTS, self.minor_faults),
            (REFAULTS, self.refaults()),
            (of::FILE_REFAULTS, self.file_refaults),
            (of::ANON_REFAULTS, self.anon_refaults),
            (of::MISTAKES, self.mistakes),
            (of::ACTIVATED, self.activated),
            (of::RESTORED, self.restored),
            (EXAMINED, self.scanned),
            (of::TAKEN, self.reclaimed),
            (of::READ, self.read),
            (of::WRITTEN, self.written),
        ];
        all.map(|(metric, value)| metric.one(value as f64)).to_vec()
    }
}
