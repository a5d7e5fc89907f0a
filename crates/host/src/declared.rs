//! The roles of the metrics that belong to no scenario: those of benchmarks and of curves.

use crate::{bench, curve};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::trace::CURVE;
use pageout_record::compare::{Declarations, Role};
use pageout_record::schema::Ground;

/// Declares the sweeps of `bench young`, and miss-ratio curves.
pub fn declare(to: &mut Declarations) {
    let time = (bench::SWEEP_TIME.to_owned(), Role::Whole);
    to.declare(bench::SWEEPS, Ground::Host, [time]);
    to.declare(curve::SCENARIO, Ground::Host, CURVE.iter().flat_map(MetricSpec::roles));
}
