//! The figures of a run for which no comparison was asked.

use super::estimated;
use crate::options::Rows;
use pageout_record::render::{Align, Grid, pairs};
use pageout_record::schema::{Basis, Labels, Metric, Record, RecordSet};
use std::collections::BTreeSet;

/// Writes every metric of every record. Several records are side by side; a single one has
/// intervals. In full, records are one by one, with the basis of each metric, and with metrics that
/// are zero.
pub(crate) fn metrics(set: &RecordSet, rows: Rows, columns: usize) -> String {
    let all: Vec<&Record> = set.records.iter().collect();
    let groups: Vec<&[&Record]> =
        if rows.full { all.chunks(1).collect() } else { all.chunk_by(is_comparable).collect() };
    let texts = groups.into_iter().map(|records| {
        let (grid, hidden) = match records {
            [only] => one(only, rows),
            _ => several(records),
        };
        let hidden = match hidden {
            0 => String::new(),
            1 => "1 metric is zero and not shown: --full shows all\n".to_owned(),
            n => format!("{n} metrics are zero and not shown: --full shows all\n"),
        };
        format!(
            "{}\n{}\n{}{hidden}",
            heading(records).text(columns),
            grid.text(columns),
            notes(records)
        )
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns true if the records can stand beside each other.
fn is_comparable(one: &&Record, other: &&Record) -> bool {
    (&one.scenario, one.ground) == (&other.scenario, other.ground)
}

/// Makes a heading of the scenario, and of all labels that these records have in common.
fn heading(records: &[&Record]) -> Grid {
    let first = records[0];
    let seeds: BTreeSet<String> = records.iter().map(|record| record.seed.to_string()).collect();
    let seeds: Vec<String> = seeds.into_iter().collect();
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    let ground = format!("{}, seed {}", first.ground, seeds.join(", "));
    grid.row(["scenario", &format!("{} on {ground}", first.scenario)]);
    grid.row(["fields", &pairs(common(records, |record| &record.fields))]);
    grid.row(["variant", &pairs(common(records, |record| &record.variant))]);
    grid
}

/// Returns the labels that are the same in all of these records.
fn common<'r>(
    records: &[&'r Record],
    labels: fn(&Record) -> &Labels,
) -> impl Iterator<Item = (&'r String, &'r String)> {
    let all: Vec<&Labels> = records.iter().map(|record| labels(record)).collect();
    let first = labels(records[0]).iter();
    first.filter(move |(name, value)| all.iter().all(|labels| labels.get(name) == Some(*value)))
}

/// Returns a record's metrics, and the number of those that are left out.
fn one(record: &Record, rows: Rows) -> (Grid, usize) {
    let mut heads = vec![("metric", Align::Left), ("value", Align::Right), ("unit", Align::Left)];
    heads.push(("95% interval", Align::Right));
    if rows.full {
        heads.extend([("basis", Align::Left), ("n", Align::Right)]);
    }
    let mut grid = Grid::new(heads);
    let sampled: Vec<&Metric> = record.metrics.iter().filter(|of| of.is_sampled()).collect();
    let is_shown = |metric: &&&Metric| rows.full || !is_zero(metric);
    let shown: Vec<&&Metric> = sampled.iter().filter(is_shown).collect();
    for metric in &shown {
        let [value, interval] = estimated(metric);
        let mut cells = vec![metric.name.clone(), value, metric.unit.clone(), interval];
        if rows.full {
            cells.extend([metric.basis.to_string(), metric.values.len().to_string()]);
        }
        grid.row(cells);
    }
    (grid, sampled.len() - shown.len())
}

/// Returns the metrics of records side by side, and the number of those that are left out.
fn several(records: &[&Record]) -> (Grid, usize) {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for metric in records.iter().flat_map(|record| &record.metrics).filter(|of| of.is_sampled()) {
        let name = (metric.name.as_str(), metric.unit.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let head = |record: &&Record| (difference(record, records), Align::Right);
    let labels = [("metric", Align::Left), ("unit", Align::Left)];
    let labels = labels.map(|(name, align)| (name.to_owned(), align));
    let mut grid = Grid::new(labels.into_iter().chain(records.iter().map(head)));
    let all = names.len();
    let mut shown = 0;
    for name in names {
        if records.iter().filter_map(|record| find(record, name)).all(is_zero) {
            continue;
        }
        shown += 1;
        let value = |record: &&Record| match find(record, name) {
            Some(metric) => estimated(metric)[0].clone(),
            None => "-".to_owned(),
        };
        let labels = [name.0, name.1].map(str::to_owned);
        grid.row(labels.into_iter().chain(records.iter().map(value)));
    }
    (grid, all - shown)
}

/// Returns the metric of this name and unit.
fn find<'r>(record: &'r Record, name: (&str, &str)) -> Option<&'r Metric> {
    record.metrics.iter().find(|metric| (metric.name.as_str(), metric.unit.as_str()) == name)
}

/// Returns the labels by which a record differs from the others: a value, or names and values if
/// several differ.
fn difference(record: &Record, records: &[&Record]) -> String {
    let differing = |labels: fn(&Record) -> &Labels| {
        let common: BTreeSet<&String> = common(records, labels).map(|(name, _)| name).collect();
        let all = labels(record).clone().into_iter();
        all.filter(|(name, _)| !common.contains(name)).collect::<Labels>()
    };
    let all = differing(|record| &record.fields).into_iter();
    let all: Labels = all.chain(differing(|record| &record.variant)).collect();
    match all.len() {
        1 => all.into_iter().map(|(_, value)| value).collect(),
        _ => pairs(&all),
    }
}

/// Writes the bases of the figures, and the numbers of their samples.
fn notes(records: &[&Record]) -> String {
    let metrics = || records.iter().flat_map(|record| &record.metrics).filter(|of| of.is_sampled());
    let bases: BTreeSet<Basis> = metrics().map(|metric| metric.basis).collect();
    let note = |basis: &Basis| {
        let counts: BTreeSet<usize> =
            metrics().filter(|of| of.basis == *basis).map(|of| of.values.len()).collect();
        let [least, most] = [counts.first(), counts.last()].map(|n| n.copied().unwrap_or(0));
        match basis {
            Basis::Counted => "counted: exact".to_owned(),
            _ if least == most => format!("{basis}: median of n = {most}"),
            _ => format!("{basis}: median of n = {least} to {most}"),
        }
    };
    let notes: Vec<String> = bases.iter().map(note).collect();
    if notes.is_empty() { String::new() } else { notes.join("; ") + "\n" }
}

fn is_zero(metric: &Metric) -> bool {
    metric.values.iter().all(|value| *value == 0.0)
}
