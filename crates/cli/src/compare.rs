//! `compare`, and the main table: variants against a base.

use crate::args::CompareArgs;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Common, Form, Shown};
use crate::request::asked;
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::{fail_on, files, help, model, output, paths, progress, tables};
use pageout_experiment::declare::Declared;
use pageout_experiment::rounds::Rounds;
use pageout_experiment::scenarios::metrics::reclaim_file::{SAMPLING_ERROR, WHILE_SAMPLED, WHOLE};
use pageout_experiment::scenarios::{Compared, ReclaimFile};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_record::compare::compare as compare_records;
use pageout_record::render;
use pageout_record::schema::{Basis, Ground, Labels, Metric, Record, RecordSet};
use pageout_reproduce::published;
use pageout_run::{HostPlan, Plan, Question, QuestionError, Trace, Variants};
use std::num::NonZeroUsize;
use std::process::ExitCode;

const CAUTION: &str = "\
All young means every entry. With contiguous TLB entries hardware may set one entry of a block \
for all of them: that leaves per-entry and batched as they are on arm64-4k and spares line its atomics. \
Compare nanoseconds saved per page, not percentages: around what is batched, Linux's reclaim has \
more fixed cost than ours, so the percentages above are larger by nature. Rows called arm64-4k or \
x86-64 are that entry format and its algorithm on this CPU, whatever it is. Stages are the time \
measured with nobody looking, shared out as a sampler on another CPU saw them in runs of their own.
";

pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, CliError> {
    if let Some(named) = files::named(args) {
        return files::compare(&named, args);
    }
    files::refuse(args)?;
    let common = &args.common;
    paths::check(common, &[])?;
    let question = asked(args.scenario.as_deref(), &args.fields, common)?;
    if let Some(question) = &question {
        fail_on::check(args, question.scenario.name(), &question.metrics)?;
    }
    let new = (!args.new.is_empty()).then_some(&args.new[..]);
    let lru = question.as_ref().and_then(|question| question.lru);
    let variants = Variants::read(args.base.as_deref(), new, lru)?;
    match question {
        Some(question) if common.ground == Ground::Model => {
            model::compare(&question, args, &variants)
        }
        question => on_host(question.as_ref(), args, &variants),
    }
}

/// Compares on this CPU.
fn on_host(
    question: Option<&Question>,
    args: &CompareArgs,
    variants: &Variants,
) -> Result<ExitCode, CliError> {
    let common = &args.common;
    if args.min_gain.is_some() {
        return Err(QuestionError::ModelAlone("--min-gain").into());
    }
    let is_main = question.is_none();
    let default = if is_main { Rounds::MAIN_TABLE } else { Rounds::DEFAULT };
    let (seed, rounds) = host_setting(common, default)?;
    let trace = Trace::of(common.trace.as_deref())?;
    let plan = match question {
        None => HostPlan::main_table(variants, &trace, seed, rounds)?,
        Some(question) => HostPlan::new(question, variants, &trace, seed, rounds)?,
    };
    plan.check_memory(NonZeroUsize::MIN)?;
    if is_main && !args.fail_on.is_empty() {
        return Err(CliError::FailOnMainTable);
    }
    let mut records = progress::records(&plan, "measuring")?;
    if is_main {
        records.extend(published::records());
    }
    let set = RecordSet::new(this_run(), records);
    let base = plan.base();
    let parts = if is_main { main_parts(&set, variants) } else { Vec::new() };
    let mut compared: Vec<_> = parts.iter().map(|part| (&part.times, &part.base)).collect();
    if !is_main {
        compared.push((&set, &base));
    }
    let told = output::emit(&common.output, &set, &compared, |set, columns| match is_main {
        true => main_table(set, &parts, variants, common.shown, columns),
        false => comparison(set, &base, common.shown, &[], columns),
    });
    fail_on::judge(args, &set.into(), &base, None, told)
}

/// Returns the seed and the rounds of measurements on this CPU, which are `default` if none are
/// given.
///
/// # Errors
/// [`CliError`] for options of modelled machines.
pub(crate) fn host_setting(common: &Common, default: Rounds) -> Result<(u64, Rounds), CliError> {
    model::refuse(&common.machine)?;
    Ok((common.measuring.seed, common.measuring.rounds_or(default)))
}

/// Returns the records of `reclaim-file` on these lists.
fn reclaims_on(set: &RecordSet, lru: Lru) -> RecordSet {
    let lru = lru.to_string();
    let of = |record: &Record| record.variant.get("lru") == Some(&lru);
    tables::only(set, |record| record.scenario == ReclaimFile::NAME && of(record))
}

/// A part of the main table: times, and the base that they are compared with.
struct MainPart {
    title: &'static str,
    times: RecordSet,
    base: Labels,
}

/// Returns the parts of the main table.
fn main_parts(set: &RecordSet, variants: &Variants) -> Vec<MainPart> {
    let part = |title, mut times: RecordSet, base| {
        for record in &mut times.records {
            let sampler = [WHILE_SAMPLED.name, SAMPLING_ERROR.name];
            let shown = |metric: &Metric| !sampler.contains(&&*metric.name);
            record.metrics.retain(|metric| metric.basis == Basis::Measured && shown(metric));
        }
        MainPart { title, times, base }
    };
    vec![
        part(
            "A clean mapped file, all young once: memory.reclaim of 80%",
            reclaims_on(set, Lru::Classic),
            variants.of(Compared::Steps)[0].labels(Axes::Reclaim),
        ),
        part(
            "The same on generations, where unmapping was batched before",
            reclaims_on(set, Lru::Mglru),
            Variant::MGLRU_BEFORE.labels(Axes::Reclaim),
        ),
        part(
            "A real program: all resident folios aged at the end of each epoch",
            tables::only(set, |record| record.scenario == "trace"),
            variants.of(Compared::Algorithms)[0].labels(Axes::Aging),
        ),
    ]
}

/// Writes the main table: times of both scenarios, the floors, and figures of real kernels.
fn main_table(
    set: &RecordSet,
    parts: &[MainPart],
    variants: &Variants,
    shown: Shown,
    columns: usize,
) -> Result<String, CliError> {
    let classic = reclaims_on(set, Lru::Classic);
    let mglru = reclaims_on(set, Lru::Mglru);
    let base = variants.of(Compared::Steps)[0].labels(Axes::Reclaim);
    let mglru_base = Variant::MGLRU_BEFORE.labels(Axes::Reclaim);
    let mut text = String::new();
    for MainPart { title, times, base } in parts {
        text += &format!("{title}\n\n{}\n", comparison(times, base, shown, &[], columns)?);
    }
    if shown.format != Form::Table {
        return Ok(text);
    }
    for (records, base) in [(&classic, &base), (&mglru, &mglru_base)] {
        let compared = compare_records(records, base, &DECLARED)?;
        text += &format!("{}\n", tables::saved(&compared, WHOLE.name, columns));
    }
    text += &format!("{}\n", tables::floors(set, columns));
    for base in [&base, &mglru_base] {
        let base = published::compared(base);
        let same = |record: &Record| record.variant.get("lru") == base.get("lru");
        let figures = tables::only(set, same);
        text += &render::published(&figures, &base, columns).unwrap_or_default();
        text += "\n";
    }
    Ok(text + &help::wrapped(CAUTION.trim_end(), "", columns))
}
