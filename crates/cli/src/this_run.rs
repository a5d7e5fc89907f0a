//! The description of this run in its records.

use pageout_experiment::this_machine;
use pageout_record::schema::Run;

/// Returns the run that this process makes, with the commit that it was built from.
pub(crate) fn this_run() -> Run {
    let commit = option_env!("PAGEOUT_COMMIT").map(str::to_owned);
    Run { commit, ..this_machine::this_run() }
}
