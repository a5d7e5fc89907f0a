//! A figure of many repetitions: median and spread.

use pageout_record::stats::{self, quantile};

/// Median and spread of repetitions, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The 5th percentile.
    pub low: f64,
    /// The 95th percentile.
    pub high: f64,
    /// The number of repetitions.
    pub n: usize,
}

impl Figure {
    /// Returns the figure of values in any order; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let at = |part| quantile(values, part);
        Some(Self { median: at(0.5)?, low: at(0.05)?, high: at(0.95)?, n: values.len() })
    }
}

/// Returns the median of values in any order.
///
/// # Panics
/// If there are none.
pub(super) fn median(values: &[f64]) -> f64 {
    stats::median(values).expect("at least one value")
}

/// Returns the slope of the line through points by least squares; `None` unless two of them differ
/// in x.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let common: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (spread > 0.0).then(|| common / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_by_hand() {
        let figure = Figure::of(&[40.0, 10.0, 30.0, 20.0, 50.0]).unwrap();
        assert_eq!(figure, Figure { median: 30.0, low: 12.0, high: 48.0, n: 5 });
        assert_eq!(Figure::of(&[7.0]).unwrap(), Figure { median: 7.0, low: 7.0, high: 7.0, n: 1 });
        assert_eq!(Figure::of(&[]), None);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
    }

    #[test]
    fn slopes_by_hand() {
        assert_eq!(slope(&[(1.0, 5.0), (2.0, 7.0), (3.0, 9.0)]), Some(2.0));
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 0.0), (2.0, 3.0)]), Some(1.5));
        assert_eq!(slope(&[(1.0, 5.0), (1.0, 7.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    proptest! {
        #[test]
        fn ordered_and_within_the_values(values in prop::collection::vec(-1e9..1e9f64, 1..200)) {
            let figure = Figure::of(&values).unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= figure.low && figure.low <= figure.median);
            prop_assert!(figure.median <= figure.high && figure.high <= most);
        }

        #[test]
        fn lines_have_their_slope(a in -1e3..1e3f64, b in -1e3..1e3f64, n in 2..20u32) {
            let points: Vec<_> = (0..n).map(|x| (f64::from(x), a + b * f64::from(x))).collect();
            prop_assert!((slope(&points).unwrap() - b).abs() < 1e-6);
        }
    }
}
