//! Cells in which kernels or samples scanned different numbers of pages.

use pageout_record::render::{exact, pairs};
use pageout_record::schema::{Labels, Record, RecordSet};

/// The counter of scanned pages, as `memory.stat` names it.
const SCANNED: &str = "pgscan";

/// A scenario with its fields.
pub(super) type Cell<'a> = (&'a str, &'a Labels);

/// Returns a line for each cell in which the samples of all kernels did not scan the same number of
/// pages. Instructions a page of such a cell compare different scans, not the same scan made
/// cheaper. The fields named are those that differ between cells.
pub(super) fn differing(set: &RecordSet) -> Vec<String> {
    let cells = cells(set);
    let line = |cell: &Cell<'_>| {
        let of_cell = set.records.iter().filter(|record| this_cell(record) == *cell);
        let scanned: Vec<(&str, &[f64])> = of_cell.filter_map(scanned).collect();
        let mut values = scanned.iter().flat_map(|(_, values)| *values);
        let first = values.next()?;
        if values.all(|value| value == first) {
            return None;
        }
        let kernels: Vec<String> = scanned.iter().map(|(name, all)| said(name, all)).collect();
        Some(format!(
            "{SCANNED} differs{}: {} pages. These figures compare different scans.",
            place(*cell, &cells),
            kernels.join(", ")
        ))
    };
    cells.iter().filter_map(line).collect()
}

fn this_cell(record: &Record) -> Cell<'_> {
    (&record.scenario, &record.fields)
}

/// Returns every cell once, in the order of the records.
fn cells(set: &RecordSet) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for cell in set.records.iter().map(this_cell) {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// Returns the kernel and the pages that each of its samples scanned, if it was counted.
fn scanned(record: &Record) -> Option<(&str, &[f64])> {
    let metric = record.metric(SCANNED)?;
    let kernel = record.variant.get("kernel")?;
    Some((kernel, &metric.values))
}

/// Writes the fields by which a cell differs from the others, in brackets.
pub(super) fn place((scenario, fields): Cell<'_>, cells: &[Cell<'_>]) -> String {
    let differs = |name: &str| cells.iter().any(|cell| cell.1.get(name) != fields.get(name));
    let several = cells.iter().any(|cell| cell.0 != scenario);
    let scenario = several.then(|| scenario.to_owned());
    let named = pairs(fields.iter().filter(|(name, _)| differs(name)));
    let words: Vec<String> =
        scenario.into_iter().chain([named]).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(" ")) }
}

/// Writes a kernel's samples: one value if they are equal, else the least and the most.
fn said(kernel: &str, samples: &[f64]) -> String {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match least == most {
        true => format!("{kernel} {}", exact(least)),
        false => format!("{kernel} {} to {}", exact(least), exact(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_run::this_run;
    use pageout_record::schema::{Basis, Better, Ground, Metric};

    /// Returns a set of records: an order, a kernel and what each of its samples scanned.
    fn set(records: &[(&str, &str, &[f64])]) -> RecordSet {
        let labels = |name: &str, value: &str| Labels::from_iter([(name.into(), value.into())]);
        let record = |(order, kernel, values): &(&str, &str, &[f64])| Record {
            scenario: "reclaim-file".to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: labels("order", order),
            variant: labels("kernel", kernel),
            metrics: vec![Metric::new(
                SCANNED,
                "pages",
                Basis::Counted,
                Better::Neither,
                values.to_vec(),
            )],
        };
        RecordSet::new(this_run(), records.iter().map(record).collect())
    }

    #[test]
    fn equal_scans_have_no_line() {
        let alike =
            [("0", "stock", &[7.0, 7.0][..]), ("0", "mine", &[7.0]), ("4", "stock", &[8.0])];
        assert!(differing(&set(&alike)).is_empty());
    }

    #[test]
    fn a_cell_is_named_where_samples_or_kernels_differ() {
        let all = [
            ("0", "stock", &[349_226.0, 343_139.0, 343_139.0][..]),
            ("0", "mine", &[343_139.0]),
            ("4", "stock", &[8.0]),
            ("4", "mine", &[9.0]),
        ];
        let said = [
            "pgscan differs (order=0): stock 343139 to 349226, mine 343139 pages.",
            "pgscan differs (order=4): stock 8, mine 9 pages.",
        ];
        let said = said.map(|line| format!("{line} These figures compare different scans."));
        assert_eq!(differing(&set(&all)), said);
    }
}
