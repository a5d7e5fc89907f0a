//! Scenario `trace` with a memory limit: the program runs on the engine, in a cgroup whose
//! `memory.max` limits its faults, and the cost is counted beside demand MIN.
//!
//! Fault-around and read-ahead are off. With folios of one page, pages are loaded only on demand,
//! and [`demand MIN`](pageout_trace::demand_min) is a bound. Nothing is timed: transfers are
//! complete at once, and epochs are the only clock.

mod history;
mod mistakes;
mod needs;
mod pages;
mod program;

use crate::counting::{Counter as Counting, CountingEnv};
use crate::journal::Journal;
use crate::layout::{Arena, Ground};
use crate::residency::{Cuts, CutsSoFar, ReplayError};
use needs::{Needs, NeedsSoFar};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::MemoryLimit;
use pageout_experiment::scenarios::metrics::{EXAMINED, REFAULTS, trace as of};
use pageout_experiment::this_machine;
use pageout_experiment::variant::Variant;
use pageout_paging::Order;
use pageout_reclaim::Counter;
use pageout_record::schema::Metric;
use pageout_trace::Areas;
use pageout_trace::decoded::Decoded;
use pageout_trace::demand_min::{DemandFaults, DemandMin};
use pageout_trace::reference_string::{PageStep, ReferenceString, page_steps};
use pageout_trace::room::NoRoom;
use pageout_trace::source::TraceSource;
pub use program::Program;
use program::Setting;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The counts of a program's memory under a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decisions {
    /// The number of pages that it may use.
    pub limit: u64,
    /// The number of different pages that it uses, distinguished by their backing.
    pub pages: u64,
    /// The number of faults that read from storage (`pgmajfault`).
    pub major_faults: u64,
    /// All other faults.
    pub minor_faults: u64,
    /// The number of pages of files that were refaulted (`workingset_refault_file`).
    pub file_refaults: u64,
    /// The number of anonymous pages that were refaulted (`workingset_refault_anon`).
    pub anon_refaults: u64,
    /// The number of pages activated because they were refaulted soon (`workingset_activate_*`).
    pub activated: u64,
    /// Refaulted pages that had been part of a working set before (`workingset_restore_*`).
    pub restored: u64,
    /// The number of pages examined (`pgscan_direct`).
    pub scanned: u64,
    /// Pages reclaimed (`pgsteal_direct`).
    pub reclaimed: u64,
    /// The number of pages read.
    pub read: u64,
    /// The number of pages written.
    pub written: u64,
    /// The number of pages reclaimed that the program used again in the same epoch or the next.
    pub mistakes: u64,
}

/// The needs of a trace on the engine, for any limit.
#[derive(Debug)]
struct Survey {
    cuts: Cuts,
    needs: Needs,
}

/// A survey while the trace is read.
struct SurveySoFar {
    cuts: CutsSoFar,
    needs: NeedsSoFar,
    order: u8,
    /// The bytes of memory that are available for a run, if known.
    available: Option<u64>,
}

impl SurveySoFar {
    fn new(source: &TraceSource, order: u8, available: Option<u64>) -> Result<Self, ReplayError> {
        let cuts = CutsSoFar::new(source.open()?.header())?;
        Ok(Self { cuts, needs: NeedsSoFar::default(), order, available })
    }

    fn note<F: Arch>(&mut self, step: PageStep<'_>, areas: &Areas) -> Result<(), ReplayError> {
        self.cuts.note_step(step)?;
        if self.needs.note::<F>(step, areas, self.order) {
            ReplayError::check_memory(self.needs.bytes_of_tables::<F>(), self.available)?;
        }
        Ok(())
    }

    /// Returns the survey of a trace that was read to its end, with the paths of its files.
    fn all<'p>(self, paths: impl Iterator<Item = &'p str>) -> Survey {
        let cuts = self.cuts.all();
        Survey { needs: self.needs.all(&cuts, paths), cuts }
    }
}

