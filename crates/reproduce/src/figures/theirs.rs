//! Figures of threads, made from the forms in which the threads give them.

use crate::figure::{Side, Theirs};
use pageout_experiment::metrics::NS_PER_PAGE;

/// Returns the costs of `pages` pages from seconds before and after.
pub(super) const fn seconds(before: f64, after: f64, pages: f64) -> Theirs {
    let (before, after) = (before * 1e9 / pages, after * 1e9 / pages);
    Theirs::Costs { before, after, unit: NS_PER_PAGE }
}

/// Returns the ratio if from `least` to `most` per cent of the time before were saved.
pub(super) const fn saved(least: f64, most: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 - least), most: Some(100.0 / (100.0 - most)) }
}

/// Returns the ratio if at least `percent` per cent of the time before were saved.
pub(super) const fn saved_or_more(percent: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 - percent), most: None }
}

/// Returns the ratio of "`percent` per cent faster". The thread leaves open if that is more work a
/// second or less time.
pub(super) const fn faster(percent: f64) -> Theirs {
    Theirs::Ratio { least: 1.0 + percent / 100.0, most: Some(100.0 / (100.0 - percent)) }
}

/// Returns the ratio of `least` to `most` per cent more work a second.
pub(super) const fn throughput(least: f64, most: f64) -> Theirs {
    Theirs::Ratio { least: 1.0 + least / 100.0, most: Some(1.0 + most / 100.0) }
}

/// Returns the ratio of `percent` per cent more time.
pub(super) const fn slower(percent: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 + percent), most: Some(100.0 / (100.0 + percent)) }
}

/// Returns a cost before and after.
pub(super) const fn costs(before: f64, after: f64, unit: &'static str) -> Theirs {
    Theirs::Costs { before, after, unit }
}

/// Returns a number that is not about a difference.
pub(super) const fn value(value: f64, unit: &'static str) -> Theirs {
    Theirs::Value { value, unit, side: Side::Neither }
}
