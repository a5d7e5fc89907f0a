//! Ground `model`: the engine on a machine with prices.

use crate::args::{CompareArgs, RunArgs};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Common, Form, MachineArgs, Shown};
use crate::this_run::this_run;
use crate::{fail_on, output, progress, tables};
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::spread::host_threads;
use pageout_experiment::variant::Axes;
use pageout_model::Model;
use pageout_record::compare::LEAST_GAIN;
use pageout_record::schema::{RecordFile, RecordSet};
use pageout_report::{ReportError, Table};
use pageout_run::{ModelPlan, Plan, Question, Trace, Variants, modelled_alone, platform_of};
use std::num::NonZeroUsize;
use std::process::ExitCode;

/// Runs `compare` on this ground.
pub(crate) fn compare(
    question: &Question,
    args: &CompareArgs,
    variants: &Variants,
) -> Result<ExitCode, CliError> {
    let common = &args.common;
    let plan = plan(question, common, variants)?;
    let few = plan.combinations() <= SETTINGS;
    let draws = common.machine.draws.unwrap_or_else(|| default_draws(question.scenario, few));
    let least_gain = args.min_gain.unwrap_or(LEAST_GAIN);
    let plan = plan.with_draws(draws);
    plan.check_memory(NonZeroUsize::MIN)?;
    let mut records = progress::records(&plan, "modelling")?;
    if draws > 0 && (few || common.machine.draws.is_some()) {
        let bar = progress::bar("moving prices");
        plan.add_break_even(least_gain, &mut records, &mut progress::steps(&bar));
        bar.finish_and_clear();
    }
    let base = variants.of(question.compared)[0].labels(Axes::Reclaim);
    let file = RecordFile::from(RecordSet::new(this_run(), records));
    let table = || -> Result<Table, ReportError> {
        Ok(Table::of(&file, &base, None, &DECLARED)?.asking(least_gain))
    };
    let about = about(draws, has_intervals(common.shown));
    let text = |columns| Ok(tables::of_table(&table()?, &file, common.shown, &about, columns));
    let told = output::emit_file(&common.output, &file, || Ok(vec![table()?]), &[], text);
    fail_on::judge(args, &file, &base, None, told)
}

/// Runs `run` on this ground.
pub(crate) fn run(
    args: &RunArgs,
    question: &Question,
    variants: &Variants,
) -> Result<(), CliError> {
    let common = &args.common;
    let given = [(args.sizes, "--sizes"), (!args.lru_gen.is_empty(), "--lru-gen")];
    if let Some((_, option)) = given.into_iter().find(|(given, _)| *given) {
        return Err(CliError::HostAlone(option));
    }
    let plan = plan(question, common, variants)?;
    plan.check_memory(NonZeroUsize::MIN)?;
    if let Some(path) = &args.folded {
        let folded = match plan.combinations() {
            1 => plan.folded()?,
            several => return Err(CliError::FoldedRuns(several)),
        };
        output::to(Some(path), folded.as_bytes())?;
    }
    let set = RecordSet::new(this_run(), progress::records(&plan, "modelling")?);
    let about = about(common.machine.draws.unwrap_or(0), true);
    output::emit(&common.output, &set, &[], |set, columns| {
        tables::figures_of(set, common.shown, &about, columns)
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
    Ok(modelled_alone(platform.is_some(), cores.is_some(), draws.is_some())?)
}

/// Returns the plan of the run.
fn plan(question: &Question, common: &Common, variants: &Variants) -> Result<ModelPlan, CliError> {
    let platform = common.machine.platform.as_deref().map(platform_of).transpose()?;
    let model = Model {
        platform,
        cores: common.machine.cores,
        draws: common.machine.draws.unwrap_or(0),
        runs: common.measuring.runs.map_or(1, u32::from),
        seed: common.measuring.seed,
        threads: host_threads(),
    };
    let trace = Trace::of(common.trace.as_deref())?;
    Ok(ModelPlan::new(question, variants, &trace, model)?)
}

/// Returns true if a comparison shows intervals.
fn has_intervals(shown: Shown) -> bool {
    shown.rows.full || shown.format == Form::List
}

/// Returns the sentences on intervals below tables of this ground, if they have any.
fn about(draws: u32, intervals: bool) -> Vec<String> {
    let drawn = format!(
        "[low, high] of computed times: the 5th and 95th percentile over {draws} draws of all \
         prices from their ranges, the same for every variant"
    );
    if draws > 0 && intervals { vec![drawn] } else { Vec::new() }
}
