//! Prices of work that stays on one core: of a plain instruction, of an atomic, and of the first
//! touch of a line.

mod loops;

pub use loops::Loop;

use super::cpus::{Pinned, cores};
use super::figure::{Figure, median};
use super::loads::own_ns;
use pageout_steps::{Classes, StepError};
use std::process::Command;

/// Prices of a core's work, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WorkPrices {
    /// An instruction that is not atomic and touches no line for the first time: the mean of three
    /// loops, and their range.
    pub plain: Figure,
    /// An atomic on a line that the core has.
    pub atomic: Figure,
    /// The first touch of a line, in the order of addresses, beyond its instruction.
    pub first_touch: Figure,
}

/// The number of calls of each loop before it is timed.
const WARMING: usize = 2;
/// The number of calls of each loop in a repetition.
const CALLS: usize = 128;

/// Counts a child's regions as [`pageout_steps::count`] does, with both processes on one CPU.
///
/// # Errors
/// [`StepError`] if there is no CPU, or the child cannot be counted.
pub fn count(
    command: &mut Command,
    progress: &mut dyn FnMut(usize),
) -> Result<(String, Vec<Classes>), StepError> {
    let pinned = cores().and_then(|cores| Pinned::to(cores[0]));
    let _pinned = pinned.map_err(|source| StepError::System { what: "the CPU", source })?;
    pageout_steps::count(command, progress)
}

impl WorkPrices {
    /// Measures the loops `rounds` times. `classes` has the instructions of one call of each.
    ///
    /// # Panics
    /// If there are no rounds.
    pub fn measure(classes: &[Classes; Loop::ALL.len()], rounds: usize) -> Self {
        let mut loops = Loop::ALL.map(Loop::prepare);
        let one = |run: &mut Box<dyn FnMut()>| own_ns(CALLS, || (0..CALLS).for_each(|_| run()));
        for run in &mut loops {
            (0..WARMING).for_each(|_| run());
        }
        let times = (0..rounds).map(|_| loops.each_mut().map(one));
        Self::of(classes, &times.collect::<Vec<_>>())
    }

    /// Computes the prices from the times of one call of each loop, round by round.
    fn of(classes: &[Classes; Loop::ALL.len()], times: &[[f64; Loop::ALL.len()]]) -> Self {
        let at =
            |one: Loop| Loop::ALL.iter().position(|other| *other == one).expect("all are in it");
        let (list, atomic, far) = (at(Loop::List), at(Loop::Atomic), at(Loop::Far));
        let each =
            |n: usize, round: &[f64; Loop::ALL.len()]| round[n] / classes[n].instructions as f64;
        let of_loops = Loop::PLAIN
            .map(|one| median(&times.iter().map(|round| each(at(one), round)).collect::<Vec<_>>()));
        let mean = of_loops.iter().sum::<f64>() / of_loops.len() as f64;
        let plain = Figure {
            median: mean,
            low: of_loops.iter().copied().fold(mean, f64::min),
            high: of_loops.iter().copied().fold(mean, f64::max),
            n: times.len(),
        };
        let atomics = times.iter().map(|round| {
            let Classes { instructions, atomics, .. } = classes[atomic];
            let plain = (instructions - atomics) as f64 * each(list, round);
            (round[atomic] - plain) / atomics as f64
        });
        let touches = times.iter().map(|round| {
            let Classes { instructions, lines, .. } = classes[far];
            (round[far] - instructions as f64 * each(list, round)) / lines as f64
        });
        let figure = |values: Vec<f64>| Figure::of(&values).expect("at least one round");
        Self { plain, atomic: figure(atomics.collect()), first_touch: figure(touches.collect()) }
    }

    /// Returns the prices with their names.
    pub const fn named(&self) -> [(&'static str, Figure); 3] {
        let Self { plain, atomic, first_touch } = *self;
        [("plain instruction", plain), ("atomic", atomic), ("first touch of a line", first_touch)]
    }

    /// Returns the nanoseconds that instructions of these classes take.
    pub fn ns(&self, classes: Classes) -> f64 {
        let Classes { instructions, atomics, lines } = classes;
        let plain = (instructions - atomics) as f64 * self.plain.median;
        plain + atomics as f64 * self.atomic.median + lines as f64 * self.first_touch.median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_loops_with_known_prices_are_found() {
        let of = |instructions, atomics, lines| Classes { instructions, atomics, lines };
        let classes = [of(100, 0, 9), of(50, 0, 9), of(200, 0, 9), of(110, 10, 9), of(100, 0, 20)];
        // 0.5 ns a plain instruction of the list, 1 of the table, 0.3 of the tree; 6 an atomic and
        // 4 a line.
        let round = [50.0, 50.0, 60.0, 110.0, 130.0];
        let prices = WorkPrices::of(&classes, &[round; 3]);
        let near =
            |figure: Figure, ns: f64| assert!((figure.median - ns).abs() < 1e-9, "{figure:?}");
        near(prices.plain, 0.6);
        assert_eq!((prices.plain.low, prices.plain.high), (0.3, 1.0));
        near(prices.atomic, 6.0);
        near(prices.first_touch, 4.0);
        assert!((prices.ns(of(20, 5, 2)) - (15.0 * 0.6 + 30.0 + 8.0)).abs() < 1e-9);
    }
}
