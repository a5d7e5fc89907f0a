//! One base variant against the others, as a table of numbers.

mod chosen;
mod drift;
mod error;
mod fail_on;
mod group;
mod levels;
mod percent;
mod result;
mod runs;
mod significance;
mod verdict;

pub use chosen::Chosen;
pub use drift::{Drift, Drifting};
pub use error::CompareError;
pub use fail_on::{FailOn, FailOnError, Judged, Outcome};
pub use levels::{ALPHA, LEVEL};
pub use result::{Change, Comparison, Row, Summary, Test};
pub use runs::{Pairs, Runs};
pub use verdict::Verdict;

pub(crate) use fail_on::told_apart;

use group::{Group, Named, Samples};
use percent::percent;

use std::collections::BTreeSet;

use crate::schema::{Basis, Labels, Metric, RecordFile, RecordSet};
use crate::stats::{Interval, median, median_interval};

/// Compares every variant with the base, within records of one scenario, ground, seed and fields.
///
/// `base` names the axes it takes to tell the base from the other variants; an axis it leaves out
/// may have any choice. A variant that names the same axes goes before others that fit. Measured
/// metrics are tested (two-sided Mann-Whitney, all tests of the table one Holm family at
/// [`ALPHA`]); counted and computed ones are not: where they differ, they differ. Published records
/// are left out.
///
/// # Errors
/// [`CompareError`] where the set is invalid, a group has no base or several, or metrics do not
/// match.
pub fn compare(set: &RecordSet, base: &Labels) -> Result<Comparison, CompareError> {
    set.validate()?;
    compare_chosen(&[set.into()], base, None)
}

/// [`compare`] of several runs.
///
/// Where the runs of a variant took turns with those of the base, each pair of them is one
/// observation, and the test is Wilcoxon's signed-rank test. Elsewhere the samples that a variant
/// has in several runs are taken as one. If `along` names an axis, it alone is compared: variants
/// that differ in another one are rows of their own.
///
/// # Errors
/// [`CompareError`], as of [`compare`].
pub fn compare_runs(
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
) -> Result<Comparison, CompareError> {
    file.validate()?;
    let all: Vec<Chosen<'_>> = file.sets.iter().map(Chosen::from).collect();
    compare_chosen(&all, base, along)
}

/// [`compare_runs`] of some of the records of a valid file.
///
/// # Errors
/// [`CompareError`], as of [`compare`]; the records are not validated.
pub fn compare_chosen(
    chosen: &[Chosen<'_>],
    base: &Labels,
    along: Option<&str>,
) -> Result<Comparison, CompareError> {
    let groups = group::groups(chosen, along);
    if groups.is_empty() {
        return Err(CompareError::Nothing);
    }
    let compared = group::differing_axes(&groups);
    let common = group::common_axes(&groups, &compared);
    let title = |variant: &Labels| group::title(&compared, variant);

    let mut base_title: Option<String> = None;
    let mut others: Vec<String> = Vec::new();
    let mut bases = Vec::new();
    for group in &groups {
        let found = group.base(base)?;
        let here = title(group.variants[found].labels);
        match &base_title {
            Some(first) if *first != here => {
                return Err(CompareError::BaseDiffers { first: first.clone(), second: here });
            }
            _ => base_title = Some(here),
        }
        for (_, other) in group.variants.iter().enumerate().filter(|(index, _)| *index != found) {
            let other = title(other.labels);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        bases.push(found);
    }
    let mut base_runs = BTreeSet::new();
    let (mut rows, mut tested) = (Vec::new(), Vec::new());
    let base_title = base_title.unwrap_or_default();
    for (group, found) in groups.into_iter().zip(bases) {
        let named: Vec<Named<'_>> = group.variants.iter().map(Named::of).collect();
        let titles: Vec<String> = group.variants.iter().map(|of| title(of.labels)).collect();
        let place = |other| titles.iter().position(|title| title == other);
        let columns = Columns {
            all: &named,
            base: &named[found],
            others: others.iter().map(|other| Some(&named[place(other)?])).collect(),
        };
        base_runs.extend(columns.base.runs());
        let axes = group.axes_besides(&compared, &common);
        for metric in group.metrics(&named)? {
            let row = row(&group, metric, &columns, &axes);
            tested.extend(columns.drift(&row, rows.len(), &base_title, &others));
            rows.push(row);
        }
    }
    let (tests, out_of_reach) = significance::correct(&mut rows);
    verdict::judge(&mut rows);
    Ok(Comparison {
        runs: chosen.iter().map(|of| of.run.clone()).collect(),
        base_runs,
        alpha: ALPHA,
        level: LEVEL,
        tests,
        out_of_reach,
        compared,
        common,
        base: base_title,
        others,
        rows,
        drift: drift::correct(tested),
    })
}

/// A group's variants in the order of the table's columns.
struct Columns<'a> {
    /// In the order met.
    all: &'a [Named<'a>],
    base: &'a Named<'a>,
    others: Vec<Option<&'a Named<'a>>>,
}

