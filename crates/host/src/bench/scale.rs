//! `bench scale`: reclaim of files up to 1 TiB, and the exponent by which its time grows with their
//! size.

use super::goals::{Bound, goal_record};
use crate::layout::Arena;
use crate::scenario::{HostScenario, RunOptions};
use pageout_experiment::fields::{FieldError, OrderName};
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Variant;
use pageout_record::schema::{Basis, Record};
use std::time::Duration;

/// The sizes of the files, in GiB.
pub const SIZES: [u64; 5] = [10, 32, 100, 320, 1024];
/// The default rounds: one takes several seconds.
pub const SCALE_ROUNDS: Rounds =
    Rounds::Within { budget: Duration::from_secs(30), at_least: 3, at_most: 7 };
/// The maximum size of the largest file, in GiB.
const MAX_MEMORY: f64 = 24.0;
const MAX_EXPONENT: f64 = 1.05;

/// Returns the scenarios: files of [`SIZES`] in PMD-sized folios.
pub fn scale_scenarios() -> Vec<ReclaimFile> {
    let of_size = |gib: u64| ReclaimFile {
        orders: Orders::All(OrderName::Pmd),
        bytes: gib << 30,
        ..ReclaimFile::DEFAULT
    };
    SIZES.map(of_size).to_vec()
}

/// Runs the benchmark with our variant, and returns its records: times and goals.
///
/// # Errors
/// [`FieldError`] if there is too little memory for it.
pub fn scale(
    rounds: Rounds,
    seed: u64,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Record>, FieldError> {
    let scenarios = scale_scenarios();
    ReclaimFile::check_memory(&scenarios)?;
    let ours = Variant::STEPS[Variant::STEPS.len() - 1];
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cell = |(scenario, arena): (&ReclaimFile, _)| -> Box<dyn Cell + '_> {
        scenario.cell(arena, &[ours], RunOptions { seed, by_stage: false })
    };
    let mut cells: Vec<_> = scenarios.iter().zip(&mut arenas).map(cell).collect();
    let mut records = measure(&mut cells, rounds, progress);
    let times: Vec<&[f64]> = records.iter().map(nanoseconds_a_page).collect();
    let rounds = times.iter().map(|values| values.len()).min().unwrap_or(0);
    let exponents = (0..rounds).map(|round| exponent(&times, round)).collect();
    let bytes = scenarios.iter().map(|one| one.footprint().bytes()).max().unwrap_or(0);
    let gib = bytes as f64 / (1u64 << 30) as f64;
    records.extend([
        goal_record(
            "power of the size by which time grows, 10 GiB to 1 TiB",
            Bound::AtMost(MAX_EXPONENT),
            ("", Basis::Measured),
            exponents,
            seed,
        ),
        goal_record(
            "memory for 1 TiB in PMD-sized folios",
            Bound::AtMost(MAX_MEMORY),
            ("GiB", Basis::Counted),
            vec![gib],
            seed,
        ),
    ]);
    Ok(records)
}

fn nanoseconds_a_page(record: &Record) -> &[f64] {
    let whole = record.metric(WHOLE.name);
    whole.map(|metric| &metric.values[..]).unwrap_or_default()
}

/// Returns the slope of time over size, both as logarithms, by least squares. The time is that of
/// the whole file: the sample, which is for each page, times the size.
fn exponent(times: &[&[f64]], round: usize) -> f64 {
    let points: Vec<_> = SIZES
        .iter()
        .zip(times)
        .map(|(gib, ns)| ((*gib as f64).ln(), (ns[round] * *gib as f64).ln()))
        .collect();
    slope(&points)
}

pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let both: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    both / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_is_found() {
        let powers = |power: f64| SIZES.map(|gib| [(gib as f64).powf(power - 1.0)]);
        for power in [1.0, 1.05, 2.0] {
            let times = powers(power);
            let times: Vec<&[f64]> = times.iter().map(|time| &time[..]).collect();
            assert!((exponent(&times, 0) - power).abs() < 1e-9);
        }
    }
}
