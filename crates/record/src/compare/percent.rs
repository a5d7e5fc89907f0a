//! A change as a share of the base.

use crate::schema::Better;

/// Returns the change in per cent of the base, positive if better. For a metric without a better
/// direction, it is positive if larger. `None` if only the base is 0.
pub(super) fn percent(base: f64, new: f64, better: Better) -> Option<f64> {
    let gain = match better {
        Better::Lower => base - new,
        Better::Higher | Better::Neither => new - base,
    };
    match (gain == 0.0, base == 0.0) {
        (true, _) => Some(0.0),
        (false, true) => None,
        (false, false) => Some(gain / base.abs() * 100.0).filter(|percent| percent.is_finite()),
    }
}
