//! Holm's correction for many tests in one table.

/// Returns the adjusted p-values of a family of tests, in the order given: a test is significant at
/// α where its adjusted p is at most α.
///
/// Keeps the chance of any false finding in the family at α or below, whatever the dependence
/// between the tests (Holm, "A simple sequentially rejective multiple test procedure", 1979).
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (step, &index) in order.iter().enumerate() {
        let left = (p_values.len() - step) as f64;
        floor = floor.max((left * p_values[index]).min(1.0));
        adjusted[index] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By hand: 4 · 0.005, 3 · 0.01, then 2 · 0.03 carried over 1 · 0.04.
    #[test]
    fn steps_down_by_hand() {
        let got = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.04]), [0.04]);
    }

    proptest! {
        #[test]
        fn between_the_raw_p_and_bonferroni(p in prop::collection::vec(0.0..=1.0, 1..30)) {
            let n = p.len() as f64;
            for (raw, adjusted) in p.iter().zip(holm(&p)) {
                prop_assert!(*raw <= adjusted && adjusted <= (raw * n).min(1.0));
            }
        }

        #[test]
        fn keeps_the_order_of_the_raw_p(p in prop::collection::vec(0.0..=1.0, 2..30)) {
            let adjusted = holm(&p);
            for i in 1..p.len() {
                if p[i - 1] <= p[i] {
                    prop_assert!(adjusted[i - 1] <= adjusted[i]);
                }
            }
        }
    }
}
