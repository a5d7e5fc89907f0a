//! Quantiles, the median among them, and its distribution-free confidence interval.

use super::interval::{Interval, Kind};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Returns the value below which a share `part` of finite values in any order lies, or `None` of an
/// empty slice: linear between neighbours, the least value at 0 and the largest at 1 (definition 7
/// of Hyndman and Fan, "Sample quantiles in statistical packages", 1996).
///
/// # Panics
/// Unless `part` is from 0 to 1.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&part), "a share is from 0 to 1, not {part}");
    let sorted = sorted(values);
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// Returns the median of finite values in any order, or `None` of an empty slice: the [`quantile`]
/// of one half. Of an even number of values, the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the narrowest interval between symmetric order statistics that covers the population's
/// median with at least `level`, or `None` where too few values (below 6 for 0.95) can reach it.
///
/// Assumes independent samples of one continuous distribution, of any shape; with ties the
/// coverage is at least the one given. The number of values below the median is binomial with
/// probability ½ (David & Nagaraja, *Order Statistics*, 3rd ed., section 7.1; Conover, *Practical
/// Nonparametric Statistics*, section 3.2).
pub fn median_interval(values: &[f64], level: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let below = Binomial::new(0.5, u64::try_from(sorted.len()).ok()?).ok()?;
    let reached = |rank: usize| 1.0 - 2.0 * below.cdf(rank as u64);
    // Coverage falls as the ranks move inwards: those before `first` reach the level, those from
    // `end` do not.
    let (mut first, mut end) = (0, sorted.len() / 2);
    while first < end {
        let middle = first.midpoint(end);
        if reached(middle) >= level { first = middle + 1 } else { end = middle }
    }
    let rank = first.checked_sub(1)?;
    let (low, high) = (sorted[rank], sorted[sorted.len() - 1 - rank]);
    Some(Interval { kind: Kind::OrderStatistics, low, high, level: reached(rank) })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn quantiles_by_hand() {
        let values = [40.0, 10.0, 30.0, 20.0, 50.0];
        let found = [0.0, 0.05, 0.5, 0.95, 1.0].map(|part| quantile(&values, part));
        assert_eq!(found, [10.0, 12.0, 30.0, 48.0, 50.0].map(Some));
        assert_eq!(quantile(&[7.0], 0.3), Some(7.0));
        assert_eq!((quantile(&[1.0, 2.0], 0.25), quantile(&[], 0.5)), (Some(1.25), None));
    }

    /// Ranks and levels of Conover's and of David & Nagaraja's tables.
    #[test]
    fn intervals_of_the_tables() {
        let ranks = [(6, 1, 0.96875), (10, 2, 0.97852), (15, 4, 0.96484), (31, 10, 0.97055)];
        for (n, rank, level) in ranks {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let got = median_interval(&values, 0.95).unwrap();
            assert_eq!((got.low, got.high), (f64::from(rank), f64::from(n + 1 - rank)));
            assert!((got.level - level).abs() < 1e-5, "n = {n}: {got:?}");
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        assert_eq!(median_interval(&[1.0], 0.5), None);
        assert_eq!(median_interval(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn quantiles_grow_within_the_values(
            values in prop::collection::vec(-1e9..1e9, 1..80),
            (one, other) in (0.0..=1.0, 0.0..=1.0),
        ) {
            let at = |part: f64| quantile(&values, part).unwrap();
            let (low, high) = (at(f64::min(one, other)), at(f64::max(one, other)));
            prop_assert!(at(0.0) <= low && low <= high && high <= at(1.0));
        }

        #[test]
        fn interval_holds_the_median(
            values in prop::collection::vec(-1e9..1e9, 6..80),
            asked in 0.1..0.95,
        ) {
            let middle = median(&values).unwrap();
            let got = median_interval(&values, asked).unwrap();
            prop_assert!(got.low <= middle && middle <= got.high);
            prop_assert!(asked <= got.level && got.level < 1.0);
        }

        /// The interval one rank further in does not reach the level.
        #[test]
        fn no_narrower_interval_reaches_the_level(n in 6_usize..300, asked in 0.5..0.99) {
            let values: Vec<f64> = (0..n).map(|value| value as f64).collect();
            let got = median_interval(&values, asked);
            prop_assume!(got.is_some());
            let rank = got.unwrap().low as u64;
            let below = Binomial::new(0.5, n as u64).unwrap();
            let narrower = 1.0 - 2.0 * below.cdf(rank + 1);
            prop_assert!(narrower < asked || 2 * (rank + 1) >= n as u64, "{got:?}");
        }

        #[test]
        fn a_higher_level_is_no_narrower(values in prop::collection::vec(-1e9..1e9, 12..60)) {
            let narrow = median_interval(&values, 0.8).unwrap();
            let wide = median_interval(&values, 0.99).unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }
}
