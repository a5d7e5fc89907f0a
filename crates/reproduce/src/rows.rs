//! Rows read back from records: a figure with its lines, so that stored records print as fresh
//! ones.

use super::answer::RATIO;
use super::records::{NAME, SETTING};
use pageout_record::schema::{Bound, Claim, Ground, Record};
use pageout_record::stats::{Interval, median};

/// A figure with its answers.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row<'a> {
    pub(super) figure: &'a str,
    pub(super) thread: &'a str,
    pub(super) what: &'a str,
    pub(super) system: &'a str,
    pub(super) said: &'a str,
    /// The direction of the thread's difference.
    pub(super) side: Claim,
    /// The reasons for which methods have no answer.
    pub(super) why_not: Option<&'a str>,
    /// The thread's quantities.
    pub(super) theirs: Vec<(&'a str, &'a str, Bound)>,
    /// The lines of ours.
    pub(super) lines: Vec<Line<'a>>,
    /// Predicted ratios, each with one setting that differs from the assumed ones.
    pub(super) otherwise: Vec<(&'a str, f64)>,
}

/// A quantity of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Line<'a> {
    pub(super) ground: Ground,
    pub(super) label: &'a str,
    pub(super) quantity: &'a str,
    pub(super) unit: &'a str,
    pub(super) values: &'a [f64],
    pub(super) interval: Option<Interval>,
}

/// Returns the rows of records, in their order.
pub(super) fn rows(records: &[Record]) -> Vec<Row<'_>> {
    let all = || records.iter().filter(|record| record.scenario == NAME);
    let published = all().filter(|record| record.ground == Ground::Published);
    published
        .map(|record| {
            let figure = field(record, "figure");
            let ours = all().filter(|other| {
                other.ground != Ground::Published && field(other, "figure") == figure
            });
            Row {
                figure,
                thread: field(record, "thread"),
                what: field(record, "what"),
                system: field(record, "system"),
                said: field(record, "said"),
                side: side(record),
                why_not: record.fields.get("why not").map(String::as_str),
                theirs: theirs(record),
                otherwise: ours.clone().filter_map(otherwise).collect(),
                lines: ours.filter(|record| setting(record).is_none()).flat_map(lines).collect(),
            }
        })
        .collect()
}

fn field<'a>(record: &'a Record, name: &str) -> &'a str {
    record.fields.get(name).map_or("", String::as_str)
}

fn side(record: &Record) -> Claim {
    record.metrics.iter().find_map(|metric| metric.claim).unwrap_or(Claim::NoDifference)
}

fn theirs(record: &Record) -> Vec<(&str, &str, Bound)> {
    let bounds = record.metrics.iter().filter_map(|metric| {
        let exactly = |number| Bound { at_least: Some(number), at_most: Some(number) };
        let bound = metric.bound.or_else(|| median(&metric.values).map(exactly))?;
        Some((&*metric.name, &*metric.unit, bound))
    });
    bounds.collect()
}

fn setting(record: &Record) -> Option<&str> {
    record.fields.get(SETTING).map(String::as_str)
}

fn otherwise(record: &Record) -> Option<(&str, f64)> {
    let ratio = record.metric(RATIO)?;
    Some((setting(record)?, median(&ratio.values)?))
}

fn lines(record: &Record) -> impl Iterator<Item = Line<'_>> {
    record.metrics.iter().map(|metric| Line {
        ground: record.ground,
        label: field(record, "label"),
        quantity: &metric.name,
        unit: &metric.unit,
        values: &metric.values,
        interval: metric.interval,
    })
}

impl Row<'_> {
    /// Returns the bounds that the thread gives for a quantity.
    pub(super) fn bound(&self, quantity: &str) -> Option<Bound> {
        self.theirs.iter().find(|(name, ..)| *name == quantity).map(|(.., bound)| *bound)
    }

    /// Returns true if the thread's figure may lie in the interval of a prediction. `None` if
    /// either is missing.
    pub(super) fn holds(&self, line: &Line<'_>) -> Option<bool> {
        let Interval { low, high, .. } = line.interval?;
        let Bound { at_least, at_most } = self.bound(line.quantity)?;
        Some(at_least.is_none_or(|least| least <= high) && at_most.is_none_or(|most| most >= low))
    }

    /// Returns the direction of the line's difference if the line is a ratio. It is neither if the
    /// ends or the samples disagree.
    pub(super) fn side_of(&self, line: &Line<'_>) -> Option<Claim> {
        if line.quantity != RATIO {
            return None;
        }
        let least = line.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = line.values.iter().copied().fold(0.0, f64::max);
        let (low, high) = line.interval.map_or((least, most), |of| (of.low, of.high));
        Some(if low > 1.0 {
            Claim::Better
        } else if high < 1.0 {
            Claim::Worse
        } else {
            Claim::NoDifference
        })
    }
}

impl Line<'_> {
    /// Returns the median of the line's samples.
    pub(super) fn middle(&self) -> f64 {
        median(self.values).unwrap_or(f64::NAN)
    }
}
