//! Declarations of scenarios and variants, which records do not carry.

use std::collections::HashMap;

use super::role::Role;
use crate::schema::{Ground, LABEL, Labels};

/// The role of each metric of the scenarios that are known, and the names of known variants.
///
/// Records of any other scenario are judged by every metric that has a better direction.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    scenarios: HashMap<(String, Ground), HashMap<String, Role>>,
    names: Vec<Name>,
    causes: Vec<Cause>,
}

/// A part of modelled wholes that is the time of something counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The metric that has the time.
    pub time: String,
    /// The metrics that count it. The first that differs is named.
    pub counts: Vec<String>,
}

/// The name of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: String,
    /// The variant, with the choice on every axis that it has.
    pub variant: Labels,
    /// A description besides its choices; may be empty.
    pub about: String,
}

impl Declarations {
    /// Declares a scenario on a ground with some of its metrics. A metric that none of its
    /// declarations names is a [`Role::Count`].
    ///
    /// # Panics
    /// If a metric was declared there with another role.
    pub fn declare(
        &mut self,
        scenario: &str,
        ground: Ground,
        metrics: impl IntoIterator<Item = (String, Role)>,
    ) {
        let roles = self.scenarios.entry((scenario.to_owned(), ground)).or_default();
        for (metric, role) in metrics {
            let known = *roles.entry(metric.clone()).or_insert(role);
            assert_eq!(known, role, "one role for {metric:?} of {scenario} on {ground}");
        }
    }

    /// Declares the parts of modelled wholes, with their counts.
    pub fn causes_of_wholes(&mut self, causes: impl IntoIterator<Item = Cause>) {
        self.causes.extend(causes);
    }

    /// Returns the parts of modelled wholes.
    pub(super) fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// Gives variants names.
    pub fn name(&mut self, names: impl IntoIterator<Item = Name>) {
        self.names.extend(names);
    }

    /// Returns true for a scenario that is declared on a ground.
    pub fn has(&self, scenario: &str, ground: Ground) -> bool {
        self.scenarios.contains_key(&(scenario.to_owned(), ground))
    }

    /// Returns the role of a metric.
    pub fn role(&self, scenario: &str, ground: Ground, metric: &str) -> Role {
        match self.scenarios.get(&(scenario.to_owned(), ground)) {
            Some(roles) => roles.get(metric).copied().unwrap_or(Role::Count),
            None => Role::Whole,
        }
    }

    /// Returns the name of a variant, whatever its label.
    pub fn name_of(&self, variant: &Labels) -> Option<&Name> {
        let axes = || variant.iter().filter(|(axis, _)| *axis != LABEL);
        self.names.iter().find(|name| name.variant.iter().eq(axes()))
    }

    /// Returns true if named variants differ in these axes and in no others.
    pub(super) fn tells_apart(&self, axes: &[String]) -> bool {
        let differ = |axis: &String| {
            let mut choices = self.names.iter().filter_map(|name| name.variant.get(axis));
            let first = choices.next();
            choices.any(|choice| Some(choice) != first)
        };
        axes.iter().all(differ)
    }
}
