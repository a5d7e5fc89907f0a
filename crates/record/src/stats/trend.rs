//! Tests for samples that rise or fall in the order in which they were taken.

use statrs::distribution::{ContinuousCDF, Normal};

use super::median::median;

/// The maximum number of pairs of samples for which the distribution is computed exactly.
const EXACT: usize = 5000;

/// Returns the two-sided p of Mann's and Kendall's test for a trend: of an order as far from a
/// random one, if samples of a series have no order. Several series are tested as one, each within
/// itself (Hirsch, Slack and Smith, "Techniques of trend analysis", 1982). `None` where no two
/// samples of a series can be compared.
///
/// Without ties and with few samples it is exact: the number of pairs out of order is distributed
/// as inversions of permutations are. Otherwise it is the normal approximation, with ties in the
/// variance and a continuity correction (Kendall, *Rank Correlation Methods*).
pub fn trend_p(series: &[&[f64]]) -> Option<f64> {
    let (mut pairs, mut tied, mut inversions, mut variance) = (0, 0, 0, 0.0);
    for one in series {
        let n = one.len();
        pairs += n * n.saturating_sub(1) / 2;
        let mut sorted = one.to_vec();
        inversions += sort(&mut sorted);
        let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
        variance += spread(n as f64);
        for group in sorted.chunk_by(|a, b| a == b) {
            tied += group.len() * (group.len() - 1) / 2;
            variance -= spread(group.len() as f64);
        }
    }
    if pairs == 0 {
        return None;
    }
    if tied == 0 && pairs <= EXACT {
        let nearer = inversions.min(pairs - inversions);
        let likely = likely_inversions(series.iter().map(|one| one.len()));
        return Some((2.0 * likely[..=nearer].iter().sum::<f64>()).min(1.0));
    }
    let score = (pairs - tied) as f64 - 2.0 * inversions as f64;
    let distance = score.abs() - 1.0;
    if variance <= 0.0 || distance <= 0.0 {
        return Some(1.0);
    }
    Some((2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0))
}

/// Returns the rise of a series from the median of its first third to that of its last, as a
/// fraction of the median of the first third. `None` for fewer than three samples, or if that
/// median is zero.
pub fn rise(series: &[f64]) -> Option<f64> {
    let third = series.len() / 3;
    let (first, last) = (median(&series[..third])?, median(&series[series.len() - third..])?);
    (first != 0.0).then(|| (last - first) / first.abs())
}

/// Sorts, and returns how many pairs were in the wrong order.
fn sort(values: &mut [f64]) -> usize {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut inversions = sort(left) + sort(right);
    let (left, right) = (left.to_vec(), right.to_vec());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter());
    let mut next = right.next();
    for place in values {
        *place = match (left.peek().copied(), next) {
            (Some(l), Some(r)) if r < l => {
                inversions += left.len();
                next = right.next();
                r
            }
            (Some(_), _) => left.next().expect("it was peeked at"),
            (None, Some(r)) => {
                next = right.next();
                r
            }
            (None, None) => unreachable!("as many places as values"),
        };
    }
    inversions
}

/// Returns the probability of each number of inversions, over random orders of series of these
/// lengths.
fn likely_inversions(lengths: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut likely = vec![1.0];
    for n in lengths {
        // The k-th sample is in the wrong order with 0 to k - 1 of those before it.
        for k in 2..=n {
            let mut with = vec![0.0; likely.len() + k - 1];
            for (count, share) in likely.iter().enumerate() {
                with[count..count + k].iter_mut().for_each(|place| *place += share / k as f64);
            }
            likely = with;
        }
    }
    likely
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    fn p(series: &[f64]) -> f64 {
        trend_p(&[series]).unwrap()
    }

    /// Upper tails of Kendall's table: n, S, and the chance of S or more.
    #[test]
    fn tails_of_the_tables() {
        let table =
            [(4, 6, 0.042), (5, 8, 0.042), (5, 10, 0.0083), (8, 16, 0.031), (10, 23, 0.023)];
        for (n, score, tail) in table {
            let inversions = (n * (n - 1) / 2 - score) / 2;
            let found: f64 = likely_inversions([n].into_iter())[..=inversions].iter().sum();
            assert!((found - tail).abs() < 5e-4, "n = {n}, S = {score}: {found}");
        }
    }

    #[test]
    fn trends_by_hand() {
        assert!(close(p(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 24.0));
        assert!(close(p(&[5.0, 4.0, 3.0, 2.0, 1.0]), 2.0 / 120.0));
        assert!(close(trend_p(&[&[1.0, 2.0], &[3.0, 4.0], &[0.0, 9.0]]).unwrap(), 2.0 / 8.0));
        assert_eq!((trend_p(&[]), trend_p(&[&[1.0], &[2.0]])), (None, None));
        assert_eq!(p(&[7.0; 9]), 1.0);
        assert_eq!(rise(&[100.0, 102.0, 104.0]), Some(0.04));
        assert_eq!(rise(&[-2.0, 0.0, -1.0]), Some(0.5));
        assert_eq!((rise(&[1.0, 2.0]), rise(&[0.0, 2.0, 3.0])), (None, None));
    }

    /// Computes the score by counting all pairs.
    fn score(series: &[f64]) -> i64 {
        let pairs = (0..series.len()).flat_map(|j| (0..j).map(move |i| (series[i], series[j])));
        pairs.map(|(a, b)| i64::from(b > a) - i64::from(b < a)).sum()
    }

    fn samples(below: i32) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0..below).prop_map(f64::from), 3..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn inversions_are_counted(of in samples(9)) {
            let (mut sorted, n) = (of.clone(), of.len() as i64);
            let inversions = sort(&mut sorted) as i64;
            let groups = sorted.chunk_by(|a, b| a == b).map(|group| group.len() as i64);
            let tied: i64 = groups.map(|n| n * (n - 1) / 2).sum();
            prop_assert!(sorted.is_sorted());
            prop_assert_eq!(n * (n - 1) / 2 - tied - 2 * inversions, score(&of));
        }

        #[test]
        fn both_ways_alike(mut of in samples(50)) {
            let forwards = p(&of);
            of.reverse();
            prop_assert!(close(forwards, p(&of)) && 0.0 < forwards && forwards <= 1.0);
        }

        /// Exact and approximate are close where both apply.
        #[test]
        fn the_approximation_is_near(
            order in Just((0..30).map(f64::from).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let tie = |value: &f64| if *value == 1.0 { 0.0 } else { *value };
            let tied: Vec<f64> = order.iter().map(tie).collect();
            prop_assert!((p(&order) - p(&tied)).abs() < 0.03);
        }
    }
}
