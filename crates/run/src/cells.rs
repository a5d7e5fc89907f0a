//! The cells of sweeps, each as a plan on its ground.

use crate::error::{QuestionError, modelled_alone};
use crate::inputs::{Trace, platform_with_text};
use crate::plan::{Plan, Setting, plan};
use crate::question::Question;
use crate::variants::Variants;
use pageout_experiment::rounds::Rounds;
use pageout_experiment::scenarios::Scenario;
use pageout_host::residency::Cuts;
use pageout_machine::platform::Platform;
use pageout_model::Model;
use pageout_record::schema::{Basis, Ground, Record, Run};
use pageout_sweep::{Cell, Runner, checksum};
use pageout_trace::source::TraceSource;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// The traces and platforms that cells name, each read once.
#[derive(Debug)]
pub struct Cells {
    this_run: fn() -> Run,
    /// The trace that is taken if none is named.
    default: Trace,
    traces: BTreeMap<String, Trace>,
    platforms: BTreeMap<String, Platform>,
    /// Checksums of the traces and platforms.
    inputs: BTreeMap<String, String>,
}

impl Cells {
    /// Reads the traces and platforms that cells name, and makes the cells' file names absolute.
    /// `this_run` describes a run that begins now.
    ///
    /// # Errors
    /// [`QuestionError`] for a trace or platform that cannot be read.
    pub fn of(cells: &mut [Cell], this_run: fn() -> Run) -> Result<Self, QuestionError> {
        let mut all = Self {
            this_run,
            default: Trace::default(),
            traces: BTreeMap::new(),
            platforms: BTreeMap::new(),
            inputs: BTreeMap::new(),
        };
        for cell in cells {
            if let Some(name) = &mut cell.trace {
                all.trace(name)?;
            }
            if let Some(name) = &mut cell.platform {
                all.platform(name)?;
            }
        }
        Ok(all)
    }

    fn trace(&mut self, name: &mut String) -> Result<(), QuestionError> {
        if TraceSource::sample(name).is_none() {
            *name = absolute(name);
        }
        if !self.traces.contains_key(name) {
            let trace = Trace::of(Some(Path::new(name)))?;
            // A trace that is damaged, or that no cell can replay, is refused before any run.
            Cuts::of_trace(&trace.source).map_err(|error| trace.failed(error))?;
            self.inputs.insert(format!("trace {name}"), trace.source.sha256());
            self.traces.insert(name.clone(), trace);
        }
        Ok(())
    }

    fn platform(&mut self, name: &mut String) -> Result<(), QuestionError> {
        if Platform::file(name).is_none() {
            *name = absolute(name);
        }
        if !self.platforms.contains_key(name) {
            let (platform, text) = platform_with_text(name)?;
            self.inputs.insert(format!("platform {name}"), checksum(text.as_bytes()));
            self.platforms.insert(name.clone(), platform);
        }
        Ok(())
    }

    /// Returns the checksums of the traces and platforms that the cells name.
    pub const fn inputs(&self) -> &BTreeMap<String, String> {
        &self.inputs
    }

    /// Checks that a cell can be run, without checking memory.
    ///
    /// # Errors
    /// [`QuestionError`].
    pub fn check(&self, cell: &Cell) -> Result<(), QuestionError> {
        self.plan(cell, NonZeroUsize::MIN).map(drop)
    }

    /// Plans a cell, to run on `threads` threads.
    pub(crate) fn plan(
        &self,
        cell: &Cell,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Plan>, QuestionError> {
        let question = question(cell)?;
        let (base, others) = cell.variants.split_first().unzip();
        let variants = Variants::read(base.map(String::as_str), others, question.lru)?;
        let trace = cell.trace.as_ref().map_or(&self.default, |name| &self.traces[name]);
        plan(&question, &variants, trace, self.setting(cell, &question, threads)?)
    }

    /// Returns the way in which the cell's ground runs it.
    fn setting(
        &self,
        cell: &Cell,
        question: &Question,
        threads: NonZeroUsize,
    ) -> Result<Setting, QuestionError> {
        if cell.ground == Ground::Model {
            return Ok(Setting::Model(self.model(cell, threads)));
        }
        modelled_alone(cell.platform.is_some(), cell.cores.is_some(), cell.draws.is_some())?;
        // Counts are the same in every round.
        let timed = cell.runs.map_or(Rounds::DEFAULT, |runs| Rounds::Exactly(runs.into()));
        let rounds = if measures(cell, question) { timed } else { Rounds::Exactly(1) };
        Ok(Setting::Host { seed: cell.seed, rounds, by_stage: cell.times })
    }

    /// Returns the machine of a cell.
    fn model(&self, cell: &Cell, threads: NonZeroUsize) -> Model {
        Model {
            platform: cell.platform.as_ref().map(|name| self.platforms[name].clone()),
            cores: cell.cores,
            draws: cell.draws.unwrap_or(0),
            runs: cell.runs.map_or(1, u32::from),
            seed: cell.seed,
            threads,
        }
    }
}

impl Runner for Cells {
    fn this_run(&self) -> Run {
        (self.this_run)()
    }

    fn is_timed(&self, cell: &Cell) -> bool {
        question(cell).is_ok_and(|question| measures(cell, &question))
    }

    fn fits(&self, cell: &Cell, at_once: NonZeroUsize) -> bool {
        let plan = self.plan(cell, NonZeroUsize::MIN);
        plan.is_ok_and(|plan| plan.check_memory(at_once).is_ok())
    }

    fn run(&self, cell: &Cell, threads: NonZeroUsize) -> Result<Vec<Record>, String> {
        let records = || {
            let plan = self.plan(cell, threads)?;
            plan.check_memory(NonZeroUsize::MIN)?;
            plan.records(&mut |_, _| {})
        };
        records().map_err(|error: QuestionError| error.message())
    }
}

/// Returns the question of a cell.
fn question(cell: &Cell) -> Result<Question, QuestionError> {
    let scenario = Scenario::find(&cell.scenario)?;
    Question::new(scenario, cell.ground, &cell.arguments(), cell.trace.is_some())
}

/// Returns true if the cell measures times.
fn measures(cell: &Cell, question: &Question) -> bool {
    cell.times && question.metrics.iter().any(|metric| metric.basis == Basis::Measured)
}

/// Returns the absolute path of a file, if there is one.
fn absolute(name: &str) -> String {
    let found =
        fs::canonicalize(name).ok().and_then(|path| path.into_os_string().into_string().ok());
    found.unwrap_or_else(|| name.to_owned())
}
