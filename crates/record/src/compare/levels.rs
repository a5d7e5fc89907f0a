//! The certainty asked of findings and intervals.

/// The level of the tests of one table taken together.
pub const ALPHA: f64 = 0.05;

/// The coverage asked of the intervals of medians.
pub const LEVEL: f64 = 0.95;

/// The gain over the base that a variant is asked for on modelled machines, in per cent.
pub const LEAST_GAIN: f64 = 1.0;
