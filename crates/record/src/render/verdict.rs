//! The verdict on each variant, in words.

use std::collections::BTreeSet;
use std::fmt;

use super::number::{figure, grown, p_value, signed};
use crate::compare::{Change, Comparison, Overall, Row, Standing, Summary, Verdict, Wholes};

/// The verdict on a variant, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Title of the variant.
    pub variant: String,
    /// The sum over the variant's wholes.
    pub standing: Standing,
    /// The verdict: `better than before by 12.6%`.
    pub finding: String,
    /// The figures that the verdict rests on; may be empty.
    pub detail: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variant, self.finding)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, "; {}", self.detail) }
    }
}

/// Returns the verdicts of a comparison, one a variant.
pub fn verdicts(of: &Comparison) -> Vec<Said> {
    let judged: Vec<&Row> = of.rows.iter().filter(|row| row.is_judged()).collect();
    let said = |(index, verdict): (usize, &Overall)| {
        let (finding, detail) = match judged[..] {
            [] => ("no verdict".to_owned(), absent(of)),
            [row] => of_one(of, row, row.others[index].as_ref()),
            _ => of_several(of, verdict, &judged),
        };
        let (variant, standing) = (verdict.variant.clone(), verdict.standing);
        Said { variant, standing, finding, detail }
    };
    of.verdicts.iter().enumerate().map(said).collect()
}

/// Names the scenarios for which no roles are declared; none if all are declared.
pub fn undeclared(of: &Comparison) -> Option<String> {
    let names: Vec<&str> = of.undeclared.iter().map(String::as_str).collect();
    (!names.is_empty() && !of.others.is_empty()).then(|| {
        format!(
            "scenario {} declares no whole: every figure with a better direction is judged",
            names.join(", ")
        )
    })
}

fn absent(of: &Comparison) -> String {
    let scenarios: BTreeSet<&str> = of.rows.iter().map(|row| row.scenario.as_str()).collect();
    let scenarios = scenarios.into_iter().collect::<Vec<_>>().join(", ");
    format!("no whole of {scenarios} is in these records")
}

/// Returns the finding of one whole, and its figures.
fn of_one(of: &Comparison, row: &Row, change: Option<&Change>) -> (String, String) {
    let Some((base, change)) = row.base.as_ref().zip(change) else {
        return ("no verdict".to_owned(), format!("{} is missing", row.metric));
    };
    let by = change.percent.filter(|_| !row.has_too_few(change));
    let by = by.map_or_else(String::new, |percent| format!(" by {}", range([percent; 2])));
    let finding = match change.verdict {
        Verdict::Better => format!("better than {}{by}", of.base),
        Verdict::Worse => format!("worse than {}{by}", of.base),
        Verdict::NoDifference | Verdict::Differs => {
            format!("no difference from {} is shown", of.base)
        }
        Verdict::TooFewRuns | Verdict::TooFewPairs | Verdict::NotJudged => {
            format!("{} to tell it from {}", change.verdict.name(), of.base)
        }
    };
    let figures = [&change.summary, base].map(|summary| with_interval(row, summary));
    let [new, old] = figures;
    let (metric, ground) = (&row.metric, ground(row, change));
    let unit = if row.unit.is_empty() { "" } else { &format!(" {}", row.unit) };
    (finding, format!("{metric} {new} against {old}{unit}, {ground}"))
}

fn with_interval(row: &Row, of: &Summary) -> String {
    let number = |value| figure(row.basis, value);
    let interval = of.interval.map(|i| format!(" [{}, {}]", number(i.low), number(i.high)));
    format!("{}{}", number(of.median), interval.unwrap_or_default())
}

/// Describes the ground that a finding rests on: the test, or how the figures came to be.
fn ground(row: &Row, change: &Change) -> String {
    let Some(test) = change.test else { return format!("{}, not tested", row.basis) };
    let significant = if test.significant { "significant" } else { "not significant" };
    let n = match (change.pairs(), row.base) {
        (Some(pairs), _) => {
            let between = pairs.interval.map(|[low, high]| {
                let [one, other] = [low, high].map(|percent| grown(row.better, percent));
                let [low, high] = [one.min(other), one.max(other)].map(signed);
                format!(", change {low}% to {high}%")
            });
            format!("Wilcoxon of {} pairs{}", pairs.n, between.unwrap_or_default())
        }
        (None, Some(base)) if base.n != change.summary.n => {
            format!("n = {} and {}", base.n, change.summary.n)
        }
        (None, _) => format!("n = {}", change.summary.n),
    };
    format!("{significant} (p {}, {n})", p_value(test.p_holm))
}

/// Returns the finding of several wholes, and their subject.
fn of_several(of: &Comparison, verdict: &Overall, judged: &[&Row]) -> (String, String) {
    let metrics: BTreeSet<&str> = judged.iter().map(|row| row.metric.as_str()).collect();
    let (what, detail) = match Vec::from_iter(&metrics)[..] {
        [metric] => ("cells", (*metric).to_owned()),
        _ => ("figures", String::new()),
    };
    let (all, base) = (verdict.cells(), &of.base);
    let by = |wholes: &Wholes| wholes.percent.map(range);
    let whole = |way: &str, wholes: &Wholes| {
        let by = by(wholes).map_or_else(String::new, |by| format!(", by {by}"));
        format!("{way} than {base} in all {all} {what}{by}")
    };
    let Overall { better, worse, no_difference, undecided, .. } = verdict;
    let finding = match [better, worse, no_difference, undecided].map(|of| of.cells == all) {
        [true, ..] => whole("better", better),
        [_, true, ..] => whole("worse", worse),
        [_, _, true, _] => format!("no difference from {base} is shown in any of {all} {what}"),
        [.., true] => format!("not enough runs to tell it from {base} in any of {all} {what}"),
        _ => {
            let ways = [("better", better), ("worse", worse)];
            let ways = ways.into_iter().filter(|(_, wholes)| wholes.cells > 0);
            let ways = ways.map(|(way, wholes)| {
                let by = by(wholes).map_or_else(String::new, |by| format!(" (by {by})"));
                format!("{way} in {}{by}", wholes.cells)
            });
            let rest = [("no difference shown", no_difference), ("undecided", undecided)];
            let rest = rest.into_iter().filter(|(_, wholes)| wholes.cells > 0);
            let rest = rest.map(|(way, wholes)| format!("{way} in {}", wholes.cells));
            let ways: Vec<String> = ways.chain(rest).collect();
            format!("of {all} {what} against {base}, {}", ways.join(", "))
        }
    };
    (finding, detail)
}

/// Writes the size of a change, or the smallest and the largest: `12.6%`, `3.1% to 9.9%`.
fn range(percent: [f64; 2]) -> String {
    let [low, high] = percent.map(f64::abs);
    let [low, high] = [low.min(high), low.max(high)].map(size);
    if low == high { low } else { format!("{low} to {high}") }
}

fn size(percent: f64) -> String {
    match percent {
        _ if percent < 0.05 => "less than 0.1%".to_owned(),
        _ if percent < 9_999.5 => format!("{percent:.1}%"),
        _ => format!("{percent:.1e}%"),
    }
}
