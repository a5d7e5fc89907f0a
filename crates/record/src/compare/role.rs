//! The role of a metric in the verdict on its scenario.

use serde::Serialize;

/// The role of a metric, in the order in which a comparison has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The figure that the scenario is judged by.
    Whole,
    /// A share of the whole: the parts add up to it. Work that moves from one part to another is
    /// no change, so parts are never judged.
    Part,
    /// An ordinary figure. Its own test is information, and never counts in the verdict.
    Count,
    /// A figure about the measurement itself, such as a sampling error. It is never tested.
    Diagnostic,
}
