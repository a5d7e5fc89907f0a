//! Ground `model`: the engine on a machine with prices.

use crate::args::{CompareArgs, RunArgs};
use crate::declared::DECLARED;
use crate::error::{CliError, unread};
use crate::options::{Common, Form, MachineArgs, Shown};
use crate::request::Request;
use crate::request::distinct;
use crate::this_run::this_run;
use crate::trace::{failed, source_of};
use crate::{fail_on, output, progress, tables};
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::spread::host_threads;
use pageout_experiment::variant::{Axes, Variant};
use pageout_experiment::{input, shown};
use pageout_machine::platform::Platform;
use pageout_model::{Model, Scenarios, scenarios};
use pageout_record::compare::LEAST_GAIN;
use pageout_record::schema::{Record, RecordFile, RecordSet};
use pageout_report::{ReportError, Table};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs `compare` on this ground.
pub(crate) fn compare(
    request: &Request,
    args: &CompareArgs,
    variants: &[Variant],
) -> Result<ExitCode, CliError> {
    let common = &args.common;
    let scenario = request.scenario.expect("this ground has no main table");
    let model = model_of(common)?;
    let plan = plan(request, common, &model)?;
    let few = plan.all.combinations() <= SETTINGS;
    let draws = common.machine.draws.unwrap_or_else(|| default_draws(scenario, few));
    let least_gain = args.min_gain.unwrap_or(LEAST_GAIN);
    let moves = draws > 0 && (few || common.machine.draws.is_some());
    let (model, moved) = (Model { draws, ..model }, moves.then_some(least_gain));
    distinct(variants, Axes::Reclaim)?;
    plan.all.check_memory(variants.len(), &model)?;
    let set = RecordSet::new(this_run(), plan.compared(variants, &model, moved)?);
    let base = variants[0].labels(Axes::Reclaim);
    let file = RecordFile::from(set);
    let table = || -> Result<Table, ReportError> {
        Ok(Table::of(&file, &base, None, &DECLARED)?.asking(least_gain))
    };
    let about = about(&model, has_intervals(common.shown));
    let text = |columns| Ok(tables::of_table(&table()?, &file, common.shown, &about, columns));
    let told = output::emit_file(&common.output, &file, || Ok(vec![table()?]), &[], text);
    fail_on::judge(args, &file, &base, None, told)
}

/// Runs `run` on this ground.
pub(crate) fn run(args: &RunArgs, request: &Request, variant: Variant) -> Result<(), CliError> {
    let common = &args.common;
    let given = [(args.sizes, "--sizes"), (!args.lru_gen.is_empty(), "--lru-gen")];
    if let Some((_, option)) = given.into_iter().find(|(given, _)| *given) {
        return Err(CliError::HostAlone(option));
    }
    let model = model_of(common)?;
    let plan = plan(request, common, &model)?;
    plan.all.check_memory(1, &model)?;
    if let Some(path) = &args.folded {
        output::to(Some(path), plan.folded(&model, variant)?.as_bytes())?;
    }
    let set = RecordSet::new(this_run(), plan.records(&[variant], &model)?);
    output::emit(&common.output, &set, &[], |set, columns| {
        tables::figures_of(set, common.shown, &about(&model, true), columns)
    })
}

/// The maximum number of machines and settings whose break-even prices are computed without
/// `--draws`.
const SETTINGS: usize = 2;

/// Returns the default number of draws of a comparison: as many as take a few seconds. A trace
/// takes long, and has none.
const fn default_draws(scenario: Scenario, few: bool) -> u32 {
    match (scenario, few) {
        (Scenario::Trace, _) => 0,
        (_, true) => 20,
        (_, false) => 10,
    }
}

/// Returns an error for options that only this ground takes.
pub(crate) fn refuse(machine: &MachineArgs) -> Result<(), CliError> {
    let MachineArgs { platform, cores, draws } = machine;
    let given = [
        (platform.is_some(), "--platform"),
        (cores.is_some(), "--cores"),
        (draws.is_some(), "--draws"),
    ];
    let found = given.into_iter().find(|(given, _)| *given);
    found.map_or(Ok(()), |(_, option)| Err(CliError::ModelAlone(option)))
}

