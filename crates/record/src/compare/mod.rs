//! Comparison of one base variant with the others, as a table of numbers.

mod chosen;
mod decision;
mod declarations;
mod drift;
mod error;
mod fail_on;
mod group;
mod levels;
mod names;
mod overall;
mod percent;
mod result;
mod role;
mod row;
mod runs;
mod significance;
mod verdict;

pub use chosen::Chosen;
pub use decision::{BreakEven, Decision, Driver, Pays, drawn_name};
pub use declarations::{Cause, Declarations, Name};
pub use drift::{Drift, Drifting};
pub use error::CompareError;
pub use fail_on::{FailOn, FailOnError, Judged, Outcome};
pub use levels::{ALPHA, LEAST_GAIN, LEVEL};
pub use names::Named;
pub use overall::{Overall, Standing, Wholes};
pub use result::Comparison;
pub use role::Role;
pub use row::{Change, Row, Summary, Test};
pub use runs::{Pairs, Runs};
pub use significance::Family;
pub use verdict::Verdict;

pub(crate) use fail_on::told_apart;

use group::{Group, OfVariant, Samples};
use percent::percent;
use significance::Tested;

use std::collections::BTreeSet;

use crate::schema::{Basis, Labels, Metric, RecordFile, RecordSet};
use crate::stats::{Interval, median, median_interval};

/// Compares every variant with the base, within records of one scenario, ground, seed and fields.
///
/// `base` names the axes that tell the base from the other variants; an axis that it leaves out may
/// have any choice. A variant that names the same axes goes before others that fit. Measured
/// metrics are tested (two-sided Mann-Whitney, corrected by Holm's method at [`ALPHA`]). Counted
/// and computed ones are not tested: any difference counts. The tests of wholes, on which the
/// verdict rests, are one family, and those of counts another; `declared` has the roles. Published
/// records are left out.
///
/// # Errors
/// [`CompareError`] where the set is invalid, a group has no base or several, or metrics do not
/// match.
pub fn compare(
    set: &RecordSet,
    base: &Labels,
    declared: &Declarations,
) -> Result<Comparison, CompareError> {
    set.validate()?;
    compare_chosen(&[set.into()], base, None, declared)
}

/// Compares several runs, like [`compare`].
///
/// If the runs of a variant took turns with those of the base, each pair of them is one
/// observation, and the test is Wilcoxon's signed-rank test. Otherwise the samples of a variant in
/// several runs are taken as one. If `along` names an axis, only that axis is compared: variants
/// that differ in another one are in separate rows.
///
/// # Errors
/// [`CompareError`], as of [`compare`].
pub fn compare_runs(
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
    declared: &Declarations,
) -> Result<Comparison, CompareError> {
    file.validate()?;
    let all: Vec<Chosen<'_>> = file.sets.iter().map(Chosen::from).collect();
    compare_chosen(&all, base, along, declared)
}

/// Returns the comparison by which conditions are judged: of the metrics that they are about,
/// whatever their roles. Conditions name what is judged before the results are seen, so all tests
/// are one family.
///
/// # Errors
/// [`CompareError`], as of [`compare`].
pub fn compare_for(
    conditions: &[FailOn],
    file: &RecordFile,
    base: &Labels,
    along: Option<&str>,
    declared: &Declarations,
) -> Result<Comparison, CompareError> {
    file.validate()?;
    let mut file = file.clone();
    for record in file.sets.iter_mut().flat_map(|set| &mut set.records) {
        let (scenario, ground) = (record.scenario.clone(), record.ground);
        record.metrics.retain(|metric| {
            let role = declared.role(&scenario, ground, &metric.name);
            conditions.iter().any(|condition| condition.speaks_of(metric, role))
        });
    }
    let all: Vec<Chosen<'_>> = file.sets.iter().map(Chosen::from).collect();
    compared(&all, base, along, declared, Tested::All)
}