/// A trace and a limit for it.
#[derive(Debug)]
pub struct Plan<'t> {
    /// The trace.
    pub source: &'t TraceSource,
    survey: Arc<Survey>,
    order: Order,
    limit: u64,
}

impl<'t> Plan<'t> {
    /// Reads the trace.
    ///
    /// # Errors
    /// [`ReplayError`], also if there is too little memory.
    pub fn new<F: Arch>(
        source: &'t TraceSource,
        limit: MemoryLimit,
        order: u8,
    ) -> Result<Self, ReplayError> {
        let mut survey = SurveySoFar::new(source, order, this_machine::available_memory())?;
        let mut reader = source.open()?;
        page_steps(&mut reader, |step, areas| survey.note::<F>(step, areas))?;
        Self::of::<F>(source, survey, reader.paths(), limit)
    }

    fn of<'p, F: Arch>(
        source: &'t TraceSource,
        survey: SurveySoFar,
        paths: impl Iterator<Item = &'p str>,
        limit: MemoryLimit,
    ) -> Result<Self, ReplayError> {
        let order = Order::new(survey.order).expect("parsed orders are small");
        let survey = Arc::new(survey.all(paths));
        Self::limited::<F>(source, survey, order, limit)
    }

    fn limited<F: Arch>(
        source: &'t TraceSource,
        survey: Arc<Survey>,
        order: Order,
        limit: MemoryLimit,
    ) -> Result<Self, ReplayError> {
        let needs = &survey.needs;
        let limit = limit.pages(needs.nr_pages());
        ReplayError::check_memory(
            needs.bytes::<F>(limit, order),
            this_machine::available_memory(),
        )?;
        Ok(Self { source, survey, order, limit })
    }

    /// Returns the bytes of memory for a run: page tables, the engine, and the state that is kept
    /// of the program.
    pub fn bytes<F: Arch>(&self) -> u64 {
        self.survey.needs.bytes::<F>(self.limit, self.order)
    }

    /// Allocates memory for page tables and the engine.
    ///
    /// # Errors
    /// [`ReplayError::TooLarge`].
    pub fn arena<F: Arch>(&self) -> Result<Arena, ReplayError> {
        let needs = &self.survey.needs;
        let arena = Arena::try_new::<F>(&needs.limits(self.limit, self.order), needs.tables());
        arena.map_err(|_| ReplayError::no_room(self.bytes::<F>()))
    }

    /// Returns the program before it begins, on a ground whose lists are chosen; `mappings` is true
    /// if its trace has them.
    pub fn program<'a, F: Arch>(
        &'a self,
        ground: Ground<'a, F>,
        journal: &'a Journal,
        variant: Variant,
        mappings: bool,
    ) -> Program<'a, F> {
        let Survey { cuts, needs } = &*self.survey;
        let pages = needs.pages();
        let (lru, tuning) = (variant.lru, variant.tuning(F::FLUSH));
        let Self { limit, order, .. } = *self;
        let frames = needs.limits(limit, order).frames;
        let setting = Setting { cuts, limit, order, tuning, pages, frames, lru, mappings };
        Program::new(ground, journal, setting)
    }

    /// Returns the counts of the program; `tried_again` of its faults were repeated after a
    /// transfer.
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
            pages: self.survey.needs.nr_pages() as u64,
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

/// A trace in memory, and what the engine needs to run it.
#[derive(Debug)]
pub(crate) struct Surveyed<'t> {
    source: &'t TraceSource,
    decoded: Arc<Decoded>,
    survey: Result<Arc<Survey>, ReplayError>,
    order: Order,
}

