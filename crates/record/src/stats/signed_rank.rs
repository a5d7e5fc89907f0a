//! Wilcoxon's signed-rank test of pairs, and the shift by which they differ.

use statrs::distribution::{ContinuousCDF, Normal};

use super::median::median;

/// The maximum number of differences with an exact distribution.
const EXACT: usize = 50;

/// The outcome of a signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the differences above zero, among all by their size.
    pub w: f64,
    /// Two-sided probability of a sum as far out, if differences of both signs are as likely.
    pub p: f64,
    /// True if `p` is exact; otherwise it is the normal approximation.
    pub exact: bool,
}

/// Tests whether differences within pairs tend to one side of zero, or `None` without any.
///
/// Assumes that pairs are independent and, under the null hypothesis, that each difference might
/// as well have the other sign. Differences of zero are left out. Up to 50 others, `p` is exact,
/// with ties too: it is the share of all choices of signs (Wilcoxon 1945). Beyond, the sum is
/// approximated by a normal with the variance corrected for ties and a continuity correction of ½
/// (Hollander, Wolfe & Chicken, *Nonparametric Statistical Methods*, 3rd ed., section 3.1).
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if differences.is_empty() {
        return None;
    }
    let mut sizes: Vec<f64> = differences.iter().copied().filter(|one| *one != 0.0).collect();
    sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = sizes.len();
    // Twice each rank: shared ranks of ties are whole then.
    let (mut ranks, mut above, mut ties) = (Vec::new(), 0, 0.0);
    for group in sizes.chunk_by(|a, b| a.abs() == b.abs()) {
        let (tied, shared) = (group.len(), 2 * ranks.len() + group.len() + 1);
        ranks.extend(std::iter::repeat_n(shared, tied));
        above += shared * group.iter().filter(|one| **one > 0.0).count();
        ties += (tied as f64).powi(3) - tied as f64;
    }
    let nearer = above.min(n * (n + 1) - above);
    let exact = n <= EXACT;
    let p = if exact {
        2.0 * sums(&ranks)[..=nearer].iter().sum::<f64>()
    } else {
        2.0 * normal_cdf(n, ties, nearer as f64 / 2.0)
    };
    Some(SignedRank { w: above as f64 / 2.0, p: p.min(1.0), exact })
}

/// Returns the smallest two-sided p that `pairs` pairs can give: all differ the same way.
pub fn smallest_signed_rank_p(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powi(pairs.try_into().unwrap_or(i32::MAX))).min(1.0)
}

/// Returns the shift of the differences, the estimate of Hodges and Lehmann: the median of the
/// means of any two of them, and of each with itself. `None` without any. It takes time and memory
/// of their number squared.
pub fn shift(differences: &[f64]) -> Option<f64> {
    median(&means(differences))
}

/// Returns the interval of the [`shift`] that goes with the test: it covers it with at least
/// `level` and holds zero where the test finds nothing at that level. `None` where the differences
/// are too few, below 6 for 0.95 (Hollander, Wolfe & Chicken, section 3.3).
pub fn shift_interval(differences: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = differences.len();
    let mut means = means(differences);
    means.sort_by(f64::total_cmp);
    let exact = (n <= EXACT).then(|| sums(&(1..=n).collect::<Vec<_>>()));
    let mut below = 0.0;
    let place = (0..means.len() / 2).take_while(|&place| {
        below = match &exact {
            Some(sums) => below + sums[place],
            None => normal_cdf(n, 0.0, place as f64),
        };
        1.0 - 2.0 * below >= level
    });
    let place = place.last()?;
    Some((means[place], means[means.len() - 1 - place]))
}

/// Returns Walsh's averages.
fn means(differences: &[f64]) -> Vec<f64> {
    let from = |(k, one): (usize, &f64)| {
        let one = *one;
        differences[k..].iter().map(move |other| one / 2.0 + other / 2.0)
    };
    differences.iter().enumerate().flat_map(from).collect()
}

/// Returns the probability of each sum of ranks, if each rank is taken or left at random.
fn sums(ranks: &[usize]) -> Vec<f64> {
    let mut likely = vec![1.0];
    for rank in ranks {
        let mut with = vec![0.0; likely.len() + rank];
        for (sum, share) in likely.iter().enumerate() {
            with[sum] += share / 2.0;
            with[sum + rank] += share / 2.0;
        }
        likely = with;
    }
    likely
}

