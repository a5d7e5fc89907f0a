//! Figures of a run, found in its records.

use pageout_experiment::declare::Declared;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::Stage;
use pageout_record::schema::Record;

/// The records of scenarios that reclaim, to find figures in: each a sample a round.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The records.
    pub records: &'a [Record],
}

impl Measured<'_> {
    /// Nanoseconds a page of several stages together.
    pub fn stages(&self, scenario: &ReclaimFile, variant: Variant, stages: &[Stage]) -> Vec<f64> {
        let all = stages.iter().map(|stage| self.metric(scenario, variant, stage.name()));
        all.reduce(|sum, stage| zip(&sum, &stage, |a, b| a + b)).unwrap_or_default()
    }

    /// A metric by its name; nothing if it was not measured.
    pub fn metric(&self, scenario: &ReclaimFile, variant: Variant, name: &str) -> Vec<f64> {
        let (fields, variant) = (scenario.labels(), variant.labels(Axes::Reclaim));
        let same = |record: &&Record| record.fields == fields && record.variant == variant;
        let metrics = self.records.iter().filter(same).flat_map(|record| &record.metrics);
        let mut found = metrics.filter(|metric| metric.name == name);
        found.next().map(|metric| metric.values.clone()).unwrap_or_default()
    }
}

/// Round by round; where the sampler saw too little in a round, rounds are not the same ones.
pub(crate) fn zip(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}
