//! `compare --fail-on`: the exit status says what came of a comparison.

use crate::args::CompareArgs;
use crate::error::CliError;
use crate::output;
use pageout_experiment::fields::{meant, nearest};
use pageout_experiment::kinds::one_of;
use pageout_experiment::metrics::MetricSpec;
use pageout_record::compare::{FailOn, FailOnError, Outcome, compare_runs};
use pageout_record::schema::{Better, Labels, Metric, RecordFile};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;

/// A condition failed.
const FAILED: u8 = 1;
/// None failed, and one cannot be decided: `git bisect run` skips such a commit.
const UNDECIDED: u8 = 125;
/// From here on `git bisect run` stops, where any lower one would call the commit bad.
const STOPS_BISECTION: u8 = 128;

/// Refuses, before anything is measured, conditions on metrics that the scenario has not, or of
/// which neither direction is better.
pub(crate) fn check(
    args: &CompareArgs,
    scenario: &str,
    has: &[MetricSpec],
) -> Result<(), CliError> {
    for condition in &args.fail_on {
        let metric = &condition.metric;
        let named = |spec: &&MetricSpec| spec.names().any(|name| name == *metric);
        let Some(spec) = has.iter().find(named) else {
            let nearest = nearest(metric, has.iter().map(|spec| spec.name));
            return Err(CliError::NoMetric {
                whose: format!("scenario {scenario} has no"),
                metric: metric.clone(),
                meant: meant(&nearest),
                known: format!("`pageout scenarios {scenario}` lists what it has"),
            });
        };
        if spec.better == Better::Neither {
            let (of, metric) = (condition.to_string(), metric.clone());
            return Err(FailOnError::NoDirection { of, metric }.into());
        }
    }
    Ok(())
}

/// Refuses conditions on metrics that no record of the files has.
pub(crate) fn check_files(args: &CompareArgs, file: &RecordFile) -> Result<(), CliError> {
    let all = file.records().flat_map(|record| &record.metrics);
    let all = all.map(|metric| &*metric.name).collect();
    check_names(&args.fail_on, "no record of the files has a", &all)
}

/// Refuses conditions on other metrics than these; `whose` says who has no other.
pub(crate) fn check_names(
    conditions: &[FailOn],
    whose: &str,
    all: &BTreeSet<&str>,
) -> Result<(), CliError> {
    for FailOn { metric, .. } in conditions {
        if !all.contains(&**metric) {
            let nearest = nearest(metric, all.iter().copied());
            let known = match &all.iter().copied().collect::<Vec<_>>()[..] {
                [] => "all that it has are counts of which neither direction is better".to_owned(),
                all => format!("expected {}", one_of(all)),
            };
            return Err(CliError::NoMetric {
                whose: whose.to_owned(),
                metric: metric.clone(),
                meant: meant(&nearest),
                known,
            });
        }
    }
    Ok(())
}

/// Judges records that were `told` by the conditions asked for, if any are: what came of each goes
/// to standard error. Whoever wants no more of the table still gets the status.
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

/// What came of records by the conditions, if there are any: what came of each goes to standard
/// error.
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
    // Conditions name what is judged before it is seen: their tests are a family of their own.
    let named = |metric: &Metric| conditions.iter().any(|of| of.metric == metric.name);
    let mut judged = file.clone();
    for record in judged.sets.iter_mut().flat_map(|set| &mut set.records) {
        record.metrics.retain(named);
    }
    let compared = compare_runs(&judged, base, along)?;
    for condition in conditions {
        let judged = condition.judge(&compared)?;
        judged.lines.iter().for_each(|line| output::say(line));
        worst = worst.max(judged.outcome);
    }
    Ok(worst)
}

/// The exit status of an outcome.
pub(crate) const fn status(of: Outcome) -> u8 {
    match of {
        Outcome::NotShown => 0,
        Outcome::Undecided => UNDECIDED,
        Outcome::Failed => FAILED,
    }
}

/// The exit status of an error: as it is, or, where a bisection must not go on by it, one that
/// stops that.
pub(crate) fn status_of(error: u8, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let bisects = arguments.into_iter().any(|argument| argument == "--bisect");
    ExitCode::from(if bisects { STOPS_BISECTION } else { error })
}
