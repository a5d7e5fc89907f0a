//! The basis of values: the way in which they came about.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way in which a value came about. `docs/records.md` says what each one lets a reader
/// conclude.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Basis {
    /// Read from a clock or a hardware counter: another run gives another value.
    Measured,
    /// Events counted in the run.
    Counted,
    /// Computed from counts and prices, each price with a source.
    Modelled,
    /// Computed with constants chosen to meet known results: never a prediction.
    Fitted,
    /// Computed with a constant that was never measured.
    Guessed,
    /// Quoted from a source.
    Published,
}

impl Basis {
    /// Returns the name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Counted => "counted",
            Self::Modelled => "modelled",
            Self::Fitted => "fitted",
            Self::Guessed => "guessed",
            Self::Published => "published",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
