//! What draws of prices leave of a prediction.

use pageout_experiment::metrics::modelled;
use pageout_record::schema::Metric;

/// The share of draws on either side of an interval.
const TAIL: f64 = 0.05;

/// The ends of the interval in which nine of ten draws lie, as metrics `NAME, low` and
/// `NAME, high`; nothing without draws.
pub fn interval(of: &Metric, drawn: &[f64]) -> Vec<Metric> {
    let (Some(low), Some(high)) = (quantile(drawn, TAIL), quantile(drawn, 1.0 - TAIL)) else {
        return Vec::new();
    };
    let end = |which: &str, value| Metric {
        better: of.better,
        ..modelled(&format!("{}, {which}", of.name), &of.unit, &[value])
    };
    vec![end("low", low), end("high", high)]
}

/// What is reported of a run: its name and unit, and what it is of one outcome.
pub type Reported<O> = (&'static str, &'static str, fn(&O) -> f64);

/// What is reported of runs with nominal prices, each with the interval of those with drawn ones;
/// of the first, the value of each draw too.
pub fn reported<O>(all: &[Reported<O>], nominal: &[O], drawn: &[O]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (k, (name, unit, of)) in all.iter().enumerate() {
        let values = |outcomes: &[O]| outcomes.iter().map(of).collect::<Vec<_>>();
        let (metric, drawn) = (modelled(name, unit, &values(nominal)), values(drawn));
        let ends = interval(&metric, &drawn);
        metrics.push(metric);
        metrics.extend(ends);
        if k == 0 && !drawn.is_empty() {
            metrics.push(modelled(&format!("{name}, drawn"), unit, &drawn));
        }
    }
    metrics
}

/// The value that a share `part` of the values don't exceed, between two by their distance.
fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_draws_lie_within() {
        let drawn: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let ends = interval(&modelled("x", "ns", &[50.0]), &drawn);
        let reported: Vec<_> = ends.iter().map(|end| (&*end.name, end.values[0])).collect();
        assert_eq!(reported, [("x, low", 5.0), ("x, high", 95.0)]);
        assert_eq!(quantile(&[1.0, 2.0], 0.25), Some(1.25));
        assert!(interval(&modelled("x", "ns", &[50.0]), &[]).is_empty());
    }
}
