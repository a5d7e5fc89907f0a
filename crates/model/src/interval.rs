//! Intervals of predictions, from draws of prices.

use pageout_experiment::metrics::MetricSpec;
use pageout_record::schema::Metric;
use pageout_record::stats::{Interval, Kind, quantile};

/// The share of draws on each side of an interval.
const TAIL: f64 = 0.05;

/// Returns the interval in which nine of ten draws lie; `None` without draws.
pub fn interval(drawn: &[f64]) -> Option<Interval> {
    let (low, high) = (quantile(drawn, TAIL)?, quantile(drawn, 1.0 - TAIL)?);
    Some(Interval { kind: Kind::Draws, low, high, level: 1.0 - 2.0 * TAIL })
}

/// A metric of a run, and its value in an outcome.
pub type Reported<O> = (MetricSpec, fn(&O) -> f64);

/// Returns metrics of the runs with nominal prices, each with the interval of the runs with drawn
/// prices. A metric that is declared `drawn` also has the value of each draw.
pub fn reported<O>(all: &[Reported<O>], nominal: &[O], drawn: &[O]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (metric, of) in all {
        let values = |outcomes: &[O]| outcomes.iter().map(of).collect::<Vec<_>>();
        let drawn = values(drawn);
        metrics.push(Metric { interval: interval(&drawn), ..metric.of(&values(nominal)) });
        if metric.drawn && !drawn.is_empty() {
            metrics.push(metric.of_draws(&drawn));
        }
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_draws_lie_within() {
        let drawn: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let Interval { kind, low, high, level } = interval(&drawn).unwrap();
        assert_eq!((kind, low, high, level), (Kind::Draws, 5.0, 95.0, 0.9));
        assert_eq!(interval(&[]), None);
    }
}
