//! Numbers along an axis.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{as_many, ascending, finite, named, printable};
use super::kinds::{Cells, Name, Text};
use super::problem::Problem;

/// A set of lines, one or more, over the same places of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The axis to which the places belong.
    pub x: Axis,
    /// The places, in ascending order.
    pub at: Vec<f64>,
    /// The lines, from bottom to top where they are stacked.
    #[schemars(length(min = 1))]
    pub lines: Vec<Line>,
    /// True if the lines are shares of a whole, so that their sum has a meaning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
}

/// The quantity of an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity, such as `time`.
    #[schemars(with = "Name")]
    pub name: String,
    /// The quantity's unit; empty for a pure number.
    #[schemars(with = "Text")]
    pub unit: String,
}

/// A line of a [`Series`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The name of the line, such as `generation 3`.
    #[schemars(with = "Name")]
    pub name: String,
    /// A number for each place, in the metric's unit; `None` where there is nothing to show.
    #[schemars(with = "Cells")]
    pub values: Vec<Option<f64>>,
}

impl Axis {
    /// Makes an axis of a quantity in a unit.
    pub fn new(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned() }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        named("axis", &self.name)?;
        printable("the axis's unit", &self.unit)
    }
}

impl Series {
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.x.check()?;
        ascending("at", &self.at)?;
        if self.lines.is_empty() {
            return Err(Problem::Short { what: "lines", found: 0, least: 1 });
        }
        for line in &self.lines {
            named("line", &line.name)?;
            as_many("values of a line", self.at.len(), line.values.len())?;
            line.values.iter().flatten().try_for_each(|value| {
                finite(|| format!("a value of line {:?}", line.name), *value)
            })?;
        }
        Ok(())
    }
}
