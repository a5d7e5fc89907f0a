//! The decision on a variant of a modelled machine: the number of draws of prices in which it pays,
//! the price from which on it pays, and what it saves. It pays if it gains more than a limit.

use serde::Serialize;

use super::declarations::{Cause, Declarations};
use super::group::OfVariant;
use super::levels::LEAST_GAIN;
use super::percent::percent;
use crate::schema::{Better, Metric, Series};
use crate::stats::{Interval, median};

/// The share of the base's count below which a difference of the count is not a cause.
const SAME: f64 = 1e-3;

/// A variant against the base on one modelled machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The gain over the base in each draw of prices, in per cent of the base; below 0 if the
    /// variant is worse.
    pub gains: Vec<f64>,
    /// The number of draws in which the variant pays.
    pub paying: usize,
    /// The prices that were moved.
    pub prices: Vec<BreakEven>,
    /// The causes of the difference at nominal prices, the largest first.
    pub causes: Vec<Driver>,
}

/// A price, and its values at which a variant pays while all other prices stay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakEven {
    /// The name of the price.
    pub price: String,
    /// The unit of the price.
    pub unit: String,
    /// The platform's nominal price.
    pub nominal: f64,
    /// The range of the platform's price.
    pub interval: Option<Interval>,
    /// Prices in ascending order, each with the costs of the base and of the variant at that price.
    pub along: Vec<[f64; 3]>,
    /// The prices at which the variant pays.
    pub pays: Pays,
}

/// The prices at which a variant pays.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pays {
    /// At every price.
    Always,
    /// At no price.
    Never,
    /// From this one on.
    From(f64),
    /// Up to this one.
    UpTo(f64),
    /// The variant begins or ceases to pay at each of these prices, in ascending order.
    Between(Vec<f64>),
}

/// A counted cause, and its share of what is saved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Driver {
    /// The name of the count, or of the time if no count of it differs. Empty for the rest, which
    /// no count explains.
    pub name: String,
    /// The count's unit, and how much more of it the variant has; below 0 if it has less.
    pub grown: Option<(String, f64)>,
    /// The cause's share of what the variant saves, or loses, in per cent.
    pub share: f64,
}

impl Decision {
    /// Sets the limit: the variant pays if it gains more than `least_gain` per cent.
    pub(super) fn ask(&mut self, least_gain: f64, better: Better) {
        self.paying = self.gains.iter().filter(|gain| **gain > least_gain).count();
        for price in &mut self.prices {
            price.pays = pays(&price.along, least_gain, better);
        }
    }
}

/// Returns the name of the metric that has the whole in each draw of prices.
pub fn drawn_name(whole: &str) -> String {
    format!("{whole}, drawn")
}