/// Returns the machine that the arguments ask for.
pub(crate) fn model_of(common: &Common) -> Result<Model, CliError> {
    let platform = common.machine.platform.as_deref().map(platform_of).transpose()?;
    Ok(Model {
        platform,
        cores: common.machine.cores,
        draws: common.machine.draws.unwrap_or(0),
        runs: common.measuring.runs.map_or(1, u32::from),
        seed: common.measuring.seed,
        threads: host_threads(),
    })
}

/// Returns a platform by its name, or else from a file.
pub(crate) fn platform_of(platform: &str) -> Result<Platform, CliError> {
    Ok(platform_with_text(platform)?.0)
}

/// Returns a platform by its name, or else from a file, with the text that it was read from.
pub(crate) fn platform_with_text(
    platform: &str,
) -> Result<(Platform, Cow<'static, str>), CliError> {
    if let Some((named, text)) = Platform::named(platform).zip(Platform::file(platform)) {
        return Ok((named, text.into()));
    }
    let path = Path::new(platform);
    let text = input::read_text(path, input::MAX_TEXT)
        .map_err(|error| unread("platform", path, error, Platform::names()))?;
    let parsed = Platform::parse(platform, &text)?;
    if shown(parsed.name()) != parsed.name() {
        return Err(CliError::PlatformName { file: platform.to_owned() });
    }
    Ok((parsed, text.into()))
}

/// Returns the plan of the run.
fn plan(request: &Request, common: &Common, model: &Model) -> Result<Plan, CliError> {
    let scenario = request.scenario.expect("this ground has no main table");
    let trace = common.trace.clone();
    let source = source_of(trace.as_deref())?;
    let all = scenarios(scenario, &request.fields, &source, model)?;
    Ok(Plan { all, trace })
}

/// Scenarios made from several values of the fields.
struct Plan {
    all: Box<dyn Scenarios>,
    /// The sample or file of the trace, if one was named.
    trace: Option<PathBuf>,
}

impl Plan {
    fn records(&self, variants: &[Variant], model: &Model) -> Result<Vec<Record>, CliError> {
        let bar = progress::bar("modelling");
        let records = self.all.records(variants, model, &mut progress::steps(&bar));
        bar.finish_and_clear();
        records.map_err(|error| failed(error, self.trace.as_deref()))
    }

    /// Returns the records of a comparison; if a gain is asked for, with the whole along each
    /// price.
    fn compared(
        &self,
        variants: &[Variant],
        model: &Model,
        moved: Option<f64>,
    ) -> Result<Vec<Record>, CliError> {
        let mut records = self.records(variants, model)?;
        if let Some(least_gain) = moved {
            let bar = progress::bar("moving prices");
            let steps = &mut progress::steps(&bar);
            self.all.add_break_even(variants, model, least_gain, &mut records, steps);
            bar.finish_and_clear();
        }
        Ok(records)
    }

    fn folded(&self, model: &Model, variant: Variant) -> Result<String, CliError> {
        match self.all.combinations() {
            1 => {
                let folded = self.all.folded(model, variant);
                folded.map_err(|error| failed(error, self.trace.as_deref()))
            }
            several => Err(CliError::FoldedRuns(several)),
        }
    }
}

/// Returns true if a comparison shows intervals.
fn has_intervals(shown: Shown) -> bool {
    shown.rows.full || shown.format == Form::List
}

/// Returns the sentences on intervals below tables of this ground, if they have any.
fn about(model: &Model, intervals: bool) -> Vec<String> {
    let drawn = format!(
        "[low, high] of computed times: the 5th and 95th percentile over {} draws of all prices \
         from their ranges, the same for every variant",
        model.draws
    );
    if model.draws > 0 && intervals { vec![drawn] } else { Vec::new() }
}
