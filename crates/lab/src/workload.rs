//! Workloads of the test machine: a scenario of the benchmark, or a program with a manifest.

use std::sync::{Arc, LazyLock};

use super::field::Field;
use super::given::{Given, GivenField};
use super::scenario::Scenario;
use pageout_experiment::fields::FieldError;

/// The workloads of the lab: scenarios of the benchmark, then programs with a manifest.
static OURS: LazyLock<Vec<Workload>> = LazyLock::new(|| {
    let scenarios = Scenario::ALL.into_iter().map(Workload::from);
    scenarios.chain(Given::shipped().into_iter().map(Workload::from)).collect()
});

/// A workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Workload {
    /// A scenario of the benchmark.
    Ours(Scenario),
    /// A program in C with its manifest: the user's, or one that comes with the lab.
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
    /// Returns the workloads that come with the lab.
    pub fn ours() -> &'static [Self] {
        &OURS
    }

    /// Returns the lab's workload of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OURS.iter().find(|of| of.name() == name)
    }

    /// Returns the names of the lab's workloads.
    pub fn names() -> Vec<&'static str> {
        OURS.iter().map(Self::name).collect()
    }

    /// Returns a sentence about it, and its fields with their defaults, if it has a manifest.
    pub fn about(&self) -> Option<(&str, String)> {
        let Self::Given(given) = self else { return None };
        let fields: Vec<_> = given.fields.iter().map(GivenField::words).collect();
        Some((&given.about, fields.join("  ")))
    }

    /// Returns the names of its fields, and the values of each that are names.
    pub fn field_names(&self) -> Vec<(String, Vec<String>)> {
        let names = |field: Field| {
            let values = field.kind.names().into_iter().map(str::to_owned).collect();
            (field.name, values)
        };
        self.fields().into_iter().map(names).collect()
    }

    /// Returns true if it has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields().iter().any(|field| field.name == name)
    }

    /// Returns the name, which is that of the scenario in records.
    pub fn name(&self) -> &str {
        match self {
            Self::Ours(scenario) => scenario.name(),
            Self::Given(given) => &given.name,
        }
    }

    /// Returns the metric that it is judged by; `None` if it only counts.
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

    /// Returns the error of a field that it does not have.
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
