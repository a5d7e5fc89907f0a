//! The order of the runs of two variants, and the change within pairs of runs.

use serde::Serialize;

use super::group::Samples;
use super::levels::LEVEL;
use super::percent::percent;
use crate::schema::Better;
use crate::stats::{SignedRank, median, shift, shift_interval, signed_rank};

/// The maximum number of pairs that are compared as such: the time of the estimate grows with the
/// square of their number.
const MOST_PAIRS: usize = 1000;

/// The order of the runs that have one variant and of those that have another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Runs {
    /// The same runs have both.
    Same,
    /// There are two runs, one for each variant.
    OneEach,
    /// The runs took turns: of every two consecutive runs, each has one of the variants.
    Pairs(Pairs),
    /// The runs did not take turns.
    Apart,
}

/// The change within pairs of runs. The median of a run counts as one figure, whatever the number
/// of its samples. Causes that differ from run to run, such as the place of memory or the machine's
/// temperature, affect all samples of a run alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pairs {
    /// Number of pairs.
    pub n: usize,
    /// The distance of the variant above the base: the logarithm of a ratio if all medians are
    /// above zero, else a difference.
    pub shift: f64,
    /// The ends of the interval of the change in per cent, the lower one first.
    pub interval: Option<[f64; 2]>,
}

/// Returns the order of the runs and, for pairs, the change in per cent and the test.
pub(super) fn of(
    base: &Samples<'_>,
    new: &Samples<'_>,
    better: Better,
) -> (Runs, Option<(Option<f64>, SignedRank)>) {
    let shared = base.runs.iter().any(|(run, _)| new.runs.iter().any(|(other, _)| run == other));
    match (shared, base.runs.len(), new.runs.len()) {
        (true, ..) => (Runs::Same, None),
        (_, 1, 1) => (Runs::OneEach, None),
        _ => match in_turn(base, new) {
            None => (Runs::Apart, None),
            Some(pairs) => of_pairs(&pairs, better),
        },
    }
}

/// Returns the medians of each pair of runs, the base's first, if they took turns.
fn in_turn(base: &Samples<'_>, new: &Samples<'_>) -> Option<Vec<[f64; 2]>> {
    let medians = |of: &Samples<'_>, is_new: bool| {
        let of = of.runs.iter().map(|(run, values)| Some((*run, is_new, median(values)?)));
        of.collect::<Option<Vec<_>>>()
    };
    let mut runs = [medians(base, false)?, medians(new, true)?].concat();
    runs.sort_by_key(|(run, ..)| *run);
    let pair = |pair: &[(usize, bool, f64)]| match *pair {
        [(_, false, base), (_, true, new)] | [(_, true, new), (_, false, base)] => {
            Some([base, new])
        }
        _ => None,
    };
    runs.chunks(2).map(pair).collect::<Option<Vec<_>>>().filter(|all| all.len() <= MOST_PAIRS)
}

fn of_pairs(pairs: &[[f64; 2]], better: Better) -> (Runs, Option<(Option<f64>, SignedRank)>) {
    let ratios = pairs.iter().flatten().all(|value| *value > 0.0);
    let difference = |[base, new]: &[f64; 2]| if ratios { (new / base).ln() } else { new - base };
    let differences: Vec<f64> = pairs.iter().map(difference).collect();
    let bases: Vec<f64> = pairs.iter().map(|[base, _]| *base).collect();
    let base = if ratios { 1.0 } else { median(&bases).expect("there are pairs") };
    let percent =
        |shift: f64| percent(base, if ratios { shift.exp() } else { base + shift }, better);
    let ends = shift_interval(&differences, LEVEL);
    let ends = ends.and_then(|(low, high)| Some([percent(low)?, percent(high)?]));
    let shift = shift(&differences).expect("there are pairs");
    let test = signed_rank(&differences).expect("there are pairs");
    let interval = ends.map(|[a, b]| [a.min(b), a.max(b)]);
    (Runs::Pairs(Pairs { n: pairs.len(), shift, interval }), Some((percent(shift), test)))
}
