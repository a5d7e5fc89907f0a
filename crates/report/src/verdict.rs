//! What the comparisons say, in words.

use crate::charts::Drawn;
use crate::text::{count, is_tiny, number, signed, with_unit};
use maud::{Markup, html};
use pageout_record::chart::FUNCTION;
use pageout_record::compare::{Change, Comparison, Pairs, Row, Summary, Verdict};
use pageout_record::render::{p_value, too_few};
use pageout_record::schema::{Basis, Better, Ground, RecordFile};

/// Findings that are written out of one variant: of what stands first, and of what is worst.
const WRITTEN: usize = 6;

/// The verdict on each other variant of a comparison.
pub(crate) fn verdict(drawn: &Drawn<'_>) -> Markup {
    let of = drawn.of;
    html! {
        // What searches found is told of all of them.
        @if of.others.is_empty() && of.rows.iter().any(|row| row.ground != Ground::Check) {
            p { "Nothing is compared: these are the figures of one variant." }
        }
        @for (other, title) in of.others.iter().enumerate() {
            @let changes = changes(of, other);
            @let written = written(of, &changes);
            p { strong { (title) } " against " strong { (of.base) } ": " (sum(&changes)) }
            ul {
                @for (row, base, change) in &written {
                    li { (finding(of, drawn, row, base, change)) }
                }
            }
        }
    }
}

/// What searches found: whether the engine's properties held, and the bugs that were put in.
pub(crate) fn searches(file: &RecordFile) -> Markup {
    let (mut engine, mut bugs) = ([0_usize; 2], [0_usize; 2]);
    for record in file.records().filter(|record| record.ground == Ground::Check) {
        let own = record.variant.get("code").is_none_or(|code| code == "engine");
        let of = if own { &mut engine } else { &mut bugs };
        let failures = record.metrics.iter().find(|metric| metric.name == "failures");
        of[0] += 1;
        of[1] += usize::from(failures.is_some_and(|failures| failures.values[0] > 0.0));
    }
    let held = if engine[1] == 0 { "better" } else { "worse" };
    html! {
        @if engine[0] > 0 {
            p {
                "Searches of the engine: " (engine[0]) ", "
                strong class=(held) { (engine[1]) " failed" } "."
            }
        }
        @if bugs[0] > 0 { p { "Bugs put in: " (bugs[1]) " of " (bugs[0]) " found." } }
    }
}

/// A row with both sides.
type Compared<'a> = (&'a Row, &'a Summary, &'a Change);

fn changes(of: &Comparison, other: usize) -> Vec<Compared<'_>> {
    let compared = |row: &'_ Row| row.better != Better::Neither;
    let rows = of.rows.iter().filter(|row| compared(row));
    rows.filter_map(|row| Some((row, row.base.as_ref()?, row.others[other].as_ref()?))).collect()
}

/// How many metrics went which way.
fn sum(changes: &[Compared<'_>]) -> String {
    let of =
        |verdict: Verdict| changes.iter().filter(|(.., change)| change.verdict == verdict).count();
    let ways = [
        Verdict::Better,
        Verdict::Worse,
        Verdict::NoDifference,
        Verdict::TooFewRuns,
        Verdict::TooFewPairs,
    ];
    let ways = ways.iter().filter(|verdict| of(**verdict) > 0);
    let told: Vec<String> =
        ways.map(|verdict| format!("{} {}", of(*verdict), verdict.name())).collect();
    format!("of {}, {}.", count(changes.len(), "figure"), told.join(", "))
}

/// The first figure of each group, which is what its scenario is about, and what is worst.
fn written<'a>(of: &Comparison, changes: &[Compared<'a>]) -> Vec<Compared<'a>> {
    let mut first: Vec<Compared<'a>> = Vec::new();
    for compared in changes.iter().filter(|(row, ..)| !row.fields.contains_key(FUNCTION)) {
        let group = |row: &'a Row| (&row.scenario, row.ground, row.seed, &row.fields, &row.axes);
        let known = first.last().is_some_and(|(row, ..)| group(row) == group(compared.0));
        if !known {
            first.push(*compared);
        }
        if first.len() > of.rows.len().min(WRITTEN) {
            break;
        }
    }
    first.truncate(WRITTEN);
    let is_written = |row: &Row| first.iter().any(|(known, ..)| std::ptr::eq(*known, row));
    let is_worse =
        |(row, _, change): &&Compared<'_>| change.verdict == Verdict::Worse && !is_written(row);
    let mut worse: Vec<_> = changes.iter().filter(is_worse).copied().collect();
    // A figure that was zero has no percentage, and is infinitely worse.
    let by = |change: &Change| change.percent.map_or(f64::INFINITY, f64::abs);
    worse.sort_by(|(.., a), (.., b)| by(b).total_cmp(&by(a)));
    worse.truncate(WRITTEN);
    first.into_iter().chain(worse).collect()
}

/// One figure: which way, how much, on what ground.
fn finding(
    of: &Comparison,
    drawn: &Drawn<'_>,
    row: &Row,
    base: &Summary,
    change: &Change,
) -> Markup {
    html! {
        (drawn.labelling.titled(&with_unit(&row.metric, &row.unit), row)) ": "
        strong class=(class(change.verdict)) { (way(row, change)) } ". "
        (summary(row, &change.summary)) " against " (summary(row, base)) "; "
        (ground(of, row, change)) "."
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Differs | Verdict::NoDifference | Verdict::TooFewRuns | Verdict::TooFewPairs => {
            "nothing"
        }
    }
}

/// `better by 12.34 %`.
fn way(row: &Row, change: &Change) -> String {
    let name = change.verdict.name();
    match (change.verdict, change.percent) {
        _ if too_few(row, change) => name.to_owned(),
        (Verdict::Better | Verdict::Worse, Some(percent)) => match is_tiny(percent) {
            true => format!("{name} by less than 0.01 %"),
            false => format!("{name} by {:.2} %", percent.abs()),
        },
        (_, Some(percent)) => format!("{name} ({})", signed(percent)),
        (_, None) => name.to_owned(),
    }
}

fn summary(row: &Row, of: &Summary) -> Markup {
    html! {
        (number(row.basis, of.median))
        @if let Some(interval) = of.interval {
            " [" (number(row.basis, interval.low)) ", " (number(row.basis, interval.high)) "]"
        }
        " (n = " (of.n) ")"
    }
}

/// The test of pairs of runs, and the interval of the change within them.
fn pairs(of: Pairs) -> String {
    let between = |[low, high]: [f64; 2]| format!(", change within them {low:+.2} to {high:+.2} %");
    let between = of.interval.map(between).unwrap_or_default();
    format!("Wilcoxon of {} of runs{between}", count(of.n, "pair"))
}

/// On what ground it is said: the test, or how the figure came to be.
fn ground(of: &Comparison, row: &Row, change: &Change) -> String {
    match change.test {
        Some(test) => format!(
            "{}, p {} after Holm's correction over {}",
            change.pairs().map_or_else(|| "Mann-Whitney".to_owned(), pairs),
            p_value(test.p_holm),
            count(of.tests, "test")
        ),
        None if row.basis == Basis::Measured => "measured, and not tested".to_owned(),
        None => format!("{}, not tested", row.basis),
    }
}
