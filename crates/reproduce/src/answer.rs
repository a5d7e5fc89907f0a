//! What a line of ours says.

use pageout_model::interval;
use pageout_record::schema::{Basis, Ground};
use pageout_record::stats::Interval;

/// What a line of ours is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    /// Time on this machine, which is not the thread's.
    Measured,
    /// Events of a real kernel or of the engine.
    Counted,
    /// Counts times prices that no benchmark was fitted on.
    Predicted,
    /// It says which side, not how much.
    DirectionOnly,
    /// A necessary condition, not what is.
    Bounded,
}

impl Label {
    /// Its name in records and tables.
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

/// One number of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quantity {
    /// Before, after, ratio (before over after), saved or value.
    pub(super) name: &'static str,
    /// Its unit.
    pub(super) unit: &'static str,
    /// Samples; one, at nominal prices, for a prediction.
    pub(super) values: Vec<f64>,
    /// Of draws, for a prediction.
    pub(super) interval: Option<Interval>,
}

/// A line of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Answer {
    /// Where it comes from.
    pub(super) ground: Ground,
    /// What it is worth.
    pub(super) label: Label,
    /// How the values came to be.
    pub(super) basis: Basis,
    /// In words.
    pub(super) how: &'static str,
    /// The numbers.
    pub(super) quantities: Vec<Quantity>,
}

impl Answer {
    /// What a scenario on a modelled machine predicts.
    pub(super) const fn modelled(how: &'static str, quantities: Vec<Quantity>) -> Self {
        let (ground, basis) = (Ground::Model, Basis::Modelled);
        Self { ground, label: Label::Predicted, basis, how, quantities }
    }

    /// A limit, from prices of a platform.
    pub(super) fn bounded(how: &'static str, quantities: Vec<Quantity>) -> Self {
        Self { label: Label::Bounded, ..Self::modelled(how, quantities) }
    }
}

/// Cost before over cost after.
pub(super) const RATIO: &str = "ratio";
/// The unit of ratios.
pub(super) const TIMES: &str = "times";

/// A quantity of one value.
pub(super) fn one(name: &'static str, unit: &'static str, value: f64) -> Quantity {
    samples(name, unit, vec![value])
}

/// A quantity of samples.
pub(super) fn samples(name: &'static str, unit: &'static str, values: Vec<f64>) -> Quantity {
    Quantity { name, unit, values, interval: None }
}

/// The nominal value, with the interval of the draws, if there are any.
pub(super) fn drawn(
    name: &'static str,
    unit: &'static str,
    nominal: f64,
    draws: &[f64],
) -> Quantity {
    Quantity { name, unit, values: vec![nominal], interval: interval(draws) }
}

/// Cost before over cost after: at nominal prices, and with the prices of each draw, if there are
/// any.
pub(super) fn ratio_of(before: &(f64, Vec<f64>), after: &(f64, Vec<f64>)) -> Quantity {
    let nominal = before.0 / after.0;
    let draws: Vec<_> =
        before.1.iter().zip(&after.1).map(|(before, after)| before / after).collect();
    drawn(RATIO, TIMES, nominal, &draws)
}
