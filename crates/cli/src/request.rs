//! The scenario that is asked for, on its ground.

use crate::completion::has_field;
use crate::error::CliError;
use crate::options::Common;
use crate::usage;
use pageout_experiment::declare::values;
use pageout_experiment::fields::{FieldError, bad, pairs};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::{Compared, OnGround, Scenario};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_record::schema::Ground;

/// A scenario, its fields, and the properties that every scenario has.
#[derive(Debug)]
pub(crate) struct Request {
    /// The scenario; `None` for the main table.
    pub scenario: Option<Scenario>,
    /// The fields that are given.
    pub fields: Vec<String>,
    /// The lists of all variants, if they are named among the fields.
    pub lru: Option<Lru>,
    /// The variants that are compared if none are named.
    pub compared: Compared,
    /// The metrics that the scenario's records may have.
    pub metrics: Vec<MetricSpec>,
}

impl Request {
    /// Parses the scenario and the fields asked for.
    ///
    /// # Errors
    /// [`CliError`] for a scenario that does not exist, or not on this ground, or does not take a
    /// trace.
    pub(crate) fn new(
        scenario: Option<&str>,
        fields: &[String],
        common: &Common,
    ) -> Result<Self, CliError> {
        let Some(name) = scenario else {
            return match common.ground {
                Ground::Host => {
                    let (fields, compared) = (Vec::new(), Compared::Steps);
                    Ok(Self { scenario: None, fields, lru: None, compared, metrics: Vec::new() })
                }
                ground => Err(CliError::NotOnGround { what: "the main table".to_owned(), ground }),
            };
        };
        let scenario = named(name)?;
        let what = || scenario.name().to_owned();
        if !scenario.runs_on(common.ground) {
            return Err(CliError::NotOnGround { what: what(), ground: common.ground });
        }
        if common.trace.is_some() && !scenario.takes_trace() {
            return Err(CliError::TraceNotUsed(what()));
        }
        let (mut lru, mut own) = (None, Vec::new());
        let given = pairs(fields)?;
        let option = given.iter().find(|(name, _)| usage::is_option(name) && !has_field(name));
        if let Some((name, value)) = option {
            return Err(CliError::OptionAsField(
                format!("{name}={value}"),
                format!("--{name} {value}"),
            ));
        }
        let given: Vec<_> = given.into_iter().map(|(field, _)| field).collect();
        let form = scenario.form(common.ground, &given)?;
        let OnGround { takes_lru, compared, metrics, .. } = form;
        for field in fields {
            match field.strip_prefix("lru=").filter(|_| takes_lru) {
                Some(choice) => lru = Some(lists(choice)?),
                None => own.push(field.clone()),
            }
        }
        if scenario == Scenario::AgingRounds {
            lru = Some(Lru::Mglru);
        }
        Ok(Self { scenario: Some(scenario), fields: own, lru, compared, metrics })
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

fn named(name: &str) -> Result<Scenario, CliError> {
    if name.contains('=') {
        return Err(CliError::FieldsWithoutScenario(name.to_owned()));
    }
    Ok(Scenario::find(name)?)
}

/// Returns an error for variants that are the same on these axes.
pub(crate) fn distinct(variants: &[Variant], axes: Axes) -> Result<(), CliError> {
    for (k, variant) in variants.iter().enumerate() {
        let same = |other: &Variant| other.labels(axes) == variant.labels(axes);
        if variants[..k].iter().any(same) {
            let all = variant.labels(axes).into_iter();
            let all = all.map(|(axis, choice)| format!("{axis}={choice}")).collect::<Vec<_>>();
            return Err(CliError::SameVariant { variant: all.join(", ") });
        }
    }
    Ok(())
}
