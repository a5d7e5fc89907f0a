//! The two-sided Mann-Whitney U test (Wilcoxon's rank-sum test).

use statrs::distribution::{ContinuousCDF, Normal};

/// The largest sample size with an exact distribution: the normal approximation is good to three
/// digits beyond it.
pub const EXACT_LIMIT: usize = 40;

/// The outcome of a Mann-Whitney test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the first sample's value is the larger, ties counting one half.
    pub u: f64,
    /// Two-sided probability, if both samples come of one distribution, of a U as far out.
    pub p: f64,
    /// True if `p` is exact; otherwise it is the normal approximation.
    pub exact: bool,
}

/// Tests whether one of two samples tends to larger values, or `None` when one is empty.
///
/// Assumes independent finite samples; of their distributions only that they are equal under the
/// null hypothesis. Without ties and with at most [`EXACT_LIMIT`] values each, `p` is exact (Mann
/// & Whitney 1947). Otherwise U is approximated by a normal with the variance corrected for ties
/// and a continuity correction of ½ (Hollander, Wolfe & Chicken, *Nonparametric Statistical
/// Methods*, 3rd ed., section 4.1).
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (n, m) = (first.len(), second.len());
    let ranks = rank(first, second);
    let u = ranks.sum_of_first - (n * (n + 1)) as f64 / 2.0;
    let nearer = u.min((n * m) as f64 - u);
    let exact = ranks.ties == 0.0 && n.max(m) <= EXACT_LIMIT;
    // Without ties U is a whole number.
    let p = if exact { exact_p(n, m, nearer as usize) } else { normal_p(n, m, nearer, ranks.ties) };
    Some(MannWhitney { u, p, exact })
}

/// Returns the smallest two-sided p that samples of `n` and `m` values can give: of two samples
/// that do not overlap. 1 when one is empty.
pub fn smallest_p(n: usize, m: usize) -> f64 {
    match n.min(m) {
        0 => 1.0,
        _ if n.max(m) <= EXACT_LIMIT => exact_p(n, m, 0),
        _ => normal_p(n, m, 0.0, 0.0),
    }
}

struct Ranks {
    sum_of_first: f64,
    /// Sum of t³ − t over the groups of t tied values.
    ties: f64,
}

/// Ranks both samples as one, from 1, tied values sharing the mean of their ranks.
fn rank(first: &[f64], second: &[f64]) -> Ranks {
    let tag = |of_first: bool| move |&value: &f64| (value, of_first);
    let mut pool: Vec<(f64, bool)> = first.iter().map(tag(true)).collect();
    pool.extend(second.iter().map(tag(false)));
    pool.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = Ranks { sum_of_first: 0.0, ties: 0.0 };
    let mut before = 0;
    // Equal by value, so that 0.0 and -0.0 are tied.
    for group in pool.chunk_by(|a, b| a.0 == b.0) {
        let tied = group.len() as f64;
        let shared = before as f64 + (tied + 1.0) / 2.0;
        ranks.sum_of_first +=
            shared * group.iter().filter(|(_, of_first)| *of_first).count() as f64;
        ranks.ties += tied * tied * tied - tied;
        before += group.len();
    }
    ranks
}

/// Twice the share of the arrangements of `n` and `m` values whose U is at most `u`.
fn exact_p(n: usize, m: usize, u: usize) -> f64 {
    let counts = arrangements(n, m);
    let tail: u128 = counts[..=u].iter().sum();
    let all: u128 = counts.iter().sum();
    (2.0 * (tail as f64 / all as f64)).min(1.0)
}

/// Returns the number of arrangements of `n` and `m` values with each U from 0 to n·m.
///
/// Mann and Whitney's recurrence: the largest value is of the second sample, and adds nothing to
/// U, or of the first, and is above all of the second. `counts[j]` holds the row of j values of
/// the second sample.
fn arrangements(n: usize, m: usize) -> Vec<u128> {
    let mut counts: Vec<Vec<u128>> = (0..=m).map(|_| vec![1]).collect();
    for i in 1..=n {
        for j in 1..=m {
            let mut row = vec![0; i * j + 1];
            for (u, count) in counts[j - 1].iter().enumerate() {
                row[u] += count;
            }
            for (u, count) in counts[j].iter().enumerate() {
                row[u + j] += count;
            }
            counts[j] = row;
        }
    }
    counts.swap_remove(m)
}

