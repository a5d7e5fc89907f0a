//! Ground `model`: the engine on a machine with prices.

use crate::args::{CompareArgs, RunArgs};
use crate::error::CliError;
use crate::options::{Common, MachineArgs};
use crate::request::Request;
use crate::request::distinct;
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::trace::{name_of, source_of};
use crate::{fail_on, output, progress, tables, thpscale as table_of_thpscale};
use pageout_experiment::input;
use pageout_experiment::scenarios::Scenario;
use pageout_experiment::variant::{Axes, Variant};
use pageout_machine::platform::Platform;
use pageout_model::access_patterns::{self, AccessPatterns};
use pageout_model::fork_heavy::ForkHeavy;
use pageout_model::memcg_trace::PricedTrace;
use pageout_model::pageout_shared::PageoutShared;
use pageout_model::reclaim_file::Priced;
use pageout_model::thpscale::Thpscale;
use pageout_model::{Model, Scenario as _, host_threads};
use pageout_record::schema::{Record, RecordSet};
use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

/// `compare` on this ground.
pub(crate) fn compare(
    request: &Request,
    args: &CompareArgs,
    variants: &[Variant],
) -> Result<ExitCode, CliError> {
    let common = &args.common;
    let model = model_of(common)?;
    let all = scenarios(request, common, &model)?;
    distinct(variants, Axes::Reclaim)?;
    all.check_memory(variants.len(), &model)?;
    output::check(&common.output.paths(), &common.inputs())?;
    let set = RecordSet::new(this_run(), all.records(variants, &model)?);
    let base = variants[0].labels(Axes::Reclaim);
    let compared = [(&set, &base)];
    let told = output::emit(&common.output, &set, &compared, |set| match all {
        Scenarios::AccessPatterns(_) => Ok(access_patterns::table(set)),
        Scenarios::Thpscale(_) => Ok(table_of_thpscale::table(set, &base)),
        _ => Ok(comparison(set, &base, common.rows)? + &about(&model)),
    });
    fail_on::judge(args, &set.into(), &base, None, told)
}

/// `run` on this ground.
pub(crate) fn run(args: &RunArgs, request: &Request, variant: Variant) -> Result<(), CliError> {
    let common = &args.common;
    let given = [(args.sizes, "--sizes"), (!args.lru_gen.is_empty(), "--lru-gen")];
    if let Some((_, option)) = given.into_iter().find(|(given, _)| *given) {
        return Err(CliError::HostAlone(option));
    }
    let model = model_of(common)?;
    let all = scenarios(request, common, &model)?;
    all.check_memory(1, &model)?;
    let [text, page] = common.output.paths();
    output::check(&[text, page, args.folded.as_deref()], &common.inputs())?;
    if let Some(path) = &args.folded {
        output::to(Some(path), all.folded(&model, variant)?.as_bytes())?;
    }
    let set = RecordSet::new(this_run(), all.records(&[variant], &model)?);
    output::emit(&common.output, &set, &[], |set| {
        let own = match all {
            Scenarios::Thpscale(_) => {
                table_of_thpscale::table(set, &variant.labels(Axes::Reclaim)) + "\n"
            }
            _ => String::new(),
        };
        Ok(own + &tables::metrics(set, common.rows) + &about(&model))
    })
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
    let text = input::read_text(Path::new(platform), input::MAX_TEXT).map_err(|source| {
        let names = Platform::names().collect::<Vec<_>>().join(", ");
        CliError::OpenPlatform { platform: platform.to_owned(), names, source }
    })?;
    Ok((Platform::parse(platform, &text)?, text.into()))
}

/// What is to be run.
enum Scenarios {
    ReclaimFile(Vec<Priced>),
    AccessPatterns(Vec<AccessPatterns>),
    Thpscale(Vec<Thpscale>),
    PageoutShared(Vec<PageoutShared>),
    ForkHeavy(Vec<ForkHeavy>),
    /// With what the trace is called.
    Trace(Vec<PricedTrace>, String),
}

