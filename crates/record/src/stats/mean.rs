//! The arithmetic mean, the deviation of values from it, and its interval.

use super::interval::{Interval, Kind};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample's standard deviation, with n − 1; 0 of a single value.
    pub deviation: f64,
    /// The number of values.
    pub n: usize,
}

impl Mean {
    /// Returns the mean of these values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, deviation, n })
    }

    /// Returns the interval around the mean that covers the true one with probability `level`, by
    /// Student's t: exact for independent normal values, and near it for many values of any
    /// distribution. `None` of fewer than two values.
    ///
    /// # Panics
    /// Unless `level` is between 0 and 1.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        assert!(level > 0.0 && level < 1.0, "a level is between 0 and 1, not {level}");
        if self.n < 2 {
            return None;
        }
        let t = StudentsT::new(0.0, 1.0, (self.n - 1) as f64).expect("degrees of freedom are > 0");
        let quantile = t.inverse_cdf(f64::midpoint(1.0, level));
        let margin = quantile * self.deviation / (self.n as f64).sqrt();
        let (low, high) = (self.mean - margin, self.mean + margin);
        Some(Interval { kind: Kind::Student, low, high, level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // Mean 5, squares 9+1+1+1+0+0+4+16 = 32, t(7; 0.975) = 2.364624.
        let mean = Mean::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((mean.mean, mean.n), (5.0, 8));
        assert!((mean.deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let of = mean.interval(0.95).unwrap();
        let margin = 2.364_624 * mean.deviation / 8.0_f64.sqrt();
        assert!((of.low - (5.0 - margin)).abs() < 1e-5, "{of:?}");
        assert!((of.high - (5.0 + margin)).abs() < 1e-5, "{of:?}");
        assert_eq!(Mean::of(&[]), None);
        let one = Mean::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.deviation, one.interval(0.95)), (3.0, 0.0, None));
    }
}
