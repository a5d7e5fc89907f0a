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

/// One invalidation a page stands on both sides of the young check, and goes with unmapping.
const TLBI: &str = "a TLBI takes some 320 ns there, where the platform has 5 to 80";
/// The fit that never saw S1.
const WITHOUT_S1: &str = "tested: the fit without S1 gives S1's times within 4 %, but only with an \
    instruction of 0.04 ns, which no core reaches: part of the cause";
/// Walks and young checks are tight loops; the price is one for all instructions.
const INSTRUCTION: &str = "the instructions counted take less than priced, 0.14 ns at the least";
const EVERY_FIT: &str = "tested: every fit has 0.04 to 0.05 ns; whether fewer instructions are \
    executed there, or faster ones, was not tested";

/// The causes of what was missed.
pub(super) const CAUSES: &[Cause] = &[
    Cause { figure: "s0-young-arm64", cause: TLBI, tested_by: Some(WITHOUT_S1) },
    Cause { figure: "s0-unmap-arm64", cause: TLBI, tested_by: Some(WITHOUT_S1) },
    Cause { figure: "s1-mglru-arm64", cause: INSTRUCTION, tested_by: Some(EVERY_FIT) },
    Cause { figure: "s1-mglru-arm64-sys", cause: INSTRUCTION, tested_by: Some(EVERY_FIT) },
];

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tested = self.tested_by.unwrap_or("cause not tested");
        write!(f, "{} ({tested})", self.cause)
    }
}
