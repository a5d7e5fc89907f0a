//! Why predictions miss, as far as that was tested.

use std::fmt;

/// Why a figure is missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cause {
    /// The figure's id.
    pub(super) figure: &'static str,
    /// Why.
    pub(super) cause: &'static str,
    /// The run that shows it; none if it was not tested.
    pub(super) tested_by: Option<&'static str>,
}

/// The causes of what was missed.
pub(super) const CAUSES: &[Cause] = &[];

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tested = self.tested_by.unwrap_or("cause not tested");
        write!(f, "{} ({tested})", self.cause)
    }
}
