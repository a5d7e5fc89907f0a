//! Fewer points and cells, such that no extreme is lost.

use std::ops::Range;

use crate::schema::{Edges, Matrix};

/// Returns the indices of at most about `most` samples: all, or the least and the largest of each
/// of equal stretches, so that no extreme is lost.
pub fn thin(samples: &[f64], most: usize) -> Vec<usize> {
    if samples.len() <= most {
        return (0..samples.len()).collect();
    }
    let stretch = samples.len().div_ceil((most / 2).max(1));
    let mut kept = Vec::new();
    for start in (0..samples.len()).step_by(stretch) {
        let all = start..samples.len().min(start + stretch);
        let by_value = |one: &usize, other: &usize| samples[*one].total_cmp(&samples[*other]);
        let ends = [all.clone().min_by(by_value), all.max_by(by_value)];
        let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

/// Returns such indices with the first and the last, so that an axis keeps its ends.
pub fn thin_with_ends(samples: &[f64], most: usize) -> Vec<usize> {
    let mut kept = thin(samples, most);
    kept.extend([0, samples.len().saturating_sub(1)].iter().filter(|_| !samples.is_empty()));
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Returns neighbouring ranges, merged if there are more than `most`.
pub fn bands(edges: &Edges, most: usize) -> Vec<Range<usize>> {
    let all = edges.ranges();
    let of_each = all.div_ceil(most).max(1);
    (0..all).step_by(of_each).map(|start| start..all.min(start + of_each)).collect()
}

/// Returns, for each of `bands` in the order in which they are drawn, the part of the axis that it
/// begins in; `None` where the band before begins in the same one.
pub fn parts<'e>(edges: &'e Edges, bands: &[Range<usize>]) -> Vec<Option<&'e str>> {
    let mut before = None;
    let part = |band: &Range<usize>| {
        let part = edges.part_at(edges.edges[band.start]);
        (std::mem::replace(&mut before, part) != part).then_some(part).flatten()
    };
    bands.iter().map(part).collect()
}

/// Returns the largest of some cells; `None` if no cell has a value.
pub fn largest(of: &Matrix, rows: Range<usize>, columns: Range<usize>) -> Option<f64> {
    let all = of.rows[rows].iter();
    let all = all.flat_map(|row| row[columns.clone()].iter().flatten().copied());
    all.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_samples_keep_their_order_and_extremes() {
        let samples: Vec<f64> = (0..10_000).map(|i| f64::from(i * 7919 % 10_007)).collect();
        let kept = thin(&samples, 200);
        assert!((100..=200).contains(&kept.len()), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
        };
        let all = ends(&mut samples.iter().copied());
        assert_eq!(ends(&mut kept.iter().map(|index| samples[*index])), all);
        assert_eq!(thin(&samples[..200], 200).len(), 200);
        assert_eq!(thin(&[], 200), [0; 0]);
    }
}
