//! A question: a scenario with its fields, on a ground.

use crate::error::QuestionError;
use pageout_experiment::declare::values;
use pageout_experiment::fields::{FieldError, bad, pairs};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::{Compared, OnGround, Scenario};
use pageout_experiment::variant::Lru;
use pageout_record::schema::Ground;

/// A scenario with its fields on a ground, and what every scenario has.
#[derive(Debug)]
pub struct Question {
    /// The scenario.
    pub scenario: Scenario,
    /// The fields that are given, as `FIELD=VALUE`.
    pub fields: Vec<String>,
    /// The lists of all variants, if they are named among the fields.
    pub lru: Option<Lru>,
    /// The variants that are compared if none are named.
    pub compared: Compared,
    /// The metrics that the scenario's records may have.
    pub metrics: Vec<MetricSpec>,
}

impl Question {
    /// Asks for a scenario with `FIELD=VALUE` arguments. `has_trace` is true if a trace is named.
    ///
    /// # Errors
    /// [`QuestionError`] for a scenario that does not run on this ground or does not take a trace,
    /// and for malformed arguments.
    pub fn new(
        scenario: Scenario,
        ground: Ground,
        fields: &[String],
        has_trace: bool,
    ) -> Result<Self, QuestionError> {
        let what = || scenario.name().to_owned();
        if !scenario.runs_on(ground) {
            return Err(QuestionError::NotOnGround { what: what(), ground });
        }
        if has_trace && !scenario.takes_trace() {
            return Err(QuestionError::TraceNotUsed(what()));
        }
        let given: Vec<_> = pairs(fields)?.into_iter().map(|(field, _)| field).collect();
        let form = scenario.form(ground, &given)?;
        let OnGround { takes_lru, compared, metrics, .. } = form;
        let (mut lru, mut own) = (None, Vec::new());
        for field in fields {
            match field.strip_prefix("lru=").filter(|_| takes_lru) {
                Some(choice) => lru = Some(lists(choice)?),
                None => own.push(field.clone()),
            }
        }
        if scenario == Scenario::AgingRounds {
            lru = Some(Lru::Mglru);
        }
        Ok(Self { scenario, fields: own, lru, compared, metrics })
    }
}

/// Returns the lists that field `lru` names for all variants.
fn lists(choice: &str) -> Result<Lru, FieldError> {
    match values::<Lru>("lru", choice)?[..] {
        [one] => Ok(one),
        _ => {
            let compared = "compare with --base lru=classic --new lru=mglru";
            Err(bad("lru", choice, "names several lists for one run", compared))
        }
    }
}
