//! Names that tell the rows of a comparison apart.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use crate::compare::Row;

/// A label that may tell rows apart. A field may have the name of an axis, or `seed`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// The scenario.
    Scenario,
    /// The ground.
    Ground,
    /// The seed.
    Seed,
    /// A field of the scenario, by name.
    Field(String),
    /// An axis of the variants, by name.
    Axis(String),
}

impl Label {
    fn all(rows: &[Row]) -> Vec<Self> {
        let fields: BTreeSet<&String> = rows.iter().flat_map(|row| row.fields.keys()).collect();
        let axes: BTreeSet<&String> = rows.iter().flat_map(|row| row.axes.keys()).collect();
        let fields = fields.into_iter().cloned().map(Self::Field);
        let axes = axes.into_iter().cloned().map(Self::Axis);
        [Self::Scenario, Self::Ground, Self::Seed].into_iter().chain(fields).chain(axes).collect()
    }

    /// Returns the name of a table's column with it.
    pub fn name(&self) -> &str {
        match self {
            Self::Scenario => "scenario",
            Self::Ground => "ground",
            Self::Seed => "seed",
            Self::Field(name) | Self::Axis(name) => name,
        }
    }

    /// Returns the value of a row under it; empty if the row has none.
    pub fn of<'a>(&self, row: &'a Row) -> Cow<'a, str> {
        match self {
            Self::Scenario => row.scenario.as_str().into(),
            Self::Ground => row.ground.name().into(),
            Self::Seed => row.seed.to_string().into(),
            Self::Field(name) => row.fields.get(name).map_or("", String::as_str).into(),
            Self::Axis(name) => row.axes.get(name).map_or("", String::as_str).into(),
        }
    }
}

/// The labels that tell the rows apart, and those that are the same in all of them.
#[derive(Debug, Clone)]
pub struct Labelling {
    /// Labels that tell the rows apart.
    pub varying: Vec<Label>,
    /// Labels that are the same in all rows, with their values.
    pub constant: Vec<(String, String)>,
}

impl Labelling {
    /// Sorts the labels of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let (mut varying, mut constant) = (Vec::new(), Vec::new());
        for label in Label::all(rows) {
            match rows.first().map(|row| label.of(row)) {
                Some(value) if rows.iter().all(|row| label.of(row) == value) => {
                    constant.push((label.name().to_owned(), value.into_owned()));
                }
                _ => varying.push(label),
            }
        }
        Self { varying, constant }
    }

    /// Returns the labels that tell a row's group from others: `order=4 young=100%`.
    pub fn group(&self, row: &Row) -> String {
        let told = self.varying.iter().map(|label| (label.name(), label.of(row)));
        let told = told.filter(|(_, value)| !value.is_empty());
        told.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// Returns those labels without the ones that others imply: a platform implies the format of
    /// its entries.
    pub(super) fn shortest(&self, row: &Row, of: &[&Row]) -> String {
        Self { varying: self.needed(of), constant: Vec::new() }.group(row)
    }

    /// Returns the labels without which rows of different groups would look the same.
    pub fn needed(&self, of: &[&Row]) -> Vec<Label> {
        let mut kept = self.varying.clone();
        for label in &self.varying {
            let without: Vec<Label> = kept.iter().filter(|one| *one != label).cloned().collect();
            let apart: HashSet<Vec<Cow<'_, str>>> =
                of.iter().map(|row| without.iter().map(|one| one.of(row)).collect()).collect();
            if apart.len() == of.len() {
                kept = without;
            }
        }
        kept
    }

    /// Returns a name with those labels behind it, if there are any.
    pub fn titled(&self, name: &str, row: &Row) -> String {
        let group = self.group(row);
        if group.is_empty() { name.to_owned() } else { format!("{name} ({group})") }
    }
}
