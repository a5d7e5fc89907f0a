//! `trace curve`: one trace under many limits and replacement policies.

use super::args::CurveArgs;
use crate::error::CliError;
use crate::options::{Form, Shown};
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::{output, progress};
use pageout_experiment::kinds::Kind;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::MemoryLimit;
use pageout_experiment::scenarios::metrics::trace::{IN_TRACE, LIMIT as PAGES, MISS_RATIO};
use pageout_experiment::spread::host_threads;
use pageout_host::curve::{AXIS, Curve, LIMIT, Missing, Policy};
use pageout_record::render::{Align, Grid, exact, fixed};
use pageout_record::schema::{Labels, Record, RecordSet};
use pageout_run::Trace;
use std::process::ExitCode;

/// The meaning of a miss ratio, below a table.
const ABOUT: &str = "\
Of the accesses that the trace has, those whose page was not in memory; less is better.";

pub(crate) fn curve(args: &CurveArgs) -> Result<ExitCode, CliError> {
    let path = args.trace.as_deref();
    output::check(&args.output.paths(), &[path])?;
    let trace = Trace::of(path)?;
    let curve = Curve {
        source: trace.source.clone(),
        limits: args.limit.0.clone(),
        policies: args.policy.0.clone(),
        threads: host_threads(),
    };
    let bar = progress::bar("replaying");
    let drawn = curve.records(&mut progress::steps(&bar));
    bar.finish_and_clear();
    let (records, missing) = drawn.map_err(|error| trace.failed(error))?;
    let set = RecordSet::new(this_run(), records);
    let Some(base) = set.records.first().map(|first| first.variant.clone()) else {
        let first = missing.into_iter().next().expect("a point is drawn or missing");
        return Err(trace.failed(first.error).into());
    };
    let text = |set: &RecordSet, columns| match args.shown.format {
        Form::Table => {
            Ok(table(set, &args.policy.0, columns) + &more(set, &base, args.shown, columns)?)
        }
        Form::List | Form::Picture if args.shown.rows.full => {
            comparison(set, &base, args.shown, &[], columns)
        }
        Form::List | Form::Picture => {
            comparison(&miss_ratios(set), &base, args.shown, &[], columns)
        }
    };
    output::emit(&args.output, &set, &[(&set, &base)], text)?;
    for line in lacking(&missing, &trace) {
        output::say(&line);
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a line for each policy and cause of missing points.
fn lacking(missing: &[Missing], trace: &Trace) -> Vec<String> {
    let mut causes: Vec<(String, String, Vec<String>)> = Vec::new();
    let points = |of: &'_ Missing| {
        let cause = of.error.to_string();
        of.points.clone().into_iter().map(move |(limit, policy)| (limit, policy, cause.clone()))
    };
    for (limit, policy, cause) in missing.iter().flat_map(points) {
        let (policy, limit) = (Policy::text(&policy), MemoryLimit::text(&limit));
        match causes.iter_mut().find(|found| (&found.0, &found.1) == (&policy, &cause)) {
            Some((.., limits)) => limits.push(limit),
            None => causes.push((policy, cause, vec![limit])),
        }
    }
    let line = |(policy, cause, limits): (String, String, Vec<String>)| {
        let (name, first) = (trace.name(), &limits[0]);
        let limits = match limits.len() - 1 {
            0 => first.clone(),
            others => format!("{first} and {others} more"),
        };
        format!("error: trace {name}, limit {limits}, policy {policy}: {cause}")
    };
    causes.into_iter().map(line).collect()
}

/// Returns the records with only their miss ratios.
fn miss_ratios(set: &RecordSet) -> RecordSet {
    let mut set = set.clone();
    for record in &mut set.records {
        record.metrics.retain(|metric| metric.name == MISS_RATIO.name);
    }
    set
}

/// Writes every figure of every point, if `--full` asks for them.
fn more(set: &RecordSet, base: &Labels, shown: Shown, columns: usize) -> Result<String, CliError> {
    if !shown.rows.full {
        return Ok(String::new());
    }
    Ok(format!("\n{}", comparison(set, base, shown, &[], columns)?))
}

/// Writes miss ratios, with limits as rows and these policies as columns.
fn table(set: &RecordSet, policies: &[Policy], columns: usize) -> String {
    let mut limits: Vec<&str> = Vec::new();
    for record in &set.records {
        let (limit, _) = place(record);
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    let names: Vec<String> = policies.iter().map(Policy::text).collect();
    let heads = ["limit", "4K pages"].into_iter().chain(names.iter().map(String::as_str));
    let mut grid = Grid::new(heads.map(|head| (head, Align::Right)));
    // Small ratios have three digits.
    let ratios = set.records.iter().filter_map(|record| value(record, MISS_RATIO));
    let largest = ratios.fold(0.0, f64::max);
    let decimals = if largest < 0.01 { 3 } else { 2 };
    for limit in limits {
        let of_limit: Vec<&Record> =
            set.records.iter().filter(|record| place(record).0 == limit).collect();
        let pages = of_limit.first().map_or_else(String::new, |first| figure(first, PAGES));
        let ratios = names.iter().map(|policy| {
            let point = of_limit.iter().find(|record| place(record).1 == *policy);
            let ratio = point.and_then(|point| value(point, MISS_RATIO));
            ratio.map_or_else(|| "-".to_owned(), |ratio| fixed(100.0 * ratio, decimals))
        });
        grid.row([limit.to_owned(), pages].into_iter().chain(ratios));
    }
    let about = set.records.first().map_or_else(String::new, |first| {
        let trace = choice(&first.fields, "trace");
        format!("miss ratio of {trace}, % of {} accesses", figure(first, IN_TRACE))
    });
    format!("{about}\n\n{}\n{ABOUT}\n{}", grid.text(columns), meanings(policies))
}

/// Describes the policies of a table, a line for each kind.
fn meanings(policies: &[Policy]) -> String {
    type Is = fn(&Policy) -> bool;
    let kinds: [(Is, &str); 3] = [
        (|policy| matches!(policy, Policy::Engine(_)), "the engine on these lists"),
        (|policy| matches!(policy, Policy::OnDemand(_)), "the algorithms of their papers"),
        (
            |policy| *policy == Policy::Min,
            "Belady's MIN, which knows the future; no policy that brings in single pages has \
             fewer misses",
        ),
    ];
    let line = |(is_of, meaning): (Is, &str)| {
        let names: Vec<_> =
            policies.iter().filter(|policy| is_of(policy)).map(Policy::text).collect();
        (!names.is_empty()).then(|| format!("{}: {meaning}.\n", names.join(", ")))
    };
    kinds.into_iter().filter_map(line).collect()
}

/// Returns a record's limit and policy.
fn place(record: &Record) -> (&str, &str) {
    (choice(&record.fields, LIMIT), choice(&record.variant, AXIS))
}

fn choice<'l>(labels: &'l Labels, name: &str) -> &'l str {
    labels.get(name).map_or("", String::as_str)
}

/// Returns a figure of a record, which has one sample.
fn value(record: &Record, of: MetricSpec) -> Option<f64> {
    let metric = record.metric(of.name);
    metric.and_then(|metric| metric.values.first().copied())
}

/// Writes a figure of a record; empty if there is none.
fn figure(record: &Record, of: MetricSpec) -> String {
    value(record, of).map_or_else(String::new, exact)
}