impl Scenarios {
    fn records(&self, variants: &[Variant], model: &Model) -> Result<Vec<Record>, CliError> {
        let bar = progress::bar("modelling");
        let steps = &mut progress::steps(&bar);
        let records = match self {
            Self::ReclaimFile(all) => Ok(Priced::records(all, variants, model, steps)),
            Self::AccessPatterns(all) => Ok(AccessPatterns::records(all, variants, model, steps)),
            Self::Thpscale(all) => Ok(Thpscale::records(all, variants, model, steps)),
            Self::PageoutShared(all) => Ok(PageoutShared::records(all, variants, model, steps)),
            Self::ForkHeavy(all) => Ok(ForkHeavy::records(all, variants, model, steps)),
            Self::Trace(all, name) => {
                let records = PricedTrace::records(all, variants, model, steps);
                records.map_err(|source| CliError::Replay { name: name.clone(), source })
            }
        };
        bar.finish_and_clear();
        records
    }

    /// Refuses what memory is not there for; of a trace that is known when it has been read.
    fn check_memory(&self, variants: usize, model: &Model) -> Result<(), CliError> {
        match self {
            Self::ReclaimFile(all) => Priced::check_memory(all, variants, model)?,
            Self::AccessPatterns(all) => AccessPatterns::check_memory(all, variants, model)?,
            Self::Thpscale(all) => Thpscale::check_memory(all, variants, model)?,
            Self::PageoutShared(all) => PageoutShared::check_memory(all, variants, model)?,
            Self::ForkHeavy(all) => ForkHeavy::check_memory(all, variants, model)?,
            Self::Trace(..) => {}
        }
        Ok(())
    }

    fn folded(&self, model: &Model, variant: Variant) -> Result<String, CliError> {
        match self {
            Self::ReclaimFile(all) => Ok(only(all)?.folded(model, variant)),
            Self::AccessPatterns(all) => Ok(only(all)?.folded(model, variant)),
            Self::Thpscale(all) => Ok(only(all)?.folded(model, variant)),
            Self::PageoutShared(all) => Ok(only(all)?.folded(model, variant)),
            Self::ForkHeavy(all) => Ok(only(all)?.folded(model, variant)),
            Self::Trace(all, name) => {
                let folded = only(all)?.folded(model, variant);
                folded.map_err(|source| CliError::Replay { name: name.clone(), source })
            }
        }
    }
}

/// The one scenario whose folded stacks are asked for.
fn only<S>(all: &[S]) -> Result<&S, CliError> {
    match all {
        [one] => Ok(one),
        all => Err(CliError::FoldedRuns(all.len())),
    }
}

fn scenarios(request: &Request, common: &Common, model: &Model) -> Result<Scenarios, CliError> {
    let fields = &request.fields;
    Ok(match request.scenario {
        Some(Scenario::ReclaimFile) => Scenarios::ReclaimFile(Priced::parse(fields, model)?),
        Some(Scenario::AccessPatterns) => {
            Scenarios::AccessPatterns(AccessPatterns::parse(fields, model)?)
        }
        Some(Scenario::Thpscale) => Scenarios::Thpscale(Thpscale::parse(fields, model)?),
        Some(Scenario::PageoutShared) => {
            Scenarios::PageoutShared(PageoutShared::parse(fields, model)?)
        }
        Some(Scenario::ForkHeavy) => Scenarios::ForkHeavy(ForkHeavy::parse(fields, model)?),
        Some(Scenario::Trace) => {
            let trace = common.trace.as_deref();
            let all = PricedTrace::parse(fields, &source_of(trace)?, model)?;
            Scenarios::Trace(all, name_of(trace))
        }
        None | Some(Scenario::AgeFile | Scenario::MadvFree | Scenario::AgingRounds) => {
            unreachable!("a request names a scenario of its ground")
        }
    })
}

/// What tables on this ground need said.
fn about(model: &Model) -> String {
    match model.draws {
        0 => String::new(),
        draws => format!(
            "[low, high] of computed times: the 5th and 95th percentile over {draws} draws of all \
             prices from\ntheir ranges, the same for every variant\n"
        ),
    }
}
