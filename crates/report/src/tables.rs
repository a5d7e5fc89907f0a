//! The default comparisons, for records that no requested comparison has.

use crate::ReportError;
use pageout_record::compare::{
    Chosen, Comparison, Declarations, compare, compare_chosen, compare_runs,
};
use pageout_record::schema::{Ground, Labels, Record, RecordFile, RecordSet};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A comparison, under a title.
#[derive(Debug, Clone)]
pub struct Table {
    /// The title: the scenarios and grounds.
    pub title: String,
    /// The comparison.
    pub comparison: Comparison,
}

/// Returns tables as indented JSON: a list of objects with `title` and `comparison`, for other
/// programs. A figure that is no number, such as a change against 0, is null.
pub fn json(tables: &[Table]) -> String {
    let each = |of: &Table| json!({ "title": of.title, "comparison": of.comparison });
    format!("{:#}\n", tables.iter().map(each).collect::<Value>())
}

/// The labels that records must share to be in one row.
type Key<'a> = (&'a str, Ground, u64, &'a Labels);

fn key(record: &Record) -> Key<'_> {
    (&record.scenario, record.ground, record.seed, &record.fields)
}

impl Table {
    /// Compares all runs with one base; if `along` names an axis, only along that one.
    ///
    /// # Errors
    /// [`ReportError::Compare`].
    pub fn of(
        file: &RecordFile,
        base: &Labels,
        along: Option<&str>,
        declared: &Declarations,
    ) -> Result<Self, ReportError> {
        Ok(Self::from(compare_runs(file, base, along, declared)?))
    }

    /// Returns the table with decisions that ask for a gain of more than `least_gain` per cent.
    #[must_use]
    pub fn asking(self, least_gain: f64) -> Self {
        Self { comparison: self.comparison.asking(least_gain), ..self }
    }

    /// Compares one run with one base.
    ///
    /// # Errors
    /// [`ReportError::Compare`].
    pub fn of_set(
        set: &RecordSet,
        base: &Labels,
        declared: &Declarations,
    ) -> Result<Self, ReportError> {
        Ok(Self::from(compare(set, base, declared)?))
    }

    /// Returns a table for each scenario and ground, with the variant that comes first as its base.
    /// Records without a record of that variant beside them get a table of their own.
    ///
    /// # Errors
    /// [`ReportError::Invalid`] and [`ReportError::Compare`].
    pub fn of_each_scenario(
        file: &RecordFile,
        declared: &Declarations,
    ) -> Result<Vec<Self>, ReportError> {
        file.validate()?;
        Self::of_rest(file, &[], declared)
    }

    /// Returns such tables of those records that no other table has.
    pub(crate) fn of_rest(
        file: &RecordFile,
        others: &[Self],
        declared: &Declarations,
    ) -> Result<Vec<Self>, ReportError> {
        let keys: Vec<HashSet<Key<'_>>> = others.iter().map(Self::keys).collect();
        let has =
            |record: &Record| others.iter().zip(&keys).any(|(table, keys)| table.has(record, keys));
        let file = &without_code(file);
        let mut tables: Vec<Self> = Vec::new();
        for mut rest in by_scenario(file, has) {
            while let Some((_, first)) = rest.first().copied() {
                let with_base = rest.iter().filter(|(_, of)| of.variant == first.variant);
                let keys: HashSet<Key<'_>> = with_base.map(|(_, record)| key(record)).collect();
                let is_taken = |(_, record): &Placed<'_>| keys.contains(&key(record));
                let (taken, left) = rest.into_iter().partition(is_taken);
                rest = left;
                let taken = chosen(file, taken);
                let comparison = compare_chosen(&taken, &first.variant, None, declared)?;
                let mut table = Self::from(comparison);
                let alike = |other: &&Self| other.title.starts_with(&table.title);
                match others.iter().chain(&tables).filter(alike).count() {
                    0 => {}
                    before => table.title += &format!(" ({})", before + 1),
                }
                if !table.comparison.rows.is_empty() {
                    tables.push(table);
                }
            }
        }
        Ok(tables)
    }

    /// Returns the labels that the rows share with records.
    fn keys(&self) -> HashSet<Key<'_>> {
        let rows = self.comparison.rows.iter();
        rows.map(|row| (row.scenario.as_str(), row.ground, row.seed, &row.fields)).collect()
    }

    /// Returns true if the table has a record; its rows have these keys.
    fn has(&self, record: &Record, keys: &HashSet<Key<'_>>) -> bool {
        let common = &self.comparison.common;
        common.iter().all(|(axis, choice)| record.variant.get(axis) == Some(choice))
            && keys.contains(&key(record))
    }
}

/// A record, and the place of its run among all.
type Placed<'a> = (usize, &'a Record);

/// Returns the records that ran and are in no table, by scenario and ground, in their order.
fn by_scenario(file: &RecordFile, is_told: impl Fn(&Record) -> bool) -> Vec<Vec<Placed<'_>>> {
    let mut all: Vec<Vec<Placed<'_>>> = Vec::new();
    let mut places = HashMap::new();
    for (run, set) in file.sets.iter().enumerate() {
        let ran = |record: &&Record| record.ground != Ground::Published && !is_told(record);
        for record in set.records.iter().filter(ran) {
            let place = *places.entry((&record.scenario, record.ground)).or_insert(all.len());
            if place == all.len() {
                all.push(Vec::new());
            }
            all[place].push((run, record));
        }
    }
    all
}

/// Returns the runs that have such records, with only those.
fn chosen<'a>(file: &'a RecordFile, taken: Vec<Placed<'a>>) -> Vec<Chosen<'a>> {
    let mut runs: Vec<Chosen<'_>> =
        file.sets.iter().map(|set| Chosen { run: &set.run, records: Vec::new() }).collect();
    taken.into_iter().for_each(|(run, record)| runs[run].records.push(record));
    runs.retain(|run| !run.records.is_empty());
    runs
}

/// Returns the records with the searched code as a field, so that the engine and a bug put into it
/// are not compared.
fn without_code(file: &RecordFile) -> Cow<'_, RecordFile> {
    if file.records().all(|record| record.ground != Ground::Check) {
        return Cow::Borrowed(file);
    }
    let mut file = file.clone();
    let records = file.sets.iter_mut().flat_map(|set| &mut set.records);
    for record in records.filter(|record| record.ground == Ground::Check) {
        record.fields.extend(std::mem::take(&mut record.variant));
    }
    Cow::Owned(file)
}

impl From<Comparison> for Table {
    fn from(comparison: Comparison) -> Self {
        Self { title: title(&comparison), comparison }
    }
}

/// Returns the scenarios and grounds of a table, each once.
fn title(of: &Comparison) -> String {
    let (mut titles, mut met) = (Vec::new(), HashSet::new());
    for row in &of.rows {
        if met.insert((&row.scenario, row.ground)) {
            titles.push(match row.ground {
                Ground::Check => "searches of small worlds".to_owned(),
                ground => format!("{} on {ground}", row.scenario),
            });
        }
    }
    crate::text::first(&titles, 4, ", ")
}