/// Returns the chance of a sum of at most `sum`, which is below the mean, by the normal
/// approximation.
fn normal_cdf(n: usize, ties: f64, sum: f64) -> f64 {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    Normal::standard().cdf((sum + 0.5 - mean) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// Darwin's plants, cross-fertilised against self-fertilised (in eighths of an inch): Fisher's
    /// data, and SciPy's documented example of the test.
    const DARWIN: [f64; 15] =
        [6.0, 8.0, 14.0, 16.0, 23.0, 24.0, 28.0, 29.0, 41.0, -48.0, 49.0, 56.0, 60.0, -67.0, 75.0];

    #[test]
    fn published_example() {
        let got = signed_rank(&DARWIN).unwrap();
        assert!(got.exact && got.w == 96.0 && close(got.p, 0.041_259_765_625), "{got:?}");
        assert_eq!(shift(&DARWIN), Some(25.0));
    }

    /// The largest sums that are significant at 0.05, two-sided, in Wilcoxon's tables.
    #[test]
    fn critical_values_of_the_tables() {
        let table =
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89)];
        for (n, critical) in table {
            let sums = sums(&(1..=n).collect::<Vec<_>>());
            let p = |w: usize| 2.0 * sums[..=w].iter().sum::<f64>();
            assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "n = {n}");
        }
        assert_eq!((5..=6).map(smallest_signed_rank_p).collect::<Vec<_>>(), [0.0625, 0.03125]);
    }

    #[test]
    fn degenerate_pairs() {
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[0.0; 7]).unwrap().p, 1.0);
        assert_eq!(signed_rank(&[1.0; 6]).unwrap().p, 0.03125, "ties are exact too");
        assert_eq!(signed_rank(&[1.0, -1.0, 0.0]).unwrap().p, 1.0);
        assert_eq!((shift(&[]), shift_interval(&[1.0; 5], 0.95)), (None, None));
        let six = [3.0, 1.0, 2.0, 6.0, 5.0, 4.0];
        assert_eq!(shift_interval(&six, 0.95), Some((1.0, 6.0)), "all of them");
    }

    /// The approximation takes over where it is good.
    #[test]
    fn exact_and_approximate_meet() {
        let ranks: Vec<usize> = (1..=EXACT).collect();
        let sums = sums(&ranks);
        for sum in [300, 434, 500, 600] {
            let exact: f64 = sums[..=sum].iter().sum();
            assert!((exact - normal_cdf(EXACT, 0.0, sum as f64)).abs() < 2e-3, "{sum}");
        }
        let many: Vec<f64> =
            (1..=60).map(|k| f64::from(k) * if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let got = signed_rank(&many).unwrap();
        assert!(!got.exact && got.p > 0.5, "{got:?}");
    }

    fn differences() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-40_i32..40).prop_map(|k| f64::from(k) / 4.0), 6..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn both_ways_alike(of in differences()) {
            let other: Vec<f64> = of.iter().map(|one| -one).collect();
            let (a, b) = (signed_rank(&of).unwrap(), signed_rank(&other).unwrap());
            prop_assert!(close(a.p, b.p) && 0.0 < a.p && a.p <= 1.0);
            prop_assert!(a.p + 1e-12 >= smallest_signed_rank_p(of.len()));
            prop_assert!(close(shift(&of).unwrap(), -shift(&other).unwrap()));
        }

        /// The interval contains zero exactly if the test finds no difference.
        #[test]
        fn interval_and_test_agree(
            of in prop::collection::hash_set(-1000_i32..1000, 6..40),
            by in 0_i32..900,
        ) {
            // No two means of two are zero or alike.
            let off = |k: &i32| f64::from(k + by) + 1.0 / f64::from(k + 3000);
            let of: Vec<f64> = of.iter().map(off).collect();
            let (low, high) = shift_interval(&of, 0.95).unwrap();
            let middle = shift(&of).unwrap();
            prop_assert!(low <= middle && middle <= high);
            let outside = low > 0.0 || high < 0.0;
            prop_assert_eq!(outside, signed_rank(&of).unwrap().p <= 0.05);
        }
    }
}
