//! The rules a record set keeps beyond its shape.

use std::collections::BTreeSet;

use super::types::{Basis, Ground, Labels, Metric, Record, RecordSet};

/// A record set that breaks a rule of the format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct InvalidRecord {
    /// Where, such as `records[3] (sweep), metric "age"`. Records count from 0.
    pub place: String,
    /// Which rule.
    pub problem: Problem,
}

/// A rule of the format that was broken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A metric without samples.
    #[error("values is empty; at least one is needed")]
    NoValues,
    /// A sample that is infinite or not a number.
    #[error("values[{index}] is {value}; only finite numbers are accepted")]
    NotFinite {
        /// Which sample, from 0.
        index: usize,
        /// The sample.
        value: f64,
    },
    /// A published value that cites nothing.
    #[error("a published value needs a source")]
    NoSource,
    /// A name that must not be empty.
    #[error("{what} is empty; a name is needed")]
    Unnamed {
        /// What was unnamed.
        what: &'static str,
    },
    /// A control character, which would break tables and terminals.
    #[error("{what} {text:?} holds a control character; printable text is accepted")]
    ControlCharacter {
        /// What held it.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// The same metric twice for one scenario, ground, seed, fields and variant.
    #[error("given before for the same scenario, ground, seed, fields and variant; once accepted")]
    Repeated,
}

type MetricKey<'a> = (&'a str, Ground, u64, &'a Labels, &'a Labels, &'a str);

impl RecordSet {
    /// Checks what the types cannot hold: values present and finite, published values sourced,
    /// names present and printable, no metric given twice.
    ///
    /// # Errors
    /// [`InvalidRecord`] with the place and the [`Problem`], of the first rule broken.
    pub fn validate(&self) -> Result<(), InvalidRecord> {
        let run = &self.run;
        let texts = [&run.tool, &run.machine.cpu, &run.machine.arch, &run.machine.os].into_iter();
        for text in texts.chain(&run.commit) {
            printable("text", text).map_err(|problem| at("run".to_owned(), problem))?;
        }
        let mut seen = BTreeSet::new();
        for (index, record) in self.records.iter().enumerate() {
            let place = format!("records[{index}] ({:?})", record.scenario);
            check_record(record).map_err(|problem| at(place.clone(), problem))?;
            for metric in &record.metrics {
                let place = || format!("{place}, metric {:?}", metric.name);
                check_metric(metric).map_err(|problem| at(place(), problem))?;
                if !seen.insert(key(record, metric)) {
                    return Err(at(place(), Problem::Repeated));
                }
            }
        }
        Ok(())
    }
}

fn at(place: String, problem: Problem) -> InvalidRecord {
    InvalidRecord { place, problem }
}

fn key<'a>(record: &'a Record, metric: &'a Metric) -> MetricKey<'a> {
    let Record { scenario, ground, seed, fields, variant, .. } = record;
    (scenario, *ground, *seed, fields, variant, &metric.name)
}

fn check_record(record: &Record) -> Result<(), Problem> {
    named("scenario", &record.scenario)?;
    for (name, value) in &record.fields {
        named("field name", name)?;
        printable("field value", value)?;
    }
    for (name, value) in &record.variant {
        named("axis name", name)?;
        printable("axis choice", value)?;
    }
    Ok(())
}

fn check_metric(metric: &Metric) -> Result<(), Problem> {
    named("metric name", &metric.name)?;
    printable("unit", &metric.unit)?;
    match &metric.source {
        Some(source) => named("source", source)?,
        None if metric.basis == Basis::Published => return Err(Problem::NoSource),
        None => {}
    }
    if metric.values.is_empty() {
        return Err(Problem::NoValues);
    }
    match metric.values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Problem::NotFinite { index, value: metric.values[index] }),
        None => Ok(()),
    }
}

fn named(what: &'static str, text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::Unnamed { what });
    }
    printable(what, text)
}

fn printable(what: &'static str, text: &str) -> Result<(), Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::ControlCharacter { what, text: text.to_owned() });
    }
    Ok(())
}
