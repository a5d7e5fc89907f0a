//! What threads give, from the words that they give it in.

use crate::figure::{Side, Theirs};
use pageout_experiment::metrics::NS_PER_PAGE;

/// Seconds for so many pages.
pub(super) const fn seconds(before: f64, after: f64, pages: f64) -> Theirs {
    let (before, after) = (before * 1e9 / pages, after * 1e9 / pages);
    Theirs::Costs { before, after, unit: NS_PER_PAGE }
}

/// So many per cent of the time before were saved.
pub(super) const fn saved(least: f64, most: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 - least), most: Some(100.0 / (100.0 - most)) }
}

/// So many per cent of the time before were saved, or more.
pub(super) const fn saved_or_more(percent: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 - percent), most: None }
}

/// "So many per cent faster": that much more a second, or that much less time, which a thread
/// leaves open.
pub(super) const fn faster(percent: f64) -> Theirs {
    Theirs::Ratio { least: 1.0 + percent / 100.0, most: Some(100.0 / (100.0 - percent)) }
}

/// So many per cent more a second.
pub(super) const fn throughput(least: f64, most: f64) -> Theirs {
    Theirs::Ratio { least: 1.0 + least / 100.0, most: Some(1.0 + most / 100.0) }
}

/// That much more time.
pub(super) const fn slower(percent: f64) -> Theirs {
    Theirs::Ratio { least: 100.0 / (100.0 + percent), most: Some(100.0 / (100.0 + percent)) }
}

/// A cost before and after.
pub(super) const fn costs(before: f64, after: f64, unit: &'static str) -> Theirs {
    Theirs::Costs { before, after, unit }
}

/// A number that tells of no difference.
pub(super) const fn value(value: f64, unit: &'static str) -> Theirs {
    Theirs::Value { value, unit, side: Side::Neither }
}