impl<'t> Surveyed<'t> {
    /// Reads the trace once. A reason why the engine cannot run it is stored and not returned:
    /// other policies only need its page reference string.
    pub(crate) fn read<F: Arch>(source: &'t TraceSource, order: u8) -> Result<Self, ReplayError> {
        let available = this_machine::available_memory();
        let mut survey = SurveySoFar::new(source, order, available)?;
        let mut refused = None;
        let each = |step: PageStep<'_>, areas: &Areas| -> Result<(), ReplayError> {
            if refused.is_none() {
                refused = survey.note::<F>(step, areas).err();
            }
            Ok(())
        };
        let decoded = Arc::new(Decoded::of_trace(source, available, each)?);
        let survey = refused.map_or_else(|| Ok(Arc::new(survey.all(decoded.paths()))), Err);
        let order = Order::new(order).expect("parsed orders are small");
        Ok(Self { source, decoded, survey, order })
    }

    /// Returns the trace under a limit; `None` if the engine cannot run it under any.
    ///
    /// # Errors
    /// [`ReplayError::TooLarge`].
    pub(crate) fn under<F: Arch>(
        &self,
        limit: MemoryLimit,
    ) -> Result<Option<Limited<'t>>, ReplayError> {
        let Ok(survey) = &self.survey else { return Ok(None) };
        let plan = Plan::limited::<F>(self.source, Arc::clone(survey), self.order, limit)?;
        Ok(Some(Limited { plan, decoded: Arc::clone(&self.decoded) }))
    }

    /// Returns the reason why the engine cannot run it, if there is one.
    pub(crate) fn refused(self) -> Option<ReplayError> {
        self.survey.err()
    }

    /// Returns the trace's page reference string.
    pub(crate) fn string(&self) -> &ReferenceString {
        self.decoded.string()
    }

    /// Returns the number of frames that the program may use under a limit.
    pub(crate) fn frames(&self, limit: MemoryLimit) -> NonZeroUsize {
        let frames = usize::try_from(limit.pages(self.string().nr_pages())).unwrap_or(usize::MAX);
        NonZeroUsize::new(frames).expect("a limit is at least a page")
    }

    /// Returns demand MIN on the trace's page reference string.
    pub(crate) fn min(&self) -> Result<DemandMin<'_>, ReplayError> {
        min_of(self.string())
    }
}

/// Returns the bytes of memory that demand MIN takes, for its numbers of all accesses and pages.
fn bytes_by_access(string: &ReferenceString) -> u64 {
    ((string.pages().len() + string.nr_pages()) * size_of::<u32>()) as u64
}

fn min_of(string: &ReferenceString) -> Result<DemandMin<'_>, ReplayError> {
    let needed = bytes_by_access(string);
    ReplayError::check_memory(needed, this_machine::available_memory())?;
    DemandMin::of(string).map_err(|NoRoom| ReplayError::no_room(needed))
}

/// A trace in memory, ready to be run under a limit.
#[derive(Debug)]
pub(crate) struct Limited<'t> {
    plan: Plan<'t>,
    decoded: Arc<Decoded>,
}

impl<'t> Limited<'t> {
    /// Reads the trace once.
    pub(crate) fn plan<F: Arch>(
        source: &'t TraceSource,
        limit: MemoryLimit,
        order: u8,
    ) -> Result<Self, ReplayError> {
        let available = this_machine::available_memory();
        let mut survey = SurveySoFar::new(source, order, available)?;
        let each = |step: PageStep<'_>, areas: &Areas| survey.note::<F>(step, areas);
        let decoded = Arc::new(Decoded::of_trace(source, available, each)?);
        Ok(Self { plan: Plan::of::<F>(source, survey, decoded.paths(), limit)?, decoded })
    }

    /// Returns the bytes of memory that a run takes.
    pub(crate) fn bytes<F: Arch>(&self) -> u64 {
        self.plan.bytes::<F>()
    }

    /// Returns the bytes of memory that demand MIN takes.
    pub(crate) fn bytes_by_access(&self) -> u64 {
        bytes_by_access(self.string())
    }

