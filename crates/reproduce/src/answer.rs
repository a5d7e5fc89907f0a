//! Answers to figures: the lines of our own.

use pageout_model::interval;
use pageout_record::schema::{Basis, Ground};
use pageout_record::stats::Interval;

/// The kind of evidence that a line of ours is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    /// Time on this machine, not on the thread's.
    Measured,
    /// Events of a real kernel or of the engine.
    Counted,
    /// Counts times prices that no benchmark was fitted on.
    Predicted,
    /// An answer that gives the side of a difference, not its size.
    DirectionOnly,
    /// A necessary condition, not a prediction.
    Bounded,
}

impl Label {
    /// Returns the label's name in records and tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Counted => "counted",
            Self::Predicted => "predicted",
            Self::DirectionOnly => "direction only",
            Self::Bounded => "bounded",
        }
    }
}

/// A number of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quantity {
    /// The name: before, after, ratio (before over after), saved or value.
    pub(super) name: &'static str,
    /// The quantity's unit.
    pub(super) unit: &'static str,
    /// The samples. A prediction has one, at nominal prices.
    pub(super) values: Vec<f64>,
    /// The interval over draws, for a prediction.
    pub(super) interval: Option<Interval>,
}

/// A line of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Answer {
    /// The ground that the answer comes from.
    pub(super) ground: Ground,
    /// The kind of evidence that it is.
    pub(super) label: Label,
    /// The way in which the values came about.
    pub(super) basis: Basis,
    /// A description of how they came about.
    pub(super) how: &'static str,
    /// The numbers.
    pub(super) quantities: Vec<Quantity>,
}

impl Answer {
    /// Returns the prediction of a scenario on a modelled machine.
    pub(super) const fn modelled(how: &'static str, quantities: Vec<Quantity>) -> Self {
        let (ground, basis) = (Ground::Model, Basis::Modelled);
        Self { ground, label: Label::Predicted, basis, how, quantities }
    }

    /// Returns a limit, computed from prices of a platform.
    pub(super) fn bounded(how: &'static str, quantities: Vec<Quantity>) -> Self {
        Self { label: Label::Bounded, ..Self::modelled(how, quantities) }
    }
}

/// Cost before over cost after.
pub(super) const RATIO: &str = "ratio";
/// The unit of ratios.
pub(super) const TIMES: &str = "times";

/// Returns a quantity of one value.
pub(super) fn one(name: &'static str, unit: &'static str, value: f64) -> Quantity {
    samples(name, unit, vec![value])
}

/// Returns a quantity of samples.
pub(super) fn samples(name: &'static str, unit: &'static str, values: Vec<f64>) -> Quantity {
    Quantity { name, unit, values, interval: None }
}

/// Returns the nominal value, with the interval of the draws if there are any. Of few draws all may
/// lie on one side of the nominal value: the interval then reaches up to it.
pub(super) fn drawn(
    name: &'static str,
    unit: &'static str,
    nominal: f64,
    draws: &[f64],
) -> Quantity {
    let interval = interval(draws).map(|of| Interval {
        low: of.low.min(nominal),
        high: of.high.max(nominal),
        ..of
    });
    Quantity { name, unit, values: vec![nominal], interval }
}

/// Returns cost before over cost after: at nominal prices, and with the prices of each draw if
/// there are any.
pub(super) fn ratio_of(before: &(f64, Vec<f64>), after: &(f64, Vec<f64>)) -> Quantity {
    let nominal = before.0 / after.0;
    let draws: Vec<_> =
        before.1.iter().zip(&after.1).map(|(before, after)| before / after).collect();
    drawn(RATIO, TIMES, nominal, &draws)
}
