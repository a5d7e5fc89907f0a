//! Verdicts on a variant against the base.

use serde::Serialize;

use super::row::{Change, Row, Summary};
use super::significance::Tested;
use crate::schema::Better;

/// The verdict on a variant against the base, in one metric.
///
/// A measured difference is shown if its test is significant, corrected over its family. Any other
/// difference is shown if the samples of the two variants do not overlap; single values must
/// differ. The medians decide if it is better or worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A difference is shown, and the variant is better.
    Better,
    /// A difference is shown, and the variant is worse.
    Worse,
    /// A difference is shown in a metric without a better direction.
    Differs,
    /// No difference is shown. There may be one.
    NoDifference,
    /// There are not enough runs to show any difference, whatever their values.
    TooFewRuns,
    /// There are not enough pairs of runs to show any difference.
    TooFewPairs,
    /// The metric is a part or a diagnostic, which has no verdict.
    NotJudged,
}

impl Verdict {
    /// Returns the verdict's words in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Differs => "differs",
            Self::NoDifference => "no difference shown",
            Self::TooFewRuns => "not enough runs",
            Self::TooFewPairs => "not enough pairs",
            Self::NotJudged => "not judged",
        }
    }

    /// Returns true if a difference is shown.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Differs)
    }

    fn of(better: Better, base: &Summary, new: &Change) -> Self {
        let shown = match new.test {
            Some(test) if !test.significant && !test.in_reach => {
                return if new.pairs().is_some() { Self::TooFewPairs } else { Self::TooFewRuns };
            }
            Some(test) => test.significant,
            None => base.most < new.summary.least || new.summary.most < base.least,
        };
        let by = new.pairs().map_or(new.summary.median - base.median, |pairs| pairs.shift);
        if !shown || by == 0.0 {
            return Self::NoDifference;
        }
        match (better, by < 0.0) {
            (Better::Neither, _) => Self::Differs,
            (Better::Lower, true) | (Better::Higher, false) => Self::Better,
            (Better::Lower, false) | (Better::Higher, true) => Self::Worse,
        }
    }
}

/// Sets the verdict of every change, once tests are corrected.
pub(super) fn judge(rows: &mut [Row], which: Tested) {
    for row in rows {
        let is_judged = which.has(row.role);
        let Some(base) = row.base else { continue };
        for change in row.others.iter_mut().flatten() {
            change.verdict = match is_judged {
                true => Verdict::of(row.better, &base, change),
                false => Verdict::NotJudged,
            };
        }
    }
}
