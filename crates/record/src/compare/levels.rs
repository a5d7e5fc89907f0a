//! How sure findings and intervals are.

/// The level of the tests of one table taken together.
pub const ALPHA: f64 = 0.05;

/// The coverage asked of the intervals of medians.
pub const LEVEL: f64 = 0.95;
