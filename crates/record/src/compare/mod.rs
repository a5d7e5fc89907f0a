//! One base variant against the others, as a table of numbers.

mod fail_on;
mod group;
mod result;
mod significance;
mod verdict;

pub use fail_on::{FailOn, FailOnError, Judged, Outcome};
pub use result::{ALPHA, Change, Comparison, LEVEL, Row, Summary, Test};
pub use verdict::Verdict;

use group::{Group, Named, Samples};

use std::slice;

use crate::schema::{Basis, Better, InvalidRecord, Labels, Metric, RecordFile, RecordSet};
use crate::stats::{median, median_interval};

/// Why records cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// The set breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// There is no record on a ground where something ran.
    #[error("no records to compare: figures quoted from sources are not compared")]
    Nothing,
    /// A group lacks the base variant.
    #[error("{group}: no variant has {base}; there are: {found}")]
    NoBase {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The base asked for.
        base: String,
        /// The variants of the group.
        found: String,
    },
    /// Several variants of a group fit the base.
    #[error("{group}: {base} fits several variants; name more axes to choose one of: {found}")]
    SeveralBases {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The base asked for.
        base: String,
        /// The variants that fit.
        found: String,
    },
    /// The base is another variant in another group.
    #[error("the base is {first} in one group and {second} in another; name all of its axes")]
    BaseDiffers {
        /// Column title in the first group.
        first: String,
        /// Column title in a later one.
        second: String,
    },
    /// Two variants give one metric in other units, of another basis or with another direction.
    #[error("{group}: metric {metric:?} is {first} in one variant and {second} in another")]
    Unlike {
        /// Scenario, ground, seed and fields.
        group: String,
        /// The metric.
        metric: String,
        /// Unit, basis and direction of the one.
        first: String,
        /// Unit, basis and direction of the other.
        second: String,
    },
}

/// Compares every variant with the base, within records of one scenario, ground, seed and fields.
///
/// `base` names the axes it takes to tell the base from the other variants; an axis it leaves out
/// may have any choice. Measured metrics are tested (two-sided Mann-Whitney, all tests of the
/// table one Holm family at [`ALPHA`]); counted and computed ones are not: where they differ, they
/// differ. Published records are left out.
///
/// # Errors
/// [`CompareError`] where the set is invalid, a group has no base or several, or metrics do not
/// match.
pub fn compare(set: &RecordSet, base: &Labels) -> Result<Comparison, CompareError> {
    set.validate()?;
    compare_sets(slice::from_ref(set), base)
}

/// [`compare`] of several runs: the samples that one variant has in them are taken as one.
///
/// # Errors
/// [`CompareError`], as of [`compare`].
pub fn compare_runs(file: &RecordFile, base: &Labels) -> Result<Comparison, CompareError> {
    file.validate()?;
    compare_sets(&file.sets, base)
}

fn compare_sets(sets: &[RecordSet], base: &Labels) -> Result<Comparison, CompareError> {
    let groups = group::groups(sets);
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
        let here = title(group.variants[found].variant);
        match &base_title {
            Some(first) if *first != here => {
                return Err(CompareError::BaseDiffers { first: first.clone(), second: here });
            }
            _ => base_title = Some(here),
        }
        for (_, named) in group.variants.iter().enumerate().filter(|(index, _)| *index != found) {
            let other = title(named.variant);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        bases.push(found);
    }
    let mut rows = Vec::new();
    for (group, found) in groups.iter().zip(bases) {
        let columns = Columns {
            base: &group.variants[found],
            others: others
                .iter()
                .map(|other| {
                    let is_other = |named: &&Named<'_>| title(named.variant) == *other;
                    group.variants.iter().find(is_other)
                })
                .collect(),
        };
        let axes = group.axes_besides(&compared, &common);
        for metric in group.metrics()? {
            rows.push(row(group, metric, &columns, &axes));
        }
    }
    let (tests, out_of_reach) = significance::correct(&mut rows);
    verdict::judge(&mut rows);
    Ok(Comparison {
        runs: sets.iter().map(|set| set.run.clone()).collect(),
        alpha: ALPHA,
        level: LEVEL,
        tests,
        out_of_reach,
        compared,
        common,
        base: base_title.unwrap_or_default(),
        others,
        rows,
    })
}

/// A group's variants in the order of the table's columns.
struct Columns<'a> {
    base: &'a Named<'a>,
    others: Vec<Option<&'a Named<'a>>>,
}

fn row(group: &Group<'_>, metric: &Metric, columns: &Columns<'_>, axes: &Labels) -> Row {
    let base = columns.base.samples(&metric.name);
    let summary = base.map(summarise);
    let others = columns.others.iter().map(|named| {
        let new = named.as_ref()?.samples(&metric.name)?;
        let summary_of_new = summarise(new);
        let percent = summary
            .as_ref()
            .and_then(|base| percent(base.median, summary_of_new.median, metric.better));
        let test = base.and_then(|base| significance::test(base, new));
        // Known once all tests are.
        let verdict = Verdict::TooFewRuns;
        Some(Change { summary: summary_of_new, percent, test, verdict })
    });
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
        sources: group.sources(&metric.name),
        others: others.collect(),
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

/// The change in per cent of the base, positive where better; of a metric without a better
/// direction, positive where larger. `None` when the base is 0 and the other is not.
fn percent(base: f64, new: f64, better: Better) -> Option<f64> {
    let gain = match better {
        Better::Lower => base - new,
        Better::Higher | Better::Neither => new - base,
    };
    match (gain == 0.0, base == 0.0) {
        (true, _) => Some(0.0),
        (false, true) => None,
        (false, false) => Some(gain / base.abs() * 100.0).filter(|percent| percent.is_finite()),
    }
}

#[cfg(test)]
mod tests;
