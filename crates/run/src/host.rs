//! Plans on this CPU.

use crate::error::QuestionError;
use crate::inputs::Trace;
use crate::plan::Plan;
use crate::question::Question;
use crate::variants::{Variants, distinct};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::{Compared, Scenario as Of};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::floor::Floors;
use pageout_host::layout::Arena;
use pageout_host::scenario::RunOptions;
use pageout_host::scenarios::reclaim_file;
use pageout_host::{Scenario, check_memory, scenarios};
use pageout_record::schema::{Labels, Record};
use std::num::NonZeroUsize;

/// Bytes of page tables that map the threads' 10 GiB.
const FLOOR_TABLES: usize = 20 << 20;

/// Scenarios on this CPU, which are measured in the same rounds.
pub struct HostPlan {
    all: Vec<Planned>,
    trace: Trace,
    seed: u64,
    rounds: Rounds,
    /// True for the main table, which has floors besides its scenarios.
    floors: bool,
}

/// A scenario with the variants that it is measured under.
struct Planned {
    scenario: Box<dyn Scenario>,
    variants: Vec<Variant>,
    by_stage: bool,
}

impl HostPlan {
    /// Plans a question, with time by stage.
    ///
    /// # Errors
    /// [`QuestionError`] for fields, and for variants that are the same to the scenario.
    pub fn new(
        question: &Question,
        variants: &Variants,
        trace: &Trace,
        seed: u64,
        rounds: Rounds,
    ) -> Result<Self, QuestionError> {
        let all = scenarios(question.scenario, &question.fields, &trace.source)?;
        let variants = variants.of(question.compared);
        let all = all.into_iter().map(|one| Planned::new(one, &variants, true)).collect();
        Self { all, trace: trace.clone(), seed, rounds, floors: false }.checked()
    }

    /// Plans the main table: reclaim of a file on both lists, and a trace.
    ///
    /// # Errors
    /// [`QuestionError`] for variants that are the same.
    pub fn main_table(
        variants: &Variants,
        trace: &Trace,
        seed: u64,
        rounds: Rounds,
    ) -> Result<Self, QuestionError> {
        let steps = variants.of(Compared::Steps);
        let classic = reclaim_file::main_table()
            .into_iter()
            .map(|one| Planned::new(Box::new(one), &steps, reclaim_file::shows_stages(&one)));
        let steps = Compared::Steps.variants(Some(Lru::Mglru));
        let mglru = reclaim_file::mglru_table().into_iter();
        let mglru = mglru.map(|one| Planned::new(Box::new(one), &steps, true));
        let algorithms = variants.of(Compared::Algorithms);
        let traces = scenarios(Of::Trace, &[], &trace.source)?.into_iter();
        let traces = traces.map(|one| Planned::new(one, &algorithms, true));
        let all = classic.chain(mglru).chain(traces).collect();
        Self { all, trace: trace.clone(), seed, rounds, floors: true }.checked()
    }

    fn checked(self) -> Result<Self, QuestionError> {
        self.all.iter().try_for_each(|one| distinct(&one.variants, one.scenario.axes()))?;
        Ok(self)
    }

    /// Returns the plan without time by stage.
    #[must_use]
    pub fn without_stages(mut self) -> Self {
        self.all.iter_mut().for_each(|one| one.by_stage = false);
        self
    }

    /// Returns the base of the comparison, as records have it.
    pub fn base(&self) -> Labels {
        let Planned { scenario, variants, .. } = &self.all[0];
        variants[0].labels(scenario.axes())
    }

    /// Returns the fields of each scenario and the memory that it takes, which is `None` if it is
    /// known only once the scenario has been played.
    pub fn footprints(&self) -> impl Iterator<Item = (Labels, Option<Footprint>)> {
        self.all.iter().map(|one| (one.scenario.labels(), one.scenario.footprint()))
    }

    /// Runs each scenario once under `variant`, writes the commands to `lru_gen`, and returns its
    /// final content for each scenario that leaves generations, with the scenario's fields.
    ///
    /// # Errors
    /// [`QuestionError`], also for the first command that is refused.
    pub fn generations(
        &self,
        variant: Variant,
        commands: &[String],
    ) -> Result<Vec<(Labels, String)>, QuestionError> {
        let mut left = Vec::new();
        for Planned { scenario, .. } in &self.all {
            let text = scenario.generations(variant, self.seed, commands);
            let text = text.map_err(|error| self.trace.failed(error))?;
            left.extend(text.map(|text| (scenario.labels(), text)));
        }
        Ok(left)
    }
}

impl Plan for HostPlan {
    fn check_memory(&self, at_once: NonZeroUsize) -> Result<(), QuestionError> {
        let all = || self.all.iter().map(|one| &*one.scenario);
        Ok(check_memory((0..at_once.get()).flat_map(|_| all()))?)
    }

    fn records(
        &self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, QuestionError> {
        let mut arenas: Vec<Arena> = self.all.iter().map(|one| one.scenario.arena()).collect();
        let mut cells: Vec<Box<dyn Cell + '_>> = Vec::new();
        for (one, arena) in self.all.iter().zip(&mut arenas) {
            let how = RunOptions { seed: self.seed, by_stage: one.by_stage };
            let cell = one.scenario.cell(arena, &one.variants, how);
            cells.push(cell.map_err(|error| self.trace.failed(error))?);
        }
        if self.floors {
            cells.push(Box::new(Floors::new(FLOOR_TABLES)));
        }
        Ok(measure(&mut cells, self.rounds, progress))
    }
}

impl Planned {
    fn new(scenario: Box<dyn Scenario>, variants: &[Variant], by_stage: bool) -> Self {
        Self { scenario, variants: variants.to_vec(), by_stage }
    }
}
