//! The question that a command line asks.

use crate::completion::has_field;
use crate::error::CliError;
use crate::options::Common;
use crate::usage;
use pageout_experiment::fields::pairs;
use pageout_experiment::scenarios::Scenario;
use pageout_record::schema::Ground;
use pageout_run::{Question, QuestionError};
use pageout_trace::source::TraceSource;

/// Returns the question of a command line; `None` for the main table.
///
/// # Errors
/// [`CliError`] for a scenario that does not exist, or not on this ground, or does not take a
/// trace.
pub(crate) fn asked(
    scenario: Option<&str>,
    fields: &[String],
    common: &Common,
) -> Result<Option<Question>, CliError> {
    match (scenario, common.ground) {
        (Some(name), _) => named(name, fields, common).map(Some),
        (None, Ground::Host) => Ok(None),
        (None, ground) => {
            let what = "the main table".to_owned();
            Err(QuestionError::NotOnGround { what, ground }.into())
        }
    }
}

/// Returns the question about the scenario of this name.
///
/// # Errors
/// As [`asked`].
pub(crate) fn named(name: &str, fields: &[String], common: &Common) -> Result<Question, CliError> {
    if name.contains('=') {
        return Err(CliError::FieldsWithoutScenario(name.to_owned()));
    }
    let scenario = Scenario::find(name).map_err(|unknown| {
        match TraceSource::sample_names().contains(&name) {
            true => CliError::TraceAsScenario(name.to_owned()),
            false => unknown.into(),
        }
    })?;
    let question = Question::new(scenario, common.ground, fields, common.trace.is_some());
    let given = pairs(fields)?;
    let option = given.iter().find(|(name, _)| usage::is_option(name) && !has_field(name));
    match option {
        Some((name, value)) => {
            Err(CliError::OptionAsField(format!("{name}={value}"), format!("--{name} {value}")))
        }
        None => Ok(question?),
    }
}
