//! Numbers of options.

use pageout_refusal::whole_number;
use std::ops::RangeInclusive;

/// Returns a parser of whole numbers within bounds.
pub(crate) fn whole<T: TryFrom<u64>>(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = whole_number(text, bounds.clone()).map_err(|refused| refused.to_string())?;
        Ok(T::try_from(number).ok().expect("the bounds are numbers of the type"))
    }
}
