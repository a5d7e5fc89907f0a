//! The limits of a page; a larger input is refused before any work is done.

use crate::ReportError;
use pageout_record::schema::{Record, RecordFile, Told};
use std::collections::BTreeSet;

/// The maximum number of fields and axes by name, over all records: each may become a column.
const NAMES: usize = 64;
/// The maximum number of variants: each is a column.
const VARIANTS: usize = 64;
/// The maximum number of characters of a text.
const TEXT: usize = 2_000;
/// The maximum number of actors of a sequence: each is a column.
const ACTORS: usize = 64;

/// Returns an error for records that would make no legible page.
pub(crate) fn check(file: &RecordFile) -> Result<(), ReportError> {
    let mut names = BTreeSet::new();
    let mut variants = BTreeSet::new();
    for run in file.sets.iter().map(|set| &set.run) {
        let texts = [&run.tool, &run.machine.cpu, &run.machine.arch, &run.machine.os];
        texts.into_iter().chain(&run.commit).try_for_each(|text| short("run", text))?;
    }
    let all = file.sets.iter().enumerate();
    let all = all.flat_map(|(set, of)| of.records.iter().enumerate().map(move |r| (set, r)));
    for (set, (index, record)) in all {
        let place = || format!("sets[{set}].records[{index}]");
        let labels = record.fields.iter().chain(&record.variant);
        most(place, "fields and axes", record.fields.len() + record.variant.len(), NAMES)?;
        names.extend(labels.map(|(name, _)| name.as_str()));
        most(place, "names of fields and axes so far", names.len(), NAMES)?;
        variants.insert(&record.variant);
        most(place, "variants so far", variants.len(), VARIANTS)?;
        texts(record).into_iter().try_for_each(|text| short(&place(), text))?;
        for metric in &record.metrics {
            if let Told::Sequence(sequence) = metric.told() {
                let columns = sequence.actors.len() + sequence.watched.len();
                most(place, "actors and watched things", columns, ACTORS)?;
            }
        }
    }
    Ok(())
}

fn texts(record: &Record) -> Vec<&str> {
    let labels = record.fields.iter().chain(&record.variant);
    let mut texts: Vec<&str> = labels.flat_map(|(name, choice)| [name.as_str(), choice]).collect();
    texts.push(&record.scenario);
    for metric in &record.metrics {
        texts.extend([metric.name.as_str(), &metric.unit]);
        texts.extend(metric.source.as_deref());
    }
    texts
}

fn short(place: &str, text: &str) -> Result<(), ReportError> {
    let found = text.chars().count();
    most(|| place.to_owned(), "characters of one text", found, TEXT)
}

fn most(
    place: impl FnOnce() -> String,
    what: &'static str,
    found: usize,
    most: usize,
) -> Result<(), ReportError> {
    if found <= most {
        return Ok(());
    }
    Err(ReportError::TooMany { place: place(), what, found, most })
}
