//! What is compared with what, where nobody said.

use crate::ReportError;
use pageout_record::compare::{Comparison, compare, compare_runs};
use pageout_record::schema::{Ground, Labels, Record, RecordFile, RecordSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A comparison, under a title.
#[derive(Debug, Clone)]
pub struct Table {
    /// What it is of.
    pub title: String,
    /// What it says.
    pub comparison: Comparison,
}

/// What records must share to be in one row.
type Key<'a> = (&'a str, Ground, u64, &'a Labels);

fn key(record: &Record) -> Key<'_> {
    (&record.scenario, record.ground, record.seed, &record.fields)
}

impl Table {
    /// All runs compared with one base; if `along` names an axis, along that one alone.
    ///
    /// # Errors
    /// [`ReportError::Compare`].
    pub fn of(file: &RecordFile, base: &Labels, along: Option<&str>) -> Result<Self, ReportError> {
        Ok(Self::from(compare_runs(file, base, along)?))
    }

    /// One run compared with one base.
    ///
    /// # Errors
    /// [`ReportError::Compare`].
    pub fn of_set(set: &RecordSet, base: &Labels) -> Result<Self, ReportError> {
        Ok(Self::from(compare(set, base)?))
    }

    /// A table for each scenario and ground, with the variant that comes first as its base. Records
    /// that have no record of that variant beside them get a table of their own.
    ///
    /// # Errors
    /// [`ReportError::Compare`].
    pub fn of_each_scenario(file: &RecordFile) -> Result<Vec<Self>, ReportError> {
        Self::of_rest(file, &[])
    }

    /// The same of those records that no other table has.
    pub(crate) fn of_rest(file: &RecordFile, others: &[Self]) -> Result<Vec<Self>, ReportError> {
        let has = |record: &Record| others.iter().any(|table| table.has(record));
        let ran = |record: &&Record| record.ground != Ground::Published && !has(record);
        let file = &without_code(file);
        let mut rest: Vec<&Record> = file.records().filter(ran).collect();
        let mut tables = Vec::new();
        while let Some(first) = rest.first().copied() {
            let like = |record: &Record| {
                (&record.scenario, record.ground) == (&first.scenario, first.ground)
            };
            let with_base = rest.iter().filter(|r| like(r) && r.variant == first.variant);
            let keys: BTreeSet<Key<'_>> = with_base.map(|record| key(record)).collect();
            let taken = |record: &Record| ran(&record) && keys.contains(&key(record));
            let mut table = Self::of(&only(file, taken), &first.variant, None)?;
            rest.retain(|record| !keys.contains(&key(record)));
            let alike = |other: &&Self| other.title.starts_with(&table.title);
            match others.iter().chain(&tables).filter(alike).count() {
                0 => {}
                before => table.title += &format!(" ({})", before + 1),
            }
            if !table.comparison.rows.is_empty() {
                tables.push(table);
            }
        }
        Ok(tables)
    }

    /// Whether it tells of a record.
    fn has(&self, record: &Record) -> bool {
        let of = |row: &pageout_record::compare::Row| {
            (row.scenario.as_str(), row.ground, row.seed, &row.fields) == key(record)
        };
        let common = &self.comparison.common;
        common.iter().all(|(axis, choice)| record.variant.get(axis) == Some(choice))
            && self.comparison.rows.iter().any(of)
    }
}

/// The same, where code that was searched is a field: the engine and a bug put in are not compared.
fn without_code(file: &RecordFile) -> Cow<'_, RecordFile> {
    if file.records().all(|record| record.ground != Ground::Check) {
        return Cow::Borrowed(file);
    }
    let mut file = file.clone();
    let records = file.sets.iter_mut().flat_map(|set| &mut set.records);
    for record in records.filter(|record| record.ground == Ground::Check) {
        record.fields.append(&mut record.variant);
    }
    Cow::Owned(file)
}

/// The runs that have such records, with those alone.
fn only(file: &RecordFile, is_taken: impl Fn(&Record) -> bool) -> RecordFile {
    let sets = file.sets.iter().map(|set| {
        let records = set.records.iter().filter(|record| is_taken(record)).cloned();
        RecordSet::new(set.run.clone(), records.collect())
    });
    RecordFile { sets: sets.filter(|set| !set.records.is_empty()).collect() }
}

impl From<Comparison> for Table {
    fn from(comparison: Comparison) -> Self {
        Self { title: title(&comparison), comparison }
    }
}

/// The scenarios and grounds of a table, each once.
fn title(of: &Comparison) -> String {
    let mut titles: Vec<String> = Vec::new();
    for row in &of.rows {
        let title = format!("{} on {}", row.scenario, row.ground);
        if titles.last() != Some(&title) && !titles.contains(&title) {
            titles.push(title);
        }
    }
    crate::text::first(&titles, 4, ", ")
}
