//! Where the figures of a platform file come from.

/// How well a figure is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A manual or its maker says so.
    Documented,
    /// Someone measured it on such a machine.
    Measured,
    /// Chosen so that the model agrees with something measured: it cannot predict that.
    Fitted,
    /// From memory or reasoned from other machines; the range is wide.
    Guessed,
}

impl Basis {
    /// Every basis.
    pub const ALL: [Self; 4] = [Self::Documented, Self::Measured, Self::Fitted, Self::Guessed];

    /// How files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Guessed => "guessed",
        }
    }
}

/// Where a figure comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// How well it is known.
    pub basis: Basis,
    /// What it was fitted on, for [`Basis::Fitted`] alone.
    pub on: Option<String>,
    /// The document, the measurement or the reasoning.
    pub source: String,
}

/// Where a section of a platform's shape comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionOrigin {
    /// Its name in the file, with the section it is in.
    pub section: String,
    /// Where its figures come from.
    pub origin: Provenance,
}