/// Returns the p of the normal approximation, for the smaller of the two U's.
fn normal_p(n: usize, m: usize, nearer: f64, ties: f64) -> f64 {
    let (pairs, all) = ((n * m) as f64, (n + m) as f64);
    let variance = pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let distance = pairs / 2.0 - nearer - 0.5;
    // All values tied, or U at its mean: nothing tells the samples apart.
    if variance <= 0.0 || distance <= 0.0 {
        return 1.0;
    }
    (2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::stats_tests::Alternative;
    use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// The distribution for 3 and 2 values, written out by hand: 10 arrangements.
    #[test]
    fn arrangements_by_hand() {
        assert_eq!(arrangements(3, 2), [1, 1, 2, 2, 2, 1, 1]);
        assert_eq!(arrangements(1, 1), [1, 1]);
        let all: u128 = arrangements(40, 40).iter().sum();
        // C(80, 40)
        assert_eq!(all, 107_507_208_733_336_176_461_620);
    }

    /// SciPy's documented example: ages at diagnosis of men and women.
    #[test]
    fn published_example() {
        let (men, women) = ([19.0, 22.0, 16.0, 29.0, 24.0], [20.0, 11.0, 17.0, 12.0]);
        let got = mann_whitney(&men, &women).unwrap();
        assert!(got.exact && got.u == 17.0 && close(got.p, 1.0 / 9.0), "{got:?}");
        assert!((normal_p(5, 4, 3.0, 0.0) - 0.111_346_886_533_140_41).abs() < 1e-6);
    }

    /// Critical values of the two-sided test at 0.05 in Mann and Whitney's tables.
    #[test]
    fn critical_values_of_the_tables() {
        for (n, m, critical) in [(4, 4, 0), (5, 5, 2), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert!(exact_p(n, m, critical) <= 0.05, "{n} {m}");
            assert!(exact_p(n, m, critical + 1) > 0.05, "{n} {m}");
        }
    }

    #[test]
    fn degenerate_samples() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[2.0]).unwrap().p, 1.0);
        assert_eq!(mann_whitney(&[7.0; 9], &[7.0; 9]).unwrap().p, 1.0);
        assert_eq!(mann_whitney(&[0.0; 3], &[-0.0; 3]).unwrap().u, 4.5);
        assert!(close(smallest_p(5, 5), 2.0 / 252.0));
        assert_eq!(smallest_p(0, 5), 1.0);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0_i32..30).prop_map(f64::from), 2..25)
    }

    fn distinct() -> impl Strategy<Value = Vec<f64>> {
        Just((0..41).map(f64::from).collect::<Vec<_>>()).prop_shuffle()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn symmetric_and_shift_free(a in sample(), b in sample()) {
            let ab = mann_whitney(&a, &b).unwrap();
            let ba = mann_whitney(&b, &a).unwrap();
            prop_assert!(close(ab.p, ba.p) && close(ab.u + ba.u, (a.len() * b.len()) as f64));
            prop_assert!(0.0 < ab.p && ab.p <= 1.0);
            let shift = |values: &[f64]| values.iter().map(|v| v * 2.0 + 5.0).collect::<Vec<_>>();
            prop_assert_eq!(mann_whitney(&shift(&a), &shift(&b)).unwrap(), ab);
        }

        #[test]
        fn no_p_below_the_smallest(split in 1_usize..40, order in distinct()) {
            let (a, b) = order.split_at(split);
            let got = mann_whitney(a, b).unwrap();
            prop_assert!(got.exact && smallest_p(a.len(), b.len()) <= got.p && got.p <= 1.0);
        }

        /// With ties: the approximation another implementation gives.
        #[test]
        fn approximation_agrees(a in sample(), b in sample()) {
            let got = mann_whitney(&a, &b).unwrap();
            prop_assume!(!got.exact && a.iter().chain(&b).any(|value| *value != a[0]));
            let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
            let (u, p) = mannwhitneyu(&a, &b, method, Alternative::TwoSided).unwrap();
            prop_assert!(close(got.u, u) || close((a.len() * b.len()) as f64 - got.u, u));
            prop_assert!((got.p - p).abs() < 1e-6, "{} {}", got.p, p);
        }
    }
}
