//! CSV in long form: one line a value.

use std::collections::BTreeSet;
use std::io;
use std::slice;

use super::labels::Labels;
use super::problem::InvalidRecord;
use super::types::{Record, RecordFile, RecordSet};
use super::validate::validate;

/// The reason why no CSV was written.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file breaks a rule of the format; nothing was written.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// The writer failed.
    #[error("cannot write CSV: {0}")]
    Write(#[from] csv::Error),
}

impl RecordFile {
    /// Writes one line a value, under a header line.
    ///
    /// The columns are `run,scenario,ground,seed`, the fields as `field.NAME`, the axes as
    /// `axis.NAME`, then `metric,unit,basis,sample,value`. Fields and axes are the sorted union
    /// over all records; a record without one leaves its cell empty. Runs and the samples of each
    /// count from 0.
    ///
    /// # Errors
    /// [`CsvError`] when the file is invalid or the writer fails.
    pub fn to_csv(&self, to: impl io::Write) -> Result<(), CsvError> {
        to_csv(&self.sets, to)
    }
}

impl RecordSet {
    /// [`RecordFile::to_csv`] of a file of this run.
    ///
    /// # Errors
    /// [`CsvError`] when the set is invalid or the writer fails.
    pub fn to_csv(&self, to: impl io::Write) -> Result<(), CsvError> {
        to_csv(slice::from_ref(self), to)
    }
}

fn to_csv(sets: &[RecordSet], to: impl io::Write) -> Result<(), CsvError> {
    validate(sets)?;
    let fields = names(sets, |record| &record.fields);
    let axes = names(sets, |record| &record.variant);
    let mut out = csv::Writer::from_writer(to);
    let mut header: Vec<String> = ["run", "scenario", "ground", "seed"].map(str::to_owned).into();
    header.extend(fields.iter().map(|name| format!("field.{name}")));
    header.extend(axes.iter().map(|name| format!("axis.{name}")));
    header.extend(["metric", "unit", "basis", "sample", "value"].map(str::to_owned));
    out.write_record(&header)?;
    for (run, set) in sets.iter().enumerate() {
        for record in &set.records {
            write_record(&mut out, run, record, &fields, &axes)?;
        }
    }
    out.flush().map_err(csv::Error::from)?;
    Ok(())
}

fn names(sets: &[RecordSet], of: fn(&Record) -> &Labels) -> BTreeSet<&str> {
    let records = sets.iter().flat_map(|set| &set.records);
    records.flat_map(|record| of(record).keys().map(String::as_str)).collect()
}

fn write_record<W: io::Write>(
    out: &mut csv::Writer<W>,
    run: usize,
    record: &Record,
    fields: &BTreeSet<&str>,
    axes: &BTreeSet<&str>,
) -> Result<(), csv::Error> {
    let cell = |labels: &Labels, name: &str| labels.get(name).cloned().unwrap_or_default();
    let mut head = vec![run.to_string(), record.scenario.clone(), record.ground.to_string()];
    head.push(record.seed.to_string());
    head.extend(fields.iter().map(|name| cell(&record.fields, name)));
    head.extend(axes.iter().map(|name| cell(&record.variant, name)));
    for metric in &record.metrics {
        let tail = [metric.name.as_str(), &metric.unit, metric.basis.name()];
        for (sample, value) in metric.values.iter().enumerate() {
            let (sample, value) = (sample.to_string(), value.to_string());
            let line = head.iter().map(String::as_str).chain(tail);
            out.write_record(line.chain([sample.as_str(), value.as_str()]))?;
        }
    }
    Ok(())
}
