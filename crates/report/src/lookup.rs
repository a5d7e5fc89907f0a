//! The samples behind the rows of a comparison.

use pageout_record::compare::{Comparison, Row};
use pageout_record::schema::{Ground, Labels, Metric, Record, RecordFile};
use std::collections::HashMap;

/// The records of all runs, by the labels that they must share to be compared.
#[derive(Debug)]
pub(crate) struct Lookup<'a>(HashMap<(&'a str, Ground, u64, &'a Labels), Vec<&'a Record>>);

impl<'a> Lookup<'a> {
    pub(crate) fn of(file: &'a RecordFile) -> Self {
        let mut by_key: HashMap<_, Vec<&Record>> = HashMap::new();
        for record in file.records() {
            let key = (record.scenario.as_str(), record.ground, record.seed, &record.fields);
            by_key.entry(key).or_default().push(record);
        }
        Self(by_key)
    }

    /// Returns all records, in no order.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a Record> {
        self.0.values().flatten().copied()
    }

    /// Returns the samples of a row under the variant of one of the comparison's columns: those of
    /// all runs, in their order.
    pub(crate) fn samples(&self, of: &Comparison, row: &Row, column: &str) -> Vec<f64> {
        let key = (row.scenario.as_str(), row.ground, row.seed, &row.fields);
        let told = |record: &&&Record| {
            let mut labels = of.common.iter().chain(&row.axes);
            labels.all(|(axis, choice)| record.variant.get(axis) == Some(choice))
                && of.title(&record.variant) == column
        };
        let records = self.0.get(&key).into_iter().flatten().filter(told);
        let sampled = |metric: &&Metric| metric.is_sampled() && metric.name == row.metric;
        let found = records.flat_map(|record| record.metrics.iter().filter(sampled));
        found.flat_map(|metric| metric.values.iter().copied()).collect()
    }
}
