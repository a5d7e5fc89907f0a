//! Rows read back from records: a figure with its lines, so that stored records print as fresh
//! ones.

use super::predict::RATIO;
use super::records::{HIGH, LEAST, LOW, MOST, NAME, SIDE};
use pageout_record::schema::{Ground, Record};
use pageout_record::stats::median;

/// A figure with all that is said of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row<'a> {
    pub(super) figure: &'a str,
    pub(super) thread: &'a str,
    pub(super) what: &'a str,
    pub(super) system: &'a str,
    pub(super) said: &'a str,
    /// 1 if after is better, -1 if worse, 0 if there is no difference.
    pub(super) side: f64,
    /// Why nothing answers in some way.
    pub(super) why_not: Option<&'a str>,
    /// The thread's quantities.
    pub(super) theirs: Vec<(&'a str, &'a str, Span)>,
    /// Ours.
    pub(super) lines: Vec<Line<'a>>,
}

/// What a figure of a thread may mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    pub(super) least: f64,
    pub(super) most: Option<f64>,
}

/// A quantity of ours.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Line<'a> {
    pub(super) ground: Ground,
    pub(super) label: &'a str,
    pub(super) quantity: &'a str,
    pub(super) unit: &'a str,
    pub(super) values: &'a [f64],
    pub(super) interval: Option<(f64, f64)>,
}

/// The rows of records, in their order.
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
                side: value(record, SIDE).unwrap_or(0.0),
                why_not: record.fields.get("why not").map(String::as_str),
                theirs: theirs(record),
                lines: ours.flat_map(lines).collect(),
            }
        })
        .collect()
}

fn field<'a>(record: &'a Record, name: &str) -> &'a str {
    record.fields.get(name).map_or("", String::as_str)
}

fn value(record: &Record, name: &str) -> Option<f64> {
    let metric = record.metrics.iter().find(|metric| metric.name == name)?;
    median(&metric.values)
}

fn theirs(record: &Record) -> Vec<(&str, &str, Span)> {
    let metrics = record.metrics.iter().filter(|metric| metric.name != SIDE);
    let spans = metrics.filter_map(|metric| {
        let number = median(&metric.values)?;
        if metric.name.ends_with(MOST) {
            return None;
        }
        let (name, span) = match metric.name.strip_suffix(LEAST) {
            Some(name) => {
                let most = value(record, &format!("{name}{MOST}"));
                (name, Span { least: number, most })
            }
            None => (&*metric.name, Span { least: number, most: Some(number) }),
        };
        Some((name, &*metric.unit, span))
    });
    spans.collect()
}

fn lines(record: &Record) -> impl Iterator<Item = Line<'_>> {
    let end = |name: &str| name.ends_with(LOW) || name.ends_with(HIGH);
    record.metrics.iter().filter(move |metric| !end(&metric.name)).map(|metric| {
        let at = |end: &str| value(record, &format!("{}{end}", metric.name));
        Line {
            ground: record.ground,
            label: field(record, "label"),
            quantity: &metric.name,
            unit: &metric.unit,
            values: &metric.values,
            interval: at(LOW).zip(at(HIGH)),
        }
    })
}

impl Row<'_> {
    /// The thread's quantity of a name.
    pub(super) fn span(&self, quantity: &str) -> Option<Span> {
        self.theirs.iter().find(|(name, ..)| *name == quantity).map(|(.., span)| *span)
    }

    /// Whether the thread's figure may lie in the interval of a prediction.
    pub(super) fn holds(&self, line: &Line<'_>) -> Option<bool> {
        let (low, high) = line.interval?;
        let span = self.span(line.quantity)?;
        Some(span.least <= high && span.most.is_none_or(|most| most >= low))
    }

    /// Which way the line's difference goes, where it is one: 0 if its ends or samples disagree.
    pub(super) fn side_of(&self, line: &Line<'_>) -> Option<f64> {
        if line.quantity != RATIO {
            return None;
        }
        let least = line.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = line.values.iter().copied().fold(0.0, f64::max);
        let (low, high) = line.interval.unwrap_or((least, most));
        Some(if low > 1.0 {
            1.0
        } else if high < 1.0 {
            -1.0
        } else {
            0.0
        })
    }
}

impl Line<'_> {
    /// The middle of its samples.
    pub(super) fn middle(&self) -> f64 {
        median(self.values).unwrap_or(f64::NAN)
    }
}
