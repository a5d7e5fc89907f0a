//! A cell: a unit that is run and measured at once, as `pageout compare` does it.

use pageout_experiment::fields::FieldError;
use pageout_experiment::scenarios::Scenario;
use pageout_record::schema::Ground;
use pageout_refusal::{BadValue, UnknownName, whole_number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The parameters that may be swept over besides the fields of a scenario.
pub const PARAMETERS: [&str; 4] = ["cores", "platform", "seed", "trace"];

/// A scenario with its fields, under all variants of the sweep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: String,
    /// The ground that the cell runs on.
    pub ground: Ground,
    /// The fields of the scenario, each with one value, or several with commas between.
    pub fields: BTreeMap<String, String>,
    /// The variants, the base first; if empty, the default ones.
    pub variants: Vec<String>,
    /// The seed of everything chosen at random.
    pub seed: u64,
    /// True if measured metrics are kept. Nothing else depends on the machine.
    pub times: bool,
    /// Rounds of measuring, or runs with nominal prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u16>,
    /// Draws of prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u32>,
    /// Cores of a modelled machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u16>,
    /// A modelled machine: a name or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The trace of scenario `trace`: a sample's name or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// The reason why a parameter was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParameterError {
    /// The field or its value is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Neither the scenario has such a field, nor a sweep such a parameter.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The number is malformed or out of bounds.
    #[error(transparent)]
    Number(#[from] BadValue),
}

impl Cell {
    /// Returns the values that a text gives a parameter, one by one.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub(crate) fn values(
        scenario: Scenario,
        ground: Ground,
        parameter: &str,
        text: &str,
    ) -> Result<Vec<String>, ParameterError> {
        if PARAMETERS.contains(&parameter) {
            return Ok(vec![text.to_owned()]);
        }
        scenario.values(ground, parameter, text).map_err(|error| match error {
            FieldError::Unknown(_) => {
                let names = scenario.fields_on(ground).into_iter().chain(PARAMETERS);
                let unknown = UnknownName::new("parameter", parameter, names);
                unknown.of(format!("scenario {}", scenario.name())).into()
            }
            error => error.into(),
        })
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// [`ParameterError::Number`].
    pub(crate) fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "seed" => self.seed = whole_number(value, 0..=u64::MAX)?,
            "cores" => self.cores = Some(whole_number(value, 1..=256)? as u16),
            "platform" => self.platform = Some(value.to_owned()),
            "trace" => self.trace = Some(value.to_owned()),
            field => {
                self.fields.insert(field.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the cell's fields as the command line takes them.
    pub fn arguments(&self) -> Vec<String> {
        self.fields.iter().map(|(field, value)| format!("{field}={value}")).collect()
    }
}

/// The text that distinguishes a cell from others of its sweep.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, fields, seed, cores, platform, trace, .. } = self;
        f.write_str(scenario)?;
        for (field, value) in fields {
            write!(f, " {field}={value}")?;
        }
        let cores = cores.map(|cores| cores.to_string());
        let all = [("trace", trace), ("platform", platform), ("cores", &cores)];
        for (name, value) in all {
            if let Some(value) = value {
                write!(f, " {name}={value}")?;
            }
        }
        write!(f, " seed={seed}")
    }
}
