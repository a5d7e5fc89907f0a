//! Figures of a run, found in its records.

use pageout_experiment::declare::Declared;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::Stage;
use pageout_record::schema::Record;

/// The records of scenarios that reclaim, as a source of figures with one sample for each round.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The records.
    pub records: &'a [Record],
}

impl Measured<'_> {
    /// Returns the nanoseconds for each page of several stages together.
    pub fn stages(&self, scenario: &ReclaimFile, variant: Variant, stages: &[Stage]) -> Vec<f64> {
        let all = stages.iter().map(|stage| self.metric(scenario, variant, stage.name()));
        all.reduce(|sum, stage| zip(&sum, &stage, |a, b| a + b)).unwrap_or_default()
    }

    /// Returns a metric by its name; empty if it was not measured.
    pub fn metric(&self, scenario: &ReclaimFile, variant: Variant, name: &str) -> Vec<f64> {
        let (fields, variant) = (scenario.labels(), variant.labels(Axes::Reclaim));
        let same = |record: &&Record| record.fields == fields && record.variant == variant;
        let metrics = self.records.iter().filter(same).flat_map(|record| &record.metrics);
        let mut found = metrics.filter(|metric| metric.name == name);
        found.next().map(|metric| metric.values.clone()).unwrap_or_default()
    }
}

/// Combines samples round by round. If the sampler saw too little in a round, the rounds do not
/// match.
pub(crate) fn zip(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}