impl Columns<'_> {
    /// The tests for drift of a row at a place: of the base, then of the others.
    fn drift(&self, row: &Row, at: usize, base: &str, others: &[String]) -> Vec<drift::Tested> {
        let test = |named: &Named<'_>, title: &str, runs: &[Runs]| {
            drift::test(at, title, named.samples(&row.metric)?, runs)
        };
        let runs: Vec<Option<Runs>> =
            row.others.iter().map(|change| change.as_ref()?.runs).collect();
        let all: Vec<Runs> = runs.iter().copied().flatten().collect();
        let of_base = test(self.base, base, &all);
        let others = self.others.iter().zip(others).zip(&runs);
        let of_others = others
            .filter_map(|((named, title), runs)| test(named.as_ref()?, title, runs.as_slice()));
        of_base.into_iter().chain(of_others).collect()
    }
}

fn row(group: &Group<'_>, metric: &Metric, columns: &Columns<'_>, axes: &Labels) -> Row {
    let base = columns.base.samples(&metric.name);
    let summary = base.map(summarise);
    let others = columns.others.iter().map(|named| {
        let new = named.as_ref()?.samples(&metric.name)?;
        let mut summary_of_new = summarise(new);
        let (runs, of_pairs) = base.map(|base| runs::of(base, new, metric.better)).unzip();
        if matches!(runs, Some(Runs::Pairs(_))) {
            summary_of_new.interval = interval_of_runs(new);
        }
        let of_medians = summary
            .as_ref()
            .and_then(|base| percent(base.median, summary_of_new.median, metric.better));
        let (percent, signed_rank) = match of_pairs.flatten() {
            Some((percent, test)) => (percent, Some(test)),
            None => (of_medians, None),
        };
        let test = base.and_then(|base| significance::test(base, new, signed_rank));
        // Known once all tests are.
        let verdict = Verdict::TooFewRuns;
        Some(Change { summary: summary_of_new, percent, runs, test, verdict })
    });
    let others: Vec<Option<Change>> = others.collect();
    let in_pairs = others.iter().flatten().any(|change| change.pairs().is_some());
    let of_runs = base.filter(|_| in_pairs).map(interval_of_runs);
    let summary =
        summary.map(|base| Summary { interval: of_runs.unwrap_or(base.interval), ..base });
    Row {
        scenario: group.key.scenario.to_owned(),
        ground: group.key.ground,
        seed: group.key.seed,
        fields: group.key.fields.clone(),
        axes: axes.clone(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        basis: metric.basis,
        better: metric.better,
        sources: group::sources(columns.all, &metric.name),
        others,
        base: summary,
    }
}

fn summarise(samples: &Samples<'_>) -> Summary {
    let (metric, values) = (samples.metric, samples.values());
    let of_median = || match metric.basis {
        Basis::Measured => median_interval(&values, LEVEL),
        _ => None,
    };
    Summary {
        n: values.len(),
        median: median(&values).expect("a valid metric has values"),
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        interval: metric.interval.or_else(of_median),
    }
}

/// The interval of the median where each run counts as one figure.
fn interval_of_runs(samples: &Samples<'_>) -> Option<Interval> {
    let medians = samples.runs.iter().filter_map(|(_, values)| median(values));
    median_interval(&medians.collect::<Vec<_>>(), LEVEL)
}

#[cfg(test)]
mod tests;
