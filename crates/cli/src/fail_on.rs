//! `compare --fail-on`: the exit status says what came of a comparison.

use crate::args::CompareArgs;
use crate::error::CliError;
use crate::output;
use pageout_record::compare::{Outcome, compare_runs};
use pageout_record::schema::{Labels, Metric, RecordFile};
use std::ffi::OsString;
use std::process::ExitCode;

/// A condition failed.
const FAILED: u8 = 1;
/// None failed, and one cannot be decided: `git bisect run` skips such a commit.
const UNDECIDED: u8 = 125;
/// From here on `git bisect run` stops, where any lower one would call the commit bad.
const STOPS_BISECTION: u8 = 128;

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
        Err(error) if args.fail_on.is_empty() || !error.is_broken_pipe() => return Err(error),
        _ if args.fail_on.is_empty() => return Ok(ExitCode::SUCCESS),
        _ => {}
    }
    // Conditions name what is judged before it is seen: their tests are a family of their own.
    let named = |metric: &Metric| args.fail_on.iter().any(|of| of.metric == metric.name);
    let mut judged = file.clone();
    for record in judged.sets.iter_mut().flat_map(|set| &mut set.records) {
        record.metrics.retain(named);
    }
    let compared = compare_runs(&judged, base, along)?;
    let mut worst = Outcome::Held;
    for condition in &args.fail_on {
        let judged = condition.judge(&compared)?;
        judged.lines.iter().for_each(|line| output::say(line));
        worst = worst.max(judged.outcome);
    }
    Ok(match worst {
        Outcome::Held => ExitCode::SUCCESS,
        Outcome::Undecided => ExitCode::from(UNDECIDED),
        Outcome::Failed => ExitCode::from(FAILED),
    })
}

/// The exit status of an error: as it is, or, where a bisection must not go on by it, one that
/// stops that.
pub(crate) fn status_of(error: u8, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let bisects = arguments.into_iter().any(|argument| argument == "--bisect");
    ExitCode::from(if bisects { STOPS_BISECTION } else { error })
}