/// Returns the decision on a whole; none if records have neither draws nor moved prices.
pub(super) fn of(
    whole: &Metric,
    [base, new]: [&OfVariant<'_>; 2],
    declared: &Declarations,
) -> Option<Decision> {
    let gains = gains(whole, [base, new]);
    let prices: Vec<BreakEven> =
        base.series().filter_map(|along| break_even(along, [base, new])).collect();
    let decided = !gains.is_empty() || !prices.is_empty();
    decided.then(|| {
        let causes = drivers(whole, [base, new], declared);
        let mut decision = Decision { gains, paying: 0, prices, causes };
        decision.ask(LEAST_GAIN, whole.better);
        decision
    })
}

fn gains(whole: &Metric, variants: [&OfVariant<'_>; 2]) -> Vec<f64> {
    let drawn = drawn_name(&whole.name);
    let [base, new] = variants.map(|one| one.samples(&drawn).map(|samples| samples.values()));
    match (base, new) {
        (Some(base), Some(new)) if base.len() == new.len() => {
            let gains = base.iter().zip(&new).map(|(base, new)| percent(*base, *new, whole.better));
            gains.map(|gain| gain.unwrap_or(0.0)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the prices at which the variant pays, for a price and a series of the whole that both
/// records have.
fn break_even(along: &Series, [base, new]: [&OfVariant<'_>; 2]) -> Option<BreakEven> {
    let price = base.samples(&along.x.name)?;
    let other = new.series().find(|series| series.x == along.x)?;
    Some(BreakEven {
        price: along.x.name.clone(),
        unit: along.x.unit.clone(),
        nominal: median(&price.values())?,
        interval: price.metric.interval,
        along: both(along, other),
        pays: Pays::Never,
    })
}

/// Returns the places that both series have, each with both values.
fn both(base: &Series, new: &Series) -> Vec<[f64; 3]> {
    let value = |of: &Series, place: usize| of.lines[0].values[place];
    let of = |(place, at): (usize, &f64)| {
        let there = new.at.iter().position(|other| other == at)?;
        Some([*at, value(base, place)?, value(new, there)?])
    };
    base.at.iter().enumerate().filter_map(of).collect()
}

/// Returns the prices at which the gain exceeds a limit. Both costs are straight lines between the
/// known prices.
fn pays(along: &[[f64; 3]], least_gain: f64, better: Better) -> Pays {
    let asked = match better {
        Better::Lower => 1.0 - least_gain / 100.0,
        Better::Higher | Better::Neither => 1.0 + least_gain / 100.0,
    };
    let sign = if better == Better::Lower { 1.0 } else { -1.0 };
    // Above 0 if the variant gains more than the limit.
    let ahead = |[at, base, new]: &[f64; 3]| (*at, sign * (base * asked - new));
    let ahead: Vec<(f64, f64)> = along.iter().map(ahead).collect();
    let changes = ahead.windows(2).filter(|pair| (pair[0].1 > 0.0) != (pair[1].1 > 0.0));
    let changes = changes.map(|pair| {
        let [(low, less), (high, more)] = [pair[0], pair[1]];
        low + (high - low) * less / (less - more)
    });
    let changes: Vec<f64> = changes.collect();
    match (changes.as_slice(), ahead.first().is_some_and(|(_, first)| *first > 0.0)) {
        ([], true) => Pays::Always,
        ([], false) => Pays::Never,
        ([at], true) => Pays::UpTo(*at),
        ([at], false) => Pays::From(*at),
        (several, _) => Pays::Between(several.to_vec()),
    }
}

/// Returns the causes of the difference at nominal prices, the largest first.
fn drivers(whole: &Metric, variants: [&OfVariant<'_>; 2], declared: &Declarations) -> Vec<Driver> {
    let grown = |name: &str| {
        let [base, new] = variants.map(|one| median(&one.samples(name)?.values()));
        Some(new? - base?)
    };
    let Some(all) = grown(&whole.name).filter(|all| *all != 0.0) else { return Vec::new() };
    let driver = |cause: &Cause| {
        let share = 100.0 * grown(&cause.time)? / all;
        let counted = cause.counts.iter().find_map(|count| {
            let samples = variants[0].samples(count)?;
            let (grown, base) = (grown(count)?, median(&samples.values())?);
            let differs = grown.abs() > SAME * base.abs();
            differs.then(|| (count, (samples.metric.unit.clone(), grown)))
        });
        let (name, grown) = counted.unzip();
        Some(Driver { name: name.unwrap_or(&cause.time).clone(), grown, share })
    };
    let mut drivers: Vec<Driver> = declared.causes().iter().filter_map(driver).collect();
    if drivers.is_empty() {
        return drivers;
    }
    let rest = 100.0 - drivers.iter().map(|driver| driver.share).sum::<f64>();
    drivers.push(Driver { name: String::new(), grown: None, share: rest });
    drivers.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    drivers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_pays_where_it_gains_more_than_the_limit() {
        let pays = |along: &[[f64; 3]], limit| pays(along, limit, Better::Lower);
        assert_eq!(pays(&[[0.0, 10.0, 9.0], [1.0, 20.0, 10.0]], 1.0), Pays::Always);
        assert_eq!(pays(&[[0.0, 10.0, 9.95], [1.0, 20.0, 19.9]], 1.0), Pays::Never);
        assert_eq!(pays(&[[0.0, 10.0, 14.0], [8.0, 10.0, 6.0]], 0.0), Pays::From(4.0));
        assert_eq!(pays(&[[0.0, 10.0, 14.0], [8.0, 10.0, 6.0]], 20.0), Pays::From(6.0));
        assert_eq!(pays(&[[0.0, 10.0, 6.0], [8.0, 10.0, 14.0]], 0.0), Pays::UpTo(4.0));
        let there_and_back = [[0.0, 10.0, 8.0], [1.0, 10.0, 12.0], [3.0, 10.0, 8.0]];
        assert_eq!(pays(&there_and_back, 0.0), Pays::Between(vec![0.5, 2.0]));
    }

    #[test]
    fn equal_costs_pay_nowhere() {
        assert_eq!(pays(&[[0.0, 5.0, 5.0], [1.0, 7.0, 7.0]], 0.0, Better::Lower), Pays::Never);
        let from_nothing = [[0.0, 5.0, 5.0], [1.0, 7.0, 6.0]];
        assert_eq!(pays(&from_nothing, 0.0, Better::Lower), Pays::From(0.0));
    }

    #[test]
    fn where_more_is_better_the_variant_has_to_have_more() {
        let along = [[0.0, 10.0, 8.0], [8.0, 10.0, 12.0]];
        assert_eq!(pays(&along, 0.0, Better::Higher), Pays::From(4.0));
    }
}
