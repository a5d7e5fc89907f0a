//! The origins of the figures of a platform file.

/// The kind of evidence for a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A manual or the maker states it.
    Documented,
    /// A measurement on such a machine.
    Measured,
    /// A figure chosen so that the model agrees with a measurement; the model cannot predict that
    /// one.
    Fitted,
    /// A figure from memory, or reasoned from other machines; the range is wide.
    Guessed,
}

impl Basis {
    /// Every basis.
    pub const ALL: [Self; 4] = [Self::Documented, Self::Measured, Self::Fitted, Self::Guessed];

    /// Returns the basis as files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Guessed => "guessed",
        }
    }
}

/// The origin of a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// The kind of evidence for the figure.
    pub basis: Basis,
    /// The measurement that the figure was fitted on; only for [`Basis::Fitted`].
    pub on: Option<String>,
    /// The document, the measurement or the reasoning.
    pub source: String,
}

/// The origin of a section of a platform's shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionOrigin {
    /// The section's name in the file, with the section it is in.
    pub section: String,
    /// The origin of the section's figures.
    pub origin: Provenance,
}
