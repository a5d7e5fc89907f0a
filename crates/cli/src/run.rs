//! `run`: one variant of a scenario, or the memory that the scenario takes.

use crate::args::RunArgs;
use crate::compare::host_setting;
use crate::error::CliError;
use crate::options::Form;
use crate::this_run::this_run;
use crate::{model, output, paths, progress, request, tables};
use pageout_experiment::rounds::Rounds;
use pageout_experiment::variant::{Lru, Variant};
use pageout_record::render::wrapped;
use pageout_record::schema::{Ground, RecordSet};
use pageout_run::{HostPlan, Plan, QuestionError, Trace, Variants};
use std::num::NonZeroUsize;

pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    let common = &args.common;
    paths::check(common, &[args.folded.as_deref()])?;
    let question = request::named(&args.scenario, &args.fields, common)?;
    let variant = Variant::parse_on(question.lru, &args.variant)?;
    let variants = Variants::one(variant);
    if common.ground == Ground::Model {
        return model::run(args, &question, &variants);
    }
    if args.folded.is_some() {
        return Err(QuestionError::ModelAlone("--folded").into());
    }
    let (seed, rounds) = host_setting(common, Rounds::DEFAULT)?;
    let trace = Trace::of(common.trace.as_deref())?;
    let plan = HostPlan::new(&question, &variants, &trace, seed, rounds)?;
    plan.check_memory(NonZeroUsize::MIN)?;
    if args.sizes {
        return sizes(&plan, args);
    }
    let generations = generations(&plan, variant, args)?;
    let set = RecordSet::new(this_run(), progress::records(&plan, "measuring")?);
    output::emit(&common.output, &set, &[], |set, columns| {
        Ok(tables::figures_of(set, common.shown, &[], columns)? + &generations)
    })
}

/// Prints the memory that each scenario takes.
fn sizes(plan: &HostPlan, args: &RunArgs) -> Result<(), CliError> {
    let output = &args.common.output;
    let columns = output.columns();
    let size = |(fields, footprint): (_, Option<_>)| {
        let footprint = footprint.ok_or(CliError::SizesOfTrace)?;
        Ok(tables::footprint(&fields, &footprint, columns))
    };
    let sizes = plan.footprints().map(size).collect::<Result<String, CliError>>()?;
    output::to(output.output.as_deref(), wrapped(&sizes, columns).as_bytes())
}

/// Returns a text of the generations that each scenario leaves after its commands; empty if there
/// are none. These runs are not the measured ones, and come first, so that a refused command ends
/// the program early.
fn generations(plan: &HostPlan, variant: Variant, args: &RunArgs) -> Result<String, CliError> {
    let (commands, shown) = (&args.lru_gen, args.common.shown);
    let printed = shown.format == Form::Table && args.common.output.is_text();
    let left = match variant.lru == Lru::Mglru && printed {
        true => plan.generations(variant, commands)?,
        false => Vec::new(),
    };
    if left.is_empty() && !commands.is_empty() {
        return Err(CliError::NoGenerations);
    }
    Ok(left.iter().map(|(fields, text)| tables::generations(fields, text)).collect())
}
