//! A known bug: a description, and the search that must find it.

use super::engine::Compare;
use super::property::Property;
use super::stage::Stage;

/// The origin of a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// From a commit or a thread.
    Known,
    /// A kernel does this by its source; it was not seen to fail there.
    BySource,
    /// A constructed bug, from a question or from the reason for some code.
    Constructed,
}

impl Origin {
    /// Returns the origin's name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::BySource => "by source",
            Self::Constructed => "constructed",
        }
    }
}

/// The search that finds an exhibit.
#[derive(Clone, Copy, Debug)]
pub enum Finding {
    /// A search of the scenario of this name.
    Schedule(&'static str, &'static [Stage]),
    /// Every case of a small format, for this property.
    Cases(Property, &'static [(&'static str, Compare)]),
}

/// A known bug that `check` must find.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// The exhibit's name.
    pub name: &'static str,
    /// The origin of the bug.
    pub origin: Origin,
    /// The fault.
    pub what: &'static str,
    /// The search that finds it.
    pub finding: Finding,
}
