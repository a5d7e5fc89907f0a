//! Ground `model`: the engine on a machine with prices.

use crate::args::{Common, MachineArgs, RunArgs};
use crate::compare::{distinct, table};
use crate::error::CliError;
use crate::{output, progress, tables};
use pageout_machine::platform::Platform;
use pageout_record::schema::{Record, RecordSet};
use pageout_sim::model::{Model, host_threads};
use pageout_sim::reclaim_file::Priced;
use pageout_sim::this_machine::this_run;
use pageout_sim::variant::{Axes, Variant};
use std::borrow::Cow;
use std::fs;

/// `compare` on this ground.
pub(crate) fn compare(
    scenario: Option<&str>,
    fields: &[String],
    common: &Common,
    variants: &[Variant],
) -> Result<(), CliError> {
    let model = model_of(common)?;
    let all = scenarios(scenario, fields, common, &model)?;
    distinct(variants, Axes::Reclaim)?;
    output::check(&common.output)?;
    let set = RecordSet::new(this_run(), records(&all, variants, &model));
    let base = variants[0].labels(Axes::Reclaim);
    output::emit(&common.output, &set, |set| Ok(table(set, &base)? + &about(&model)))
}

/// `run` on this ground.
pub(crate) fn run(args: &RunArgs, fields: &[String], variant: Variant) -> Result<(), CliError> {
    let common = &args.common;
    let given = [(args.sizes, "--sizes"), (!args.lru_gen.is_empty(), "--lru-gen")];
    if let Some((_, option)) = given.into_iter().find(|(given, _)| *given) {
        return Err(CliError::HostAlone(option));
    }
    let model = model_of(common)?;
    let all = scenarios(Some(&args.scenario), fields, common, &model)?;
    output::check(&common.output)?;
    if let Some(path) = &args.folded {
        let [one] = &all[..] else {
            return Err(CliError::FoldedRuns(all.len()));
        };
        output::check_path(path)?;
        output::to(Some(path), one.folded(&model, variant).as_bytes())?;
    }
    let set = RecordSet::new(this_run(), records(&all, &[variant], &model));
    output::emit(&common.output, &set, |set| Ok(tables::metrics(set) + &about(&model)))
}

/// Refuses what only this ground looks at.
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

/// The machine that the arguments ask for.
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

/// A platform by its name, or else from a file.
pub(crate) fn platform_of(platform: &str) -> Result<Platform, CliError> {
    Ok(platform_with_text(platform)?.0)
}

/// The same, with the text it was read from.
pub(crate) fn platform_with_text(
    platform: &str,
) -> Result<(Platform, Cow<'static, str>), CliError> {
    if let Some((named, text)) = Platform::named(platform).zip(Platform::file(platform)) {
        return Ok((named, text.into()));
    }
    let text = fs::read_to_string(platform).map_err(|source| {
        let names = Platform::names().collect::<Vec<_>>().join(", ");
        CliError::OpenPlatform { platform: platform.to_owned(), names, source }
    })?;
    Ok((Platform::parse(platform, &text)?, text.into()))
}

fn scenarios(
    scenario: Option<&str>,
    fields: &[String],
    common: &Common,
    model: &Model,
) -> Result<Vec<Priced>, CliError> {
    match scenario {
        Some("reclaim-file") if common.trace.is_none() => Ok(Priced::parse(fields, model)?),
        Some("reclaim-file") => Err(CliError::TraceNotUsed("reclaim-file".to_owned())),
        Some(known @ ("age-file" | "aging-rounds" | "trace")) => {
            Err(CliError::NotOnModel(known.to_owned()))
        }
        Some(field) if field.contains('=') => {
            Err(CliError::FieldsWithoutScenario(field.to_owned()))
        }
        Some(unknown) => Err(CliError::UnknownScenario(unknown.to_owned())),
        None => Err(CliError::NotOnModel("the main table".to_owned())),
    }
}

fn records(all: &[Priced], variants: &[Variant], model: &Model) -> Vec<Record> {
    let bar = progress::bar("modelling");
    let records = Priced::records(all, variants, model, &mut progress::steps(&bar));
    bar.finish_and_clear();
    records
}

/// What tables on this ground need said.
fn about(model: &Model) -> String {
    match model.draws {
        0 => String::new(),
        draws => format!(
            "low, high: the 5th and 95th percentile over {draws} draws of all prices from their \
             ranges, the same\nfor every variant\n"
        ),
    }
}
