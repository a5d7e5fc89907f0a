//! Cells, paired with the plans that run them on their ground.

use crate::compare::{Plan, Variants};
use crate::error::CliError;
use crate::model::{self, platform_with_text};
use crate::options::{Common, Form, MachineArgs, Measuring, Output, Rows, Shown};
use crate::request::{Request, distinct};
use crate::this_run::this_run;
use crate::trace::{failed, source_of};
use pageout_experiment::rounds::Rounds;
use pageout_experiment::variant::{Axes, Variant};
use pageout_host::residency::Cuts;
use pageout_machine::platform::Platform;
use pageout_model::{Model, Scenarios, scenarios};
use pageout_record::schema::{Basis, Ground, Record, Run};
use pageout_sweep::{Cell, Runner, checksum};
use pageout_trace::source::TraceSource;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Traces and platforms that cells name, each read once.
#[derive(Debug, Default)]
pub(super) struct Bench {
    /// The trace that is taken if none is named.
    default: TraceSource,
    traces: BTreeMap<String, TraceSource>,
    platforms: BTreeMap<String, Platform>,
    /// Checksums of the traces and platforms.
    inputs: BTreeMap<String, String>,
}

/// A cell that can be run.
enum Prepared {
    Host(Plan),
    Model { all: Box<dyn Scenarios>, variants: Vec<Variant> },
}

impl Bench {
    /// Reads the traces and platforms that cells name, and makes the cells' file names absolute.
    ///
    /// # Errors
    /// [`CliError`] for a trace or platform that cannot be read.
    pub(super) fn of(cells: &mut [Cell]) -> Result<Self, CliError> {
        let mut bench = Self::default();
        for cell in cells {
            if let Some(name) = &mut cell.trace {
                bench.trace(name)?;
            }
            if let Some(name) = &mut cell.platform {
                bench.platform(name)?;
            }
        }
        Ok(bench)
    }

    fn trace(&mut self, name: &mut String) -> Result<(), CliError> {
        if TraceSource::sample(name).is_none() {
            *name = absolute(name);
        }
        if !self.traces.contains_key(name) {
            let path = Some(Path::new(name));
            let source = source_of(path)?;
            // A trace that is damaged, or that no cell can replay, is refused before any run.
            Cuts::of_trace(&source).map_err(|error| failed(error, path))?;
            self.inputs.insert(format!("trace {name}"), source.sha256());
            self.traces.insert(name.clone(), source);
        }
        Ok(())
    }

    fn platform(&mut self, name: &mut String) -> Result<(), CliError> {
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
    pub(super) const fn inputs(&self) -> &BTreeMap<String, String> {
        &self.inputs
    }

    /// Checks that a cell can be run, without checking memory.
    ///
    /// # Errors
    /// [`CliError`].
    pub(super) fn check(&self, cell: &Cell) -> Result<(), CliError> {
        self.prepared(cell, &self.model(cell, NonZeroUsize::MIN)).map(drop)
    }

    fn prepared(&self, cell: &Cell, model: &Model) -> Result<Prepared, CliError> {
        let common = common(cell);
        let request = Request::new(Some(&cell.scenario), &cell.arguments(), &common)?;
        let scenario = request.scenario.expect("a cell has a scenario");
        let variants = Variants::of_cell(&cell.variants, request.lru)?;
        let trace = cell.trace.as_ref().map_or(&self.default, |name| &self.traces[name]);
        if cell.ground == Ground::Model {
            let all = scenarios(scenario, &request.fields, trace, model)?;
            let variants = variants.of(request.compared);
            distinct(&variants, Axes::Reclaim)?;
            return Ok(Prepared::Model { all, variants });
        }
        model::refuse(&common.machine)?;
        Ok(Prepared::Host(Plan::of_scenario(scenario, &request, &variants, trace, cell.times)?))
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

    fn records(&self, cell: &Cell, threads: NonZeroUsize) -> Result<Vec<Record>, CliError> {
        let model = self.model(cell, threads);
        let prepared = self.prepared(cell, &model)?;
        prepared.check_memory(&model, NonZeroUsize::MIN)?;
        let silent = &mut |_, _| {};
        let records = match prepared {
            Prepared::Host(plan) => {
                // Counts are the same in every round.
                let timed = cell.runs.map_or(Rounds::DEFAULT, |runs| Rounds::Exactly(runs.into()));
                let rounds = if self.is_timed(cell) { timed } else { Rounds::Exactly(1) };
                plan.measured(cell.seed, rounds, silent)
            }
            Prepared::Model { all, variants } => all.records(&variants, &model, silent),
        };
        records.map_err(|error| failed(error, cell.trace.as_deref().map(Path::new)))
    }
}

impl Prepared {
    fn check_memory(&self, model: &Model, at_once: NonZeroUsize) -> Result<(), CliError> {
        match self {
            Self::Host(plan) => plan.check_memory(at_once.get()),
            Self::Model { all, variants } => {
                let threads = model.threads.saturating_mul(at_once);
                let model = Model { threads, ..model.clone() };
                Ok(all.check_memory(variants.len() * at_once.get(), &model)?)
            }
        }
    }
}

impl Runner for Bench {
    fn this_run(&self) -> Run {
        this_run()
    }

    fn is_timed(&self, cell: &Cell) -> bool {
        let request = Request::new(Some(&cell.scenario), &cell.arguments(), &common(cell));
        let measured =
            |request: Request| request.metrics.iter().any(|metric| metric.basis == Basis::Measured);
        cell.times && request.is_ok_and(measured)
    }

    fn fits(&self, cell: &Cell, at_once: NonZeroUsize) -> bool {
        let model = self.model(cell, NonZeroUsize::MIN);
        let prepared = self.prepared(cell, &model);
        prepared.is_ok_and(|one| one.check_memory(&model, at_once).is_ok())
    }

    fn run(&self, cell: &Cell, threads: NonZeroUsize) -> Result<Vec<Record>, String> {
        self.records(cell, threads).map_err(|error| error.message())
    }
}

/// Returns the common options as a command line for the cell would give them.
fn common(cell: &Cell) -> Common {
    let Cell { ground, seed, runs, draws, cores, platform, trace, .. } = cell.clone();
    Common {
        ground,
        machine: MachineArgs { platform, cores, draws },
        trace: trace.map(PathBuf::from),
        measuring: Measuring { runs, seed },
        shown: Shown { rows: Rows { full: false }, format: Form::Table },
        output: Output { json: false, csv: false, output: None, html: None },
    }
}

/// Returns the absolute path of a file, if there is one.
fn absolute(name: &str) -> String {
    let found =
        fs::canonicalize(name).ok().and_then(|path| path.into_os_string().into_string().ok());
    found.unwrap_or_else(|| name.to_owned())
}
