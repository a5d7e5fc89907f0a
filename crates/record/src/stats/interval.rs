//! An interval, with its kind and level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interval of a figure: its ends, its certainty, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The way in which the interval came about.
    pub kind: Kind,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Between 0 and 1: the coverage reached, or the share of draws that lie within.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub level: f64,
}

/// The way in which an interval came about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Kind {
    /// Between two samples: it covers the median whatever the distribution.
    OrderStatistics,
    /// Of the mean, by Student's t.
    Student,
    /// Quantiles of the results of draws of prices from their ranges. This is no confidence
    /// interval: prices are not samples.
    Draws,
    /// Of a prediction: draws of prices, joined with what the model is known to leave out.
    Prediction,
}
