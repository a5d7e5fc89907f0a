//! The decision on a variant of a modelled machine: in how many draws of prices it gains, from
//! which price on it pays, and what it saves.

use serde::Serialize;

use super::declarations::{Cause, Declarations};
use super::group::OfVariant;
use super::percent::percent;
use crate::schema::{Better, Metric, Series};
use crate::stats::{Interval, median};

/// Wholes that differ by less than this many per cent are alike.
const ALIKE: f64 = 0.01;
/// A price below this share of the machine's is nothing.
const NOTHING: f64 = 1e-3;
/// A count that differs by less than this share of the base's drives nothing.
const SAME: f64 = 1e-3;

/// A variant against the base on one modelled machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The gain over the base in each draw of prices, in per cent of the base; below 0 where the
    /// variant is worse.
    pub gains: Vec<f64>,
    /// The prices that were moved.
    pub prices: Vec<BreakEven>,
    /// What the difference at nominal prices comes from, the largest first.
    pub causes: Vec<Driver>,
}

/// Where a variant pays along a price, all others as they are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakEven {
    /// Name of the price.
    pub price: String,
    /// Unit of its numbers.
    pub unit: String,
    /// What the platform has.
    pub nominal: f64,
    /// Where that may lie.
    pub interval: Option<Interval>,
    /// Where the variant pays.
    pub pays: Pays,
}

/// The prices at which a variant is better than the base.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pays {
    /// It is as good as the base at each.
    Alike,
    /// At each.
    Always,
    /// At none.
    Never,
    /// From this one on.
    From(f64),
    /// Up to this one.
    UpTo(f64),
    /// It changes sides at each of these, in ascending order.
    Between(Vec<f64>),
}

/// A counted thing, and what it saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Driver {
    /// Name of the count, or of the time where no count of it differs; empty for all that no count
    /// stands for.
    pub name: String,
    /// The count's unit, and how much more of it the variant has; below 0 where it has less.
    pub grown: Option<(String, f64)>,
    /// Its share of what the variant saves, or loses, in per cent.
    pub share: f64,
}

impl Decision {
    /// The draws in which the gain exceeds a limit in per cent.
    pub fn above(&self, limit: f64) -> usize {
        self.gains.iter().filter(|gain| **gain > limit).count()
    }
}

/// The name of the metric that has the whole in each draw of prices.
pub fn drawn_name(whole: &str) -> String {
    format!("{whole}, drawn")
}

/// The decision on a whole; none where records have neither draws nor moved prices.
pub(super) fn of(
    whole: &Metric,
    [base, new]: [&OfVariant<'_>; 2],
    declared: &Declarations,
) -> Option<Decision> {
    let gains = gains(whole, [base, new]);
    let prices: Vec<BreakEven> =
        base.series().filter_map(|along| break_even(along, [base, new], whole.better)).collect();
    let decided = !gains.is_empty() || !prices.is_empty();
    decided.then(|| Decision { gains, prices, causes: drivers(whole, [base, new], declared) })
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

/// Where the variant pays along a price that both records name, with the whole along it.
fn break_even(
    along: &Series,
    [base, new]: [&OfVariant<'_>; 2],
    better: Better,
) -> Option<BreakEven> {
    let price = base.samples(&along.x.name)?;
    let other = new.series().find(|series| series.x == along.x)?;
    let nominal = median(&price.values())?;
    Some(BreakEven {
        price: along.x.name.clone(),
        unit: along.x.unit.clone(),
        nominal,
        interval: price.metric.interval,
        pays: pays(&gains_along([along, other], better), nominal * NOTHING),
    })
}

/// The gain in per cent at each place that both have.
fn gains_along([base, new]: [&Series; 2], better: Better) -> Vec<(f64, f64)> {
    let value = |of: &Series, place: usize| of.lines[0].values[place];
    let gain = |(place, at): (usize, &f64)| {
        let there = new.at.iter().position(|other| other == at)?;
        Some((*at, percent(value(base, place)?, value(new, there)?, better)?))
    };
    base.at.iter().enumerate().filter_map(gain).collect()
}

/// Where gains along a price are above zero: straight lines between those known. Prices up to
/// `nothing` count for nothing.
fn pays(gains: &[(f64, f64)], nothing: f64) -> Pays {
    let told: Vec<(f64, f64)> =
        gains.iter().copied().filter(|(_, gain)| gain.abs() >= ALIKE).collect();
    let Some(&(_, mut first)) = told.first() else { return Pays::Alike };
    let changes = told.windows(2).filter(|pair| pair[0].1 * pair[1].1 < 0.0).map(|pair| {
        let [(low, less), (high, more)] = [pair[0], pair[1]];
        let between = gains.iter().filter(|(at, _)| (low..high).contains(at) && *at > low);
        let known = between.map(|(at, _)| *at).next();
        known.unwrap_or(low + (high - low) * less / (less - more))
    });
    let mut changes: Vec<f64> = changes.collect();
    if changes.first().is_some_and(|at| *at <= nothing) {
        changes.remove(0);
        first = -first;
    }
    match (changes.as_slice(), first > 0.0) {
        ([], true) => Pays::Always,
        ([], false) => Pays::Never,
        ([at], true) => Pays::UpTo(*at),
        ([at], false) => Pays::From(*at),
        (several, _) => Pays::Between(several.to_vec()),
    }
}

/// What the difference at nominal prices comes from, the largest first.
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
    fn a_variant_pays_where_it_gains() {
        assert_eq!(pays(&[(0.0, 2.0), (1.0, 1.0)], 0.001), Pays::Always);
        assert_eq!(pays(&[(0.0, -2.0), (1.0, -1.0)], 0.001), Pays::Never);
        assert_eq!(pays(&[(0.0, 0.0), (1.0, 0.001)], 0.001), Pays::Alike);
        assert_eq!(pays(&[(0.0, -1.0), (10.0, 4.0)], 0.001), Pays::From(2.0));
        assert_eq!(pays(&[(0.0, 1.0), (10.0, -4.0)], 0.001), Pays::UpTo(2.0));
        assert_eq!(
            pays(&[(0.0, 1.0), (1.0, -1.0), (3.0, 1.0)], 0.001),
            Pays::Between(vec![0.5, 2.0])
        );
    }

    #[test]
    fn no_difference_at_a_price_of_nothing_is_no_change_of_sides() {
        assert_eq!(pays(&[(0.0, 0.0), (1.0, 3.0), (100.0, 9.0)], 0.001), Pays::Always);
        assert_eq!(pays(&[(0.0, 0.0), (1.0, -3.0)], 0.001), Pays::Never);
    }

    #[test]
    fn a_price_of_next_to_nothing_is_nothing() {
        assert_eq!(pays(&[(0.0, -0.1), (100.0, 1e6)], 0.001), Pays::Always);
        assert_eq!(pays(&[(0.0, 0.1), (100.0, -1e6)], 0.001), Pays::Never);
    }

    #[test]
    fn a_place_where_both_are_alike_is_where_sides_change() {
        assert_eq!(pays(&[(0.0, -3.0), (2.5, 0.002), (100.0, 9.0)], 0.001), Pays::From(2.5));
    }
}
