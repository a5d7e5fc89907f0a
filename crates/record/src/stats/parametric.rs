//! Tests that take samples to be normally distributed: Welch's on means, Fisher's on variances.

use super::mean::Mean;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// The outcome of Welch's t-test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// The difference of the means, first less second, in standard errors.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided probability, if the means are equal, of a t as far out.
    pub p: f64,
}

/// The outcome of an F-test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceRatio {
    /// The first variance over the second.
    pub f: f64,
    /// Two-sided probability, if the variances are equal, of an F as far out.
    pub p: f64,
}

/// Mean and variance; `None` of fewer than two values.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let of = Mean::of(values).filter(|mean| mean.n > 1)?;
    Some((of.mean, of.deviation.powi(2)))
}

/// Returns the standard deviation as a part of the mean (coefficient of variation); `None` of fewer
/// than two values.
pub fn variation(values: &[f64]) -> Option<f64> {
    let of = Mean::of(values).filter(|mean| mean.n > 1)?;
    Some(of.deviation / of.mean)
}

/// Tests whether two samples' means differ, whatever their variances (Welch 1947, degrees of
/// freedom by Satterthwaite); `None` if one has fewer than two values. Samples that do not vary at
/// all have means that differ beyond doubt, or none that do.
pub fn welch(first: &[f64], second: &[f64]) -> Option<Welch> {
    let ((mean, variance), (of_second, of_second_variance)) = (moments(first)?, moments(second)?);
    let (one, other) = (variance / first.len() as f64, of_second_variance / second.len() as f64);
    let difference = mean - of_second;
    let [n, m] = [first, second].map(|of| (of.len() - 1) as f64);
    if one + other == 0.0 {
        let (t, p) = match difference {
            0.0 => (0.0, 1.0),
            _ => (f64::INFINITY.copysign(difference), 0.0),
        };
        return Some(Welch { t, df: n + m, p });
    }
    let t = difference / (one + other).sqrt();
    let df = (one + other).powi(2) / (one.powi(2) / n + other.powi(2) / m);
    let students = StudentsT::new(0.0, 1.0, df).expect("degrees of freedom are positive");
    Some(Welch { t, df, p: (2.0 * students.sf(t.abs())).min(1.0) })
}

/// Tests whether two samples' variances differ; `None` if one has fewer than two values.
pub fn f_test(first: &[f64], second: &[f64]) -> Option<VarianceRatio> {
    let (one, other) = (moments(first)?.1, moments(second)?.1);
    if one == 0.0 || other == 0.0 {
        let (f, p) = match (one, other) {
            (0.0, 0.0) => (1.0, 1.0),
            (0.0, _) => (0.0, 0.0),
            _ => (f64::INFINITY, 0.0),
        };
        return Some(VarianceRatio { f, p });
    }
    let f = one / other;
    let [n, m] = [first, second].map(|of| (of.len() - 1) as f64);
    let fisher = FisherSnedecor::new(n, m).expect("degrees of freedom are positive");
    Some(VarianceRatio { f, p: (2.0 * fisher.cdf(f).min(fisher.sf(f))).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{found}, not {wanted}");
    }

    /// Samples as published with Welch's test; values by the incomplete beta function to 30 digits.
    #[test]
    fn published_samples() {
        let one = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let other = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5,
            24.4,
        ];
        let means = welch(&one, &other).expect("two samples");
        near(means.t, -2.455356398286005);
        near(means.df, 24.988529290231414);
        near(means.p, 0.021378001462867033);
        let variances = f_test(&one, &other).expect("two samples");
        near(variances.f, 2.063_497_614_468_064);
        near(variances.p, 0.18770869514303307);
        let few = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8];
        let many = [
            21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5,
            23.6, 21.5, 22.5, 23.5, 21.5, 21.8,
        ];
        near(welch(&few, &many).expect("two samples").p, 0.14884169660532798);
        near(f_test(&few, &many).expect("two samples").p, 3.0677711743113386e-5);
    }

    /// With two degrees of freedom t has the distribution function ½ + t / 2√(2 + t²), F with two
    /// and two x / (1 + x), with one and one 2/π · atan √x.
    #[test]
    fn closed_forms() {
        let means = welch(&[0.0, 2.0], &[3.0, 5.0]).expect("two samples");
        near(means.df, 2.0);
        near(means.p, 1.0 - (4.5_f64 / 6.5).sqrt());
        near(f_test(&[0.0, 1.0, 2.0], &[0.0, 3.0, 6.0]).expect("two samples").p, 0.2);
        let one = f_test(&[0.0, 1.0], &[0.0, 3.0]).expect("two samples");
        near(one.p, 4.0 / std::f64::consts::PI * (1.0_f64 / 3.0).atan());
        near(variation(&[1.0, 3.0]).expect("a sample"), 2.0_f64.sqrt() / 2.0);
    }

    #[test]
    fn samples_that_do_not_vary_and_too_small_ones() {
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).map(|test| test.p), Some(1.0));
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).map(|test| (test.t, test.p)).unwrap().1, 0.0);
        assert_eq!(f_test(&[1.0, 1.0], &[2.0, 2.0]).map(|test| test.p), Some(1.0));
        assert_eq!(f_test(&[1.0, 1.0], &[2.0, 3.0]).map(|test| test.p), Some(0.0));
        assert_eq!((welch(&[1.0], &[1.0, 2.0]), f_test(&[1.0, 2.0], &[1.0])), (None, None));
        assert_eq!(variation(&[1.0]), None);
    }

    proptest! {
        #[test]
        fn neither_order_nor_unit_matters(
            one in prop::collection::vec(1.0..2.0_f64, 2..20),
            other in prop::collection::vec(1.0..3.0_f64, 2..20),
        ) {
            let scaled = |of: &[f64]| of.iter().map(|value| value * 8.0).collect::<Vec<_>>();
            let p = |one: &[f64], other: &[f64]| {
                [welch(one, other).unwrap().p, f_test(one, other).unwrap().p]
            };
            let [means, variances] = p(&one, &other);
            prop_assert!((0.0..=1.0).contains(&means) && (0.0..=1.0).contains(&variances));
            for [m, v] in [p(&other, &one), p(&scaled(&one), &scaled(&other))] {
                prop_assert!((m - means).abs() < 1e-9 && (v - variances).abs() < 1e-9);
            }
        }
    }
}
