//! A bug on show: what it is, and what must find it.

use super::engine::Compare;
use super::property::Property;
use super::stage::Stage;

/// Where a bug comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// From a commit or a thread.
    Known,
    /// What a kernel does by its source; that it goes wrong there was not seen.
    BySource,
    /// Made up, from a question or from what code prevents.
    Constructed,
}

impl Origin {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::BySource => "by source",
            Self::Constructed => "constructed",
        }
    }
}

/// What finds an exhibit.
#[derive(Clone, Copy, Debug)]
pub enum Finding {
    /// A search of the scenario of this name.
    Schedule(&'static str, &'static [Stage]),
    /// Every case of a small format, for this property.
    Cases(Property, &'static [(&'static str, Compare)]),
}

/// A bug on show.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name.
    pub name: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong.
    pub what: &'static str,
    /// What finds it.
    pub finding: Finding,
}
