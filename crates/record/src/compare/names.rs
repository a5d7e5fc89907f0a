//! The names of a comparison's columns.

use serde::Serialize;

use super::declarations::Declarations;
use super::group::{self, Group};
use crate::schema::Labels;

/// A column whose variant has a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The title: the name.
    pub name: String,
    /// The choices on the compared axes: the title if there were no name.
    pub choices: String,
    /// The same choices with their axes.
    pub axes: Labels,
    /// A description besides; may be empty.
    pub about: String,
}

/// Returns the named columns of a comparison, in no order. There are none unless the base has a
/// name, or if names would not tell columns apart.
pub(super) fn named(
    groups: &[Group<'_>],
    (base, compared): (&str, &[String]),
    declared: &Declarations,
) -> Vec<Named> {
    let mut named: Vec<Named> = Vec::new();
    if compared.is_empty() || !declared.tells_apart(compared) {
        return named;
    }
    for variant in groups.iter().flat_map(|group| &group.variants) {
        let Some(of) = declared.name_of(variant.labels) else { continue };
        let mut axes = variant.labels.clone();
        axes.retain(|axis, _| compared.iter().any(|other| other == axis));
        let choices = group::title(compared, variant.labels);
        let (name, about) = (of.name.clone(), of.about.clone());
        let new = Named { name, choices, axes, about };
        match named.iter().find(|known| known.name == new.name || known.choices == new.choices) {
            None => named.push(new),
            Some(known) if (&known.name, &known.choices) == (&new.name, &new.choices) => {}
            Some(_) => return Vec::new(),
        }
    }
    if named.iter().any(|one| one.choices == base) { named } else { Vec::new() }
}

/// Returns the title of a column with these choices.
pub(super) fn title(named: &[Named], choices: String) -> String {
    let found = named.iter().find(|one| one.choices == choices);
    found.map_or(choices, |one| one.name.clone())
}
