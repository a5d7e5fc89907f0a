//! Conditions under which a comparison is a failure.

use std::fmt;
use std::str::FromStr;

use super::result::Comparison;
use super::role::Role;
use super::row::{Change, Row};
use super::verdict::Verdict;
use crate::schema::{Better, Labels, Metric};

/// A condition `METRIC>PERCENT%`, or `PERCENT%` for wholes. It fails if a variant is worse than the
/// base by more than that.
#[derive(Debug, Clone, PartialEq)]
pub struct FailOn {
    /// The metric; `None` for the metrics by which scenarios are judged.
    pub metric: Option<String>,
    /// Per cent of the base's median, from 0.
    pub percent: f64,
}

/// The reason why a condition cannot be judged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FailOnError {
    /// The text is no condition.
    #[error("`{text}`: expected PERCENT%, such as 3%, or METRIC>PERCENT%, such as 'refaults>3%'")]
    Unreadable {
        /// The text.
        text: String,
    },
    /// The metric has no better direction, so no variant can be worse.
    #[error(
        "`{of}`: neither direction of {metric:?} is better; a metric with a better direction is \
         accepted"
    )]
    NoDirection {
        /// The condition.
        of: String,
        /// The metric.
        metric: String,
    },
}

/// The outcome of one condition, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No variant is shown to be worse by more. It may be so all the same.
    NotShown,
    /// Unknown: runs are too few, or the metric is missing.
    Undecided,
    /// A variant is worse by more.
    Failed,
}

/// A condition with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The outcome in the worst place.
    pub outcome: Outcome,
    /// A line for each place in which it failed or is undecided, or one line if there is no such
    /// place.
    pub lines: Vec<String>,
}

impl FromStr for FailOn {
    type Err = FailOnError;

    fn from_str(text: &str) -> Result<Self, FailOnError> {
        let read = || {
            let (metric, percent) = match text.rsplit_once('>') {
                Some((metric, percent)) => (Some(metric.trim()), percent),
                None => (None, text),
            };
            let percent: f64 = percent.trim().strip_suffix('%')?.trim_end().parse().ok()?;
            let is_accepted = percent.is_finite() && percent >= 0.0 && metric != Some("");
            is_accepted.then(|| Self { metric: metric.map(str::to_owned), percent })
        };
        read().ok_or_else(|| FailOnError::Unreadable { text: text.to_owned() })
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.metric {
            Some(metric) => write!(f, "{metric}>{}%", self.percent),
            None => write!(f, "{}%", self.percent),
        }
    }
}

impl FailOn {
    /// Returns true if the condition is about a metric with this role.
    pub fn speaks_of(&self, metric: &Metric, role: Role) -> bool {
        match &self.metric {
            Some(name) => metric.name == *name,
            None => role == Role::Whole && metric.better != Better::Neither,
        }
    }

    /// Judges a comparison of [`compare_for`](super::compare_for), in every row that the condition
    /// is about and for every variant.
    ///
    /// # Errors
    /// [`FailOnError::NoDirection`] where the metric is neither better lower nor higher.
    pub fn judge(&self, of: &Comparison) -> Result<Judged, FailOnError> {
        let is_of = |row: &&Row| match &self.metric {
            Some(name) => row.metric == *name,
            None => row.is_judged(),
        };
        let rows: Vec<&Row> = of.rows.iter().filter(is_of).collect();
        if let Some(row) = rows.iter().find(|row| row.better == Better::Neither) {
            let (of, metric) = (self.to_string(), row.metric.clone());
            return Err(FailOnError::NoDirection { of, metric });
        }
        let mut found = Vec::new();
        for row in &rows {
            let told = told_apart(row, &rows);
            for (title, change) in of.others.iter().zip(&row.others) {
                let of = if self.metric.is_none() { &format!(", {}", row.metric) } else { "" };
                let place = format!("{title} ({}{told}{of})", row.scenario);
                found.push(self.of_change(row, &place, change.as_ref()));
            }
        }
        let Some(outcome) = found.iter().map(|(outcome, _)| *outcome).max() else {
            let lines = vec![format!("{self}: undecided: no variant to compare has this metric")];
            return Ok(Judged { outcome: Outcome::Undecided, lines });
        };
        let lines = match outcome {
            Outcome::NotShown => vec![format!("{self}: not shown, in {} of {0}", found.len())],
            _ => found.into_iter().filter_map(|(_, line)| line).collect(),
        };
        Ok(Judged { outcome, lines })
    }

    /// Returns the outcome for one variant in one row, and a line unless nothing is shown.
    fn of_change(
        &self,
        row: &Row,
        place: &str,
        change: Option<&Change>,
    ) -> (Outcome, Option<String>) {
        let undecided =
            |why: &str| (Outcome::Undecided, Some(format!("{self}: undecided: {place}: {why}")));
        let Some(change) = change.filter(|_| row.base.is_some()) else {
            return undecided("the metric is missing");
        };
        match change.verdict {
            Verdict::TooFewRuns | Verdict::TooFewPairs | Verdict::NotJudged => {
                undecided(change.verdict.name())
            }
            // A base of zero has no percentages.
            Verdict::Worse if change.percent.is_none_or(|percent| -percent > self.percent) => {
                let by = change.percent.map_or_else(String::new, |p| format!(" by {:.2}%", -p));
                let pairs = change.pairs().and_then(|pairs| Some((pairs.n, pairs.interval?)));
                let pairs = pairs
                    .map(|(n, [low, high])| format!(" [{:.2}%, {:.2}%], {n} pairs", -high, -low));
                let (told, pairs) = (change.verdict.name(), pairs.unwrap_or_default());
                let line = format!("{self}: failed: {place}: {told}{by}{pairs}");
                (Outcome::Failed, Some(line))
            }
            _ => (Outcome::NotShown, None),
        }
    }
}

/// Returns the fields and axes that tell a row from others of the metric.
pub(crate) fn told_apart(row: &Row, rows: &[&Row]) -> String {
    let differing = |of: fn(&Row) -> &Labels| {
        let differs = |name: &str| rows.iter().any(|o| of(o).get(name) != of(row).get(name));
        let labels = of(row).iter().filter(|(name, _)| differs(name));
        labels.map(|(name, value)| format!(" {name}={value}")).collect::<String>()
    };
    differing(|row| &row.fields) + &differing(|row| &row.axes)
}