/// Compares some of the records of a valid file, like [`compare_runs`].
///
/// # Errors
/// [`CompareError`], as of [`compare`]; the records are not validated.
pub fn compare_chosen(
    chosen: &[Chosen<'_>],
    base: &Labels,
    along: Option<&str>,
    declared: &Declarations,
) -> Result<Comparison, CompareError> {
    compared(chosen, base, along, declared, Tested::ByRole)
}

fn compared(
    chosen: &[Chosen<'_>],
    base: &Labels,
    along: Option<&str>,
    declared: &Declarations,
    which: Tested,
) -> Result<Comparison, CompareError> {
    let groups = group::groups(chosen, along);
    if groups.is_empty() {
        return Err(CompareError::Nothing);
    }
    let compared = group::differing_axes(&groups);
    let common = group::common_axes(&groups, &compared);
    let (base_title, others, bases) = titles(&groups, base, &compared)?;
    let mut base_runs = BTreeSet::new();
    let (mut rows, mut tested) = (Vec::new(), Vec::new());
    let names = names::named(&groups, (&base_title, &compared), declared);
    let with_name = |title: String| names::title(&names, title);
    let (base_title, others) = (with_name(base_title), others.into_iter().map(&with_name));
    let others: Vec<String> = others.collect();
    for (group, found) in groups.into_iter().zip(bases) {
        let named: Vec<OfVariant<'_>> = group.variants.iter().map(OfVariant::of).collect();
        let titles: Vec<String> = titles_of(&group, &compared).map(&with_name).collect();
        let place = |other| titles.iter().position(|title| title == other);
        let columns = Columns {
            all: &named,
            base: &named[found],
            others: others.iter().map(|other| Some(&named[place(other)?])).collect(),
        };
        base_runs.extend(columns.base.runs());
        let axes = group.axes_besides(&compared, &common);
        for (metric, role) in group.metrics_by_role(&named, declared)? {
            let mut row = row(&group, (metric, role), &columns, &axes, which.has(role));
            if role == Role::Whole {
                row.decisions = columns.decisions(metric, declared);
            }
            if which.has(role) {
                tested.extend(columns.drift(&row, rows.len(), &base_title, &others));
            }
            rows.push(row);
        }
    }
    let [judged, informed] = significance::correct(&mut rows, which);
    verdict::judge(&mut rows, which);
    Ok(Comparison {
        runs: chosen.iter().map(|of| of.run.clone()).collect(),
        base_runs,
        alpha: ALPHA,
        level: LEVEL,
        least_gain: LEAST_GAIN,
        judged,
        informed,
        compared,
        common,
        named: names,
        base: base_title,
        verdicts: overall::overall(&others, &rows),
        undeclared: undeclared(&rows, declared),
        others,
        rows,
        drift: drift::correct(tested),
    })
}

/// Returns the title of the base, those of the others in the order met, and the index of the base
/// in each group. Titles are choices.
fn titles(
    groups: &[Group<'_>],
    base: &Labels,
    compared: &[String],
) -> Result<(String, Vec<String>, Vec<usize>), CompareError> {
    let mut base_title: Option<String> = None;
    let mut others: Vec<String> = Vec::new();
    let mut bases = Vec::new();
    for group in groups {
        let found = group.base(base)?;
        let here = group::title(compared, group.variants[found].labels);
        match &base_title {
            Some(first) if *first != here => {
                return Err(CompareError::BaseDiffers { first: first.clone(), second: here });
            }
            _ => base_title = Some(here),
        }
        let all = titles_of(group, compared).enumerate();
        for (_, other) in all.filter(|(index, _)| *index != found) {
            if !others.contains(&other) {
                others.push(other);
            }
        }
        bases.push(found);
    }
    Ok((base_title.unwrap_or_default(), others, bases))
}

/// Returns the titles of a group's variants, which are their choices.
fn titles_of(group: &Group<'_>, compared: &[String]) -> impl Iterator<Item = String> {
    group.variants.iter().map(|variant| group::title(compared, variant.labels))
}

/// A group's variants in the order of the table's columns.
struct Columns<'a> {
    /// All variants in the order met.
    all: &'a [OfVariant<'a>],
    base: &'a OfVariant<'a>,
    others: Vec<Option<&'a OfVariant<'a>>>,
}

impl Columns<'_> {
    /// Returns the decisions on a whole, one for each other variant.
    fn decisions(&self, whole: &Metric, declared: &Declarations) -> Vec<Option<Decision>> {
        let decision = |new: &OfVariant<'_>| decision::of(whole, [self.base, new], declared);
        self.others.iter().map(|new| decision((*new)?)).collect()
    }

    /// Returns the tests for drift of a row: of the base, then of the others.
    fn drift(&self, row: &Row, at: usize, base: &str, others: &[String]) -> Vec<drift::Tested> {
        let test = |named: &OfVariant<'_>, title: &str, runs: &[Runs]| {
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

/// Returns the scenarios without declarations, by name.
fn undeclared(rows: &[Row], declared: &Declarations) -> BTreeSet<String> {
    let unknown = rows.iter().filter(|row| !declared.has(&row.scenario, row.ground));
    unknown.map(|row| row.scenario.clone()).collect()
}

fn row(
    group: &Group<'_>,
    (metric, role): (&Metric, Role),
    columns: &Columns<'_>,
    axes: &Labels,
    tested: bool,
) -> Row {
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
        let base = base.filter(|_| tested);
        let test = base.and_then(|base| significance::test(base, new, signed_rank));
        // It is known once all tests are done.
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
        role,
        sources: group::sources(columns.all, &metric.name),
        others,
        base: summary,
        decisions: Vec::new(),
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

/// Returns the interval of the median if each run counts as one figure.
fn interval_of_runs(samples: &Samples<'_>) -> Option<Interval> {
    let medians = samples.runs.iter().filter_map(|(_, values)| median(values));
    median_interval(&medians.collect::<Vec<_>>(), LEVEL)
}

#[cfg(test)]
mod tests;
