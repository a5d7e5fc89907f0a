//! The records that are compared.

use crate::schema::{Record, RecordSet, Run};

/// Some of a run's records.
#[derive(Debug, Clone)]
pub struct Chosen<'a> {
    /// The run.
    pub run: &'a Run,
    /// The records of the run that are compared.
    pub records: Vec<&'a Record>,
}

impl<'a> From<&'a RecordSet> for Chosen<'a> {
    fn from(set: &'a RecordSet) -> Self {
        Self { run: &set.run, records: set.records.iter().collect() }
    }
}
