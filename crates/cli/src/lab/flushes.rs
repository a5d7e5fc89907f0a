//! Kernels that flush other CPUs' TLBs less than the base does.

use super::scans::{self, Cell};
use pageout_record::compare::{Change, Comparison, Row};
use pageout_record::render::exact;

/// Endings of the names of metrics that count flushes.
const FLUSHES: [&str; 2] = ["invalidations", "interrupts"];

/// Returns a line for each kernel that flushes less than the base, with the row in which its count
/// falls most. A count says what a flush costs, and never that it was needless.
pub(super) fn fewer(of: &Comparison) -> Vec<String> {
    let kernels = of.others.iter().enumerate();
    kernels.filter_map(|(place, kernel)| line(of, place, kernel)).collect()
}

fn line(of: &Comparison, place: usize, kernel: &str) -> Option<String> {
    let fallen = |row| Some((row, fall(row, place)?));
    let rows = of.rows.iter().filter(|row| FLUSHES.iter().any(|end| row.metric.ends_with(end)));
    let (row, (before, after)) = rows
        .filter_map(fallen)
        .max_by(|(_, one), (_, other)| share(*one).total_cmp(&share(*other)))?;
    let cells: Vec<Cell<'_>> = of.rows.iter().map(cell_of).collect();
    let place = scans::place(cell_of(row), &cells);
    let (metric, base) = (&row.metric, &of.base);
    let (before, after) = (exact(before), exact(after));
    Some(format!(
        "{kernel} flushes less than {base}: {metric} {before} -> {after}{place}. No count shows that \
         a flush was needless; search for a stale entry by `pageout lab schedule` \
         (docs/schedule.md)."
    ))
}

/// Returns the base's median and that of a kernel, if it is lower.
fn fall(row: &Row, place: usize) -> Option<(f64, f64)> {
    let of = |change: Change| change.summary.median;
    let (before, after) = (row.base?.median, of(row.others[place]?));
    (after < before).then_some((before, after))
}

fn share((before, after): (f64, f64)) -> f64 {
    1.0 - after / before
}

fn cell_of(row: &Row) -> Cell<'_> {
    (&row.scenario, &row.fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::DECLARED;
    use crate::this_run::this_run;
    use pageout_record::compare::compare;
    use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, RecordSet};

    /// Returns the lines about records: a kernel, an order, and interrupts of another CPU.
    fn lines(records: &[(&str, &str, f64)]) -> Vec<String> {
        let labels = |name: &str, value: &str| Labels::from_iter([(name.into(), value.into())]);
        let (unit, basis, better) = ("per 4K page", Basis::Counted, Better::Lower);
        let record = |(kernel, order, value): &(&str, &str, f64)| Record {
            scenario: "reclaim-file".to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: labels("order", order),
            variant: labels("kernel", kernel),
            metrics: vec![Metric::new("other CPU: interrupts", unit, basis, better, vec![*value])],
        };
        let set = RecordSet::new(this_run(), records.iter().map(record).collect());
        fewer(&compare(&set, &labels("kernel", "stock"), &DECLARED).expect("records of one kind"))
    }

    #[test]
    fn as_many_or_more_flushes_have_no_line() {
        let more = [("stock", "0", 0.5), ("mine", "0", 0.5), ("more", "0", 0.75)];
        assert_eq!(lines(&more), [""; 0]);
    }

    #[test]
    fn the_cell_that_loses_most_flushes_is_named() {
        let all =
            [("stock", "0", 0.5), ("mine", "0", 0.25), ("stock", "4", 0.5), ("mine", "4", 0.0)];
        let [line] = &lines(&all)[..] else { panic!("one line") };
        let said = "mine flushes less than stock: other CPU: interrupts 0.5 -> 0 (order=4). ";
        assert!(line.starts_with(said) && line.contains("`pageout lab schedule`"), "{line}");
    }
}
