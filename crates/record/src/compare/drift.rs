//! Samples that rise or fall over the rounds. They are not of one distribution, which the tests
//! assume.

use serde::Serialize;

use super::group::Samples;
use super::levels::ALPHA;
use super::runs::Runs;
use crate::schema::Basis;
use crate::stats::{holm, median, rise, trend_p};

/// The outcome of the tests for a drift.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The number of tests: one for each measured row and variant.
    pub tests: usize,
    /// The drifts that were found, the largest first.
    pub found: Vec<Drifting>,
}

/// A variant whose samples drift, in a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drifting {
    /// The index of the row in the table.
    pub row: usize,
    /// The title of the variant.
    pub title: String,
    /// The rise from the first third of the rounds to the last, in per cent.
    pub percent: f64,
    /// The p-value after Holm's correction over all of these tests.
    pub p_holm: f64,
    /// True if the variant took turns with the others: then they drift with it.
    pub in_turn: bool,
}

/// A series to be tested, with its raw p-value.
pub(super) struct Tested {
    drifting: Drifting,
    raw: f64,
}

/// Tests the samples of a variant in a row. `None` if they are not measured, or too few.
pub(super) fn test(row: usize, title: &str, of: &Samples<'_>, runs: &[Runs]) -> Option<Tested> {
    if of.metric.basis != Basis::Measured {
        return None;
    }
    let in_pairs = runs.iter().any(|runs| matches!(runs, Runs::Pairs(_)));
    // If runs took turns, a run is a round. If variants took turns within a run, a sample is.
    let medians: Vec<f64> = of.runs.iter().filter_map(|(_, values)| median(values)).collect();
    let series: Vec<&[f64]> = match in_pairs {
        true => vec![&medians],
        false => of.runs.iter().map(|(_, values)| *values).collect(),
    };
    let raw = trend_p(&series)?;
    let rises: Vec<f64> = series.iter().filter_map(|one| rise(one)).collect();
    let percent = median(&rises)? * 100.0;
    let in_turn = runs.iter().all(|runs| matches!(runs, Runs::Same | Runs::Pairs(_)));
    let title = title.to_owned();
    Some(Tested { drifting: Drifting { row, title, percent, p_holm: 1.0, in_turn }, raw })
}

/// Corrects all tests as one family, and keeps the significant ones.
pub(super) fn correct(tested: Vec<Tested>) -> Drift {
    let corrected = holm(&tested.iter().map(|one| one.raw).collect::<Vec<_>>());
    let tests = tested.len();
    let all = tested.into_iter().zip(corrected);
    let all = all.map(|(one, p_holm)| Drifting { p_holm, ..one.drifting });
    let mut found: Vec<_> = all.filter(|one| one.p_holm <= ALPHA).collect();
    found.sort_by(|a, b| b.percent.abs().total_cmp(&a.percent.abs()));
    Drift { tests, found }
}
