//! An interval, with what it says.

use serde::{Deserialize, Serialize};

/// Where a figure may lie, how sure that is, and on what ground.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// How it came to be.
    pub kind: Kind,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Between 0 and 1: the coverage reached, or the share of draws that lie within.
    pub level: f64,
}

/// How an interval came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Between two samples: it covers the median whatever the distribution.
    OrderStatistics,
    /// Of the mean, by Student's t.
    Student,
    /// Quantiles of what draws of prices from their ranges give. No confidence interval: prices
    /// are not samples.
    Draws,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::OrderStatistics, Self::Student, Self::Draws];
}
