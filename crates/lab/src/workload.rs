//! Workloads of the test machine: a scenario of ours, or a program of the user's.

use std::borrow::Cow;
use std::sync::Arc;

use super::field::Field;
use super::given::Given;
use super::scenario::Scenario;
use pageout_experiment::fields::FieldError;

/// A workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Workload {
    /// A scenario of the benchmark.
    Ours(Scenario),
    /// A program in C that the user gave, with its manifest.
    Given(Arc<Given>),
}

impl From<Scenario> for Workload {
    fn from(scenario: Scenario) -> Self {
        Self::Ours(scenario)
    }
}

impl From<Given> for Workload {
    fn from(given: Given) -> Self {
        Self::Given(Arc::new(given))
    }
}

impl Workload {
    /// The name, which is that of the scenario in records.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Ours(scenario) => scenario.name().into(),
            Self::Given(given) => given.name.clone().into(),
        }
    }

    /// The metric that it is judged by; `None`: it only counts.
    pub fn whole(&self) -> Option<&str> {
        match self {
            Self::Ours(scenario) => scenario.whole(),
            Self::Given(given) => given.whole.as_deref(),
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        match self {
            Self::Ours(scenario) => scenario.fields(),
            Self::Given(given) => given.fields.iter().map(|of| of.field.clone()).collect(),
        }
    }

    /// The error of a field that it does not have.
    pub(super) fn lacks(&self, field: &str) -> FieldError {
        match self {
            Self::Ours(scenario) => scenario.lacks(field),
            Self::Given(given) => given.lacks(field),
        }
    }

    /// Returns true if it runs several times for its samples.
    pub(super) fn is_sampled(&self) -> bool {
        match self {
            Self::Ours(scenario) => scenario.is_sampled(),
            Self::Given(_) => true,
        }
    }
}