    /// Returns demand MIN on the trace's page reference string.
    pub(crate) fn min(&self) -> Result<DemandMin<'_>, ReplayError> {
        min_of(self.string())
    }

    /// Returns the trace's page reference string.
    pub(crate) fn string(&self) -> &ReferenceString {
        self.decoded.string()
    }

    /// Returns the number of frames that the program may use.
    pub(crate) fn frames(&self) -> NonZeroUsize {
        let frames = usize::try_from(self.plan.limit).unwrap_or(usize::MAX);
        NonZeroUsize::new(frames).expect("a limit is at least a page")
    }

    /// Runs the program under one variant. Returns its counts, the engine's operations on tables
    /// and TLBs for each reclaimed page, faults included, and its history.
    pub(crate) fn run<F: Arch>(
        &self,
        variant: Variant,
    ) -> Result<(Decisions, Vec<Metric>), ReplayError> {
        let (counting, journal) = (Counting::of::<F>(), Journal::default());
        let mut arena = self.plan.arena::<F>()?;
        let ground = arena.ground::<F>();
        let world = CountingEnv::new(ground.env, &counting).with_journal(&journal);
        let program = self.play::<F>(ground, &world, &journal, variant)?;
        let decisions = self.plan.decisions(&program, &journal, 0);
        let reclaimed = decisions.reclaimed;
        let counts = counting.counts();
        let counts = if reclaimed > 0 { counts.metrics(reclaimed as f64) } else { Vec::new() };
        Ok((decisions, counts.into_iter().chain(program.history()).collect()))
    }

    /// Runs the program under one variant, then writes each of `commands` to `lru_gen` in a call of
    /// its own. Returns the final content of that file for the root and for the program's cgroup.
    pub(crate) fn generations<F: Arch>(
        &self,
        variant: Variant,
        commands: &[String],
    ) -> Result<String, ReplayError> {
        let (counting, journal) = (Counting::of::<F>(), Journal::default());
        let mut arena = self.plan.arena::<F>()?;
        let ground = arena.ground::<F>();
        let world = CountingEnv::new(ground.env, &counting).with_journal(&journal);
        let program = self.play::<F>(ground, &world, &journal, variant)?;
        Ok(program.lru_gen_after(&world, commands)?)
    }

    /// Plays the trace; returns the program at its end.
    fn play<'a, F: Arch>(
        &'a self,
        ground: Ground<'a, F>,
        world: &CountingEnv<'_, F>,
        journal: &'a Journal,
        variant: Variant,
    ) -> Result<Program<'a, F>, ReplayError> {
        ground.switch_to(variant.lru);
        let mappings = self.decoded.has_mappings();
        let mut program = self.plan.program(ground, journal, variant, mappings);
        self.decoded.play(|step| match step {
            PageStep::Access { page, at, store } => program.access(world, page, at, store),
            PageStep::EpochEnds(nr) => {
                program.end_epochs(nr.into());
                Ok(())
            }
            PageStep::Change(event) => program.play(world, event),
        })?;
        Ok(program)
    }

    /// Returns the metrics of records. With larger folios, pages are also loaded without a demand:
    /// then demand MIN is no bound, and not called one.
    pub(crate) fn metrics(&self, decisions: &Decisions, min: DemandFaults) -> Vec<Metric> {
        let single = self.plan.order.get() == 0;
        let bound = if single { of::BOUND } else { of::OF_SINGLE };
        let refaults = min.refaults as f64;
        let mut metrics = decisions.metrics();
        metrics.push(bound.one(refaults));
        metrics.push(of::BROUGHT_IN.one(min.faults as f64));
        if refaults > 0.0 {
            metrics.push(of::OVER_MIN.one(decisions.refaults() as f64 / refaults));
        }
        metrics
    }
}

impl Decisions {
    /// Returns the number of refaulted pages.
    pub fn refaults(&self) -> u64 {
        self.file_refaults + self.anon_refaults
    }

    /// Returns the metrics of records.
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
