//! Steps of several actors, one after another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{as_many, named, printable};
use super::kinds::{Name, Text};
use super::problem::Problem;

/// Steps of several actors, in the order in which they took effect: a counterexample, for example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// The names of the actors, such as `CPU 0`.
    #[schemars(with = "Vec<Name>")]
    pub actors: Vec<String>,
    /// The state before the first step, in lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Text>")]
    pub start: Vec<String>,
    /// The things whose state is shown with each step, such as the content of an entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Name>")]
    pub watched: Vec<String>,
    /// The steps, the first one first.
    #[schemars(length(min = 1))]
    pub steps: Vec<Step>,
}

/// A step of a [`Sequence`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The actor of the step: an index of the actors.
    pub actor: usize,
    /// A description of the step.
    #[schemars(with = "Name")]
    pub text: String,
    /// The state of each watched thing after the step, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Text>")]
    pub after: Vec<String>,
    /// The kind of the step.
    pub kind: StepKind,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum StepKind {
    /// An allowed step.
    Step,
    /// Here a property is broken.
    Violation,
}

impl Sequence {
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.actors.iter().try_for_each(|actor| named("actor", actor))?;
        self.start.iter().try_for_each(|line| printable("a line of the start", line))?;
        self.watched.iter().try_for_each(|watched| named("watched thing", watched))?;
        if self.steps.is_empty() {
            return Err(Problem::Short { what: "steps", found: 0, least: 1 });
        }
        for step in &self.steps {
            named("step", &step.text)?;
            if step.actor >= self.actors.len() {
                return Err(Problem::NoActor { found: step.actor, actors: self.actors.len() });
            }
            if !step.after.is_empty() {
                as_many("results of a step", self.watched.len(), step.after.len())?;
            }
            step.after.iter().try_for_each(|after| printable("after", after))?;
        }
        Ok(())
    }
}
