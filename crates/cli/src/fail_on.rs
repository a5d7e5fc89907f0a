//! `compare --fail-on`: an exit status that tells the outcome of a comparison.

use crate::args::CompareArgs;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::output;
use pageout_experiment::metrics::MetricSpec;
use pageout_record::compare::{FailOn, FailOnError, Outcome, Role, compare_for};
use pageout_record::schema::{Better, Ground, Labels, Metric, Record, RecordFile};
use pageout_refusal::UnknownName;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit status if a condition failed.
const FAILED: u8 = 1;
/// The exit status if no condition failed and one cannot be decided: `git bisect run` skips such a
/// commit.
const UNDECIDED: u8 = 125;
/// The lowest exit status that stops `git bisect run`. Lower ones would call the commit bad.
const STOPS_BISECTION: u8 = 128;

/// Returns an error, before any measurement, for conditions on metrics that the scenario lacks, or
/// of which neither direction is better.
pub(crate) fn check(
    args: &CompareArgs,
    scenario: &str,
    has: &[MetricSpec],
) -> Result<(), CliError> {
    for condition in &args.fail_on {
        let Some(metric) = &condition.metric else { continue };
        let named = |spec: &&MetricSpec| spec.names().any(|name| name == *metric);
        let Some(spec) = has.iter().find(named) else {
            let unknown = UnknownName::new("metric", metric, has.iter().map(|spec| spec.name));
            let unknown = unknown.of(format!("scenario {scenario}"));
            let all = format!("pageout scenarios {scenario}");
            return Err(CliError::NoMetric(unknown.listed_by(all)));
        };
        if spec.better == Better::Neither {
            let (of, metric) = (condition.to_string(), metric.clone());
            return Err(FailOnError::NoDirection { of, metric }.into());
        }
    }
    Ok(())
}

/// Returns an error for conditions by which no record of the files can be judged.
pub(crate) fn check_files(args: &CompareArgs, file: &RecordFile) -> Result<(), CliError> {
    let with_role = |record: &'_ Record, metric: &Metric| {
        let role = DECLARED.role(&record.scenario, record.ground, &metric.name);
        (metric.name.clone(), role)
    };
    let ran = file.records().filter(|record| record.ground != Ground::Published);
    let all: BTreeMap<String, Role> = ran
        .flat_map(|record| record.metrics.iter().map(move |metric| with_role(record, metric)))
        .collect();
    let all: Vec<(&str, Role)> = all.iter().map(|(name, role)| (&**name, *role)).collect();
    check_names(&args.fail_on, "these files", &all)
}

/// Returns an error for conditions on other metrics than these; `whose` names their owner.
pub(crate) fn check_names(
    conditions: &[FailOn],
    whose: &str,
    all: &[(&str, Role)],
) -> Result<(), CliError> {
    let names = || all.iter().map(|(name, _)| *name);
    for condition in conditions {
        let Some(metric) = &condition.metric else {
            if all.iter().all(|(_, role)| *role != Role::Whole) {
                return Err(CliError::NoWhole { condition: condition.to_string() });
            }
            continue;
        };
        if !names().any(|name| name == metric) {
            let unknown = UnknownName::new("metric", metric, names()).of(whose);
            return Err(CliError::NoMetric(match all.is_empty() {
                true => unknown.accepting("none, of its counts neither direction is better"),
                false => unknown,
            }));
        }
    }
    Ok(())
}

/// Judges records that were printed, with the result `told`, by the conditions asked for. The
/// outcome of each goes to standard error. A reader that closed the pipe early, such as `head`,
/// still gets the status.
pub(crate) fn judge(
    args: &CompareArgs,
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
    told: Result<(), CliError>,
) -> Result<ExitCode, CliError> {
    match told {
        Err(error) if args.fail_on.is_empty() || !error.is_broken_pipe() => Err(error),
        _ => judged(&args.fail_on, file, base, along).map(|of| status(of).into()),
    }
}

/// Judges records by the conditions, if there are any. The outcome of each goes to standard error.
pub(crate) fn judged(
    conditions: &[FailOn],
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
) -> Result<Outcome, CliError> {
    let mut worst = Outcome::NotShown;
    if conditions.is_empty() {
        return Ok(worst);
    }
    let compared = compare_for(conditions, file, base, along, &DECLARED)?;
    for condition in conditions {
        let judged = condition.judge(&compared)?;
        judged.lines.iter().for_each(|line| output::say(line));
        worst = worst.max(judged.outcome);
    }
    Ok(worst)
}

/// Returns the exit status of an outcome.
pub(crate) const fn status(of: Outcome) -> u8 {
    match of {
        Outcome::NotShown => 0,
        Outcome::Undecided => UNDECIDED,
        Outcome::Failed => FAILED,
    }
}

/// Returns the exit status of an error: `error`, or with `--bisect` one that stops the bisection.
pub(crate) fn status_of(error: u8, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let bisects = arguments.into_iter().any(|argument| argument == "--bisect");
    ExitCode::from(if bisects { STOPS_BISECTION } else { error })
}
