//! The keys that give the origin of a section or price.

use super::section::Section;
use crate::platform::error::PlatformError;
use crate::platform::provenance::{Basis, Provenance};

/// The keys that give the origin of a section or price.
pub(super) const PROVENANCE: [&str; 3] = ["basis", "on", "source"];

/// Reads the origin of a section or price.
pub(super) fn provenance(section: &Section<'_>) -> Result<Provenance, PlatformError> {
    let basis = section.choice("basis", &Basis::ALL.map(|basis| (basis.name(), basis)))?;
    let is_fitted = basis == Basis::Fitted;
    if section.has("on") && !is_fitted {
        let found = format!("a value beside basis \"{}\"", basis.name());
        return Err(section.refused("on", found, "a value beside basis \"fitted\" alone"));
    }
    let on = is_fitted.then(|| section.text("on", "what it was fitted on")).transpose()?;
    let source = section.text("source", "the document, the measurement or the reasoning")?;
    Ok(Provenance { basis, on: on.map(str::to_owned), source: source.to_owned() })
}
