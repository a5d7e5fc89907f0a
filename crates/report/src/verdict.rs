//! The results of the comparisons, in words.

use crate::charts::Drawn;
use crate::text::{count, is_tiny, number, signed, variant, with_unit};
use maud::{Markup, html};
use pageout_record::compare::{Change, Comparison, Pairs, Row, Standing, Summary, Verdict};
use pageout_record::render::{
    Decided, DecidedOn, Said, decided, grown, p_value, question, undeclared, verdicts,
};
use pageout_record::schema::{Basis, Better, Ground, Record, RecordFile, Step, StepKind, Told};

/// The maximum number of verdicts that come before a chart.
const FIRST: usize = 4;
/// The maximum number of wholes of one variant that are written out.
const WRITTEN: usize = 6;

/// The answer of a comparison: sentences, and the figures behind them.
pub(crate) struct Answer {
    /// The verdicts that come before any chart.
    pub(crate) first: Markup,
    /// The other verdicts, and the wholes and decisions that all rest on; may be empty.
    pub(crate) behind: Markup,
}

/// Returns the answer of a comparison.
pub(crate) fn answer(drawn: &Drawn<'_>) -> Answer {
    let of = drawn.of;
    if of.others.is_empty() {
        return Answer { first: alone(drawn), behind: html! {} };
    }
    let said = verdicts(of);
    let chances = decided(of, true);
    let mut best: Vec<usize> = (0..said.len()).collect();
    best.sort_by_key(|other| rank(said[*other].standing));
    let shown: Vec<usize> = best.iter().copied().take(FIRST).collect();
    let sentence = |other: usize| {
        let Said { variant, standing: of, finding, detail } = &said[other];
        let chance = chances.iter().find(|decided| decided.variant == *variant);
        html! {
            p.finding {
                strong { (variant) } ": "
                strong class=(standing(*of)) { (finding) } "."
                @if !detail.is_empty() { " " (capital(detail)) "." }
                @if let Some(Decided { chance, .. }) = chance {
                    " Probability of a gain of more than " (drawn.of.least_gain) "%: " (chance) "."
                }
            }
        }
    };
    let left = said.len() - shown.len();
    let first = html! {
        // In the order of the columns, as everywhere.
        @for other in (0..said.len()).filter(|other| shown.contains(other)) {
            (sentence(other))
        }
        @if left > 0 {
            p.reading { (count(left, "other variant")) ": under the figures behind it." }
        }
    };
    let behind = html! {
        @for other in 0..said.len() {
            @let written = written(of, other);
            @if !shown.contains(&other) { (sentence(other)) }
            @else if !written.is_empty() { p { strong { (said[other].variant) } } }
            @if !written.is_empty() {
                ul {
                    @for (row, base, change) in &written {
                        li { (finding(of, drawn, row, base, change)) }
                    }
                }
            }
        }
        (decision(of))
        @if let Some(undeclared) = undeclared(of) { p { (capital(&undeclared)) "." } }
    };
    Answer { first, behind }
}

/// Returns the figures of the only variant: its wholes, or else the first figures with a better
/// direction.
fn alone(drawn: &Drawn<'_>) -> Markup {
    // The results of searches are told before all comparisons.
    let rows = || drawn.of.rows.iter().filter(|row| !is_of_search(row));
    let wholes: Vec<&Row> = rows().filter(|row| row.is_judged()).collect();
    html! {
        @for row in wholes.iter().take(FIRST) {
            @if let Some(base) = &row.base {
                p.finding {
                    (capital(&drawn.labelling.titled(&row.metric, row))) ": "
                    strong { (number(row.basis, base.median)) " " (row.unit) }
                    @if let Some(interval) = base.interval {
                        ", interval " (number(row.basis, interval.low)) " to "
                        (number(row.basis, interval.high))
                    }
                    "; " (row.basis) @if base.n > 1 { ", the median of n = " (base.n) } "."
                }
            }
        }
        @if wholes.len() > FIRST {
            p.reading { "And " (count(wholes.len() - FIRST, "other figure")) ": see below." }
        }
        @if rows().any(|row| row.better != Better::Neither) {
            p.reading { "Nothing is compared: these are the figures of one variant." }
        }
    }
}

/// Returns the place of a standing among those that come first.
fn rank(of: Standing) -> u8 {
    match of {
        Standing::Better => 0,
        Standing::Worse => 1,
        Standing::Mixed => 2,
        Standing::NoDifference => 3,
        Standing::Undecided => 4,
    }
}

/// Returns the decisions on variants of modelled machines.
fn decision(of: &Comparison) -> Markup {
    html! {
        @if let Some(question) = question(of) {
            p { (question) }
            ul {
                @for Decided { variant, chance, each } in decided(of, true) {
                    li {
                        strong { (variant) } ": " (chance)
                        ul { @for on in &each { (decision_on(on)) } }
                    }
                }
            }
        }
    }
}

fn decision_on(DecidedOn { place, chance, details }: &DecidedOn) -> Markup {
    html! {
        li {
            @if !place.is_empty() { (place) ": " }
            (chance) "."
            @for detail in details { " " (capital(detail)) "." }
        }
    }
}

/// The scenario of searches of real kernels, and its metrics.
const SCHEDULE: &str = "schedule";
const SEEDS: &str = "seeds";
const FAILED: &str = "seeds that failed";
const WITHOUT_TURNS: &str = "failures without turns";

fn is_of_search(row: &Row) -> bool {
    row.ground == Ground::Check || row.scenario == SCHEDULE
}

/// Returns the results of searches of real kernels: the seeds that failed, and the failure.
fn schedules(file: &RecordFile) -> Markup {
    let number = |record: &Record, name| record.metric(name).map_or(0.0, |of| of.values[0]);
    let broken = |record: &Record| {
        let mut sequences = record.metrics.iter().filter_map(|metric| metric.sequence.as_deref());
        let steps = sequences.next()?.steps.iter();
        let broken = |step: &&Step| step.kind == StepKind::Violation;
        steps.rev().find(broken).map(|step| step.text.clone())
    };
    html! {
        @for record in file.records().filter(|record| record.scenario == SCHEDULE) {
            @let failed = number(record, FAILED);
            @let fails_alone = number(record, WITHOUT_TURNS) > 0.0;
            @let standing = if fails_alone || failed > 0.0 { "worse" } else { "better" };
            p.finding {
                strong { (variant(&record.variant)) } ": "
                strong class=(standing) {
                    @if fails_alone { "It fails without turns" }
                    @else { (failed) " of " (number(record, SEEDS)) " seeds failed" }
                }
                @if let Some(broken) = broken(record) { ": " (broken) }
                "."
            }
        }
    }
}

/// Returns the results of searches: for the engine, whether its properties held, for injected bugs,
/// those found, and for real kernels, the seeds that failed.
pub(crate) fn searches(file: &RecordFile) -> Markup {
    let (mut engine, mut bugs) = ([0_usize; 2], [0_usize; 2]);
    for record in file.records().filter(|record| record.ground == Ground::Check) {
        let own = record.variant.get("code").is_none_or(|code| code == "engine");
        let of = if own { &mut engine } else { &mut bugs };
        let failures = record.metric("failures");
        of[0] += 1;
        of[1] += usize::from(failures.is_some_and(|failures| failures.values[0] > 0.0));
    }
    let held = if engine[1] == 0 { "better" } else { "worse" };
    html! {
        @if engine[0] > 0 {
            p.finding {
                "Searches of the engine: " (engine[0]) ", "
                strong class=(held) { (engine[1]) " failed" } "."
            }
        }
        @if bugs[0] > 0 {
            p.finding {
                "Bugs put in: " strong { (bugs[1]) " of " (bugs[0]) " found" } "."
                @for (code, property, steps) in broken(file).iter().take(FIRST) {
                    " " strong { (code) } " breaks the property " em { (property) } " in "
                    (count(*steps, "step")) "."
                }
            }
        }
        (schedules(file))
    }
}

/// Returns each code with a counterexample, the property that it breaks, and the fewest steps.
fn broken(file: &RecordFile) -> Vec<(&str, &str, usize)> {
    let mut broken: Vec<(&str, &str, usize)> = Vec::new();
    for record in file.records().filter(|record| record.ground == Ground::Check) {
        let labels = (record.variant.get("code"), record.fields.get("property"));
        let (Some(code), Some(property)) = labels else { continue };
        for metric in &record.metrics {
            let Told::Sequence(sequence) = metric.told() else { continue };
            let steps = sequence.steps.iter().filter(|step| step.kind == StepKind::Step).count();
            match broken.iter_mut().find(|of| (of.0, of.1) == (code.as_str(), property.as_str())) {
                Some((.., fewest)) => *fewest = steps.min(*fewest),
                None => broken.push((code, property, steps)),
            }
        }
    }
    broken
}

/// A row with both sides.
type Compared<'a> = (&'a Row, &'a Summary, &'a Change);

/// Returns the wholes of a variant that are written out one by one, if there are several: the worst
/// first, then the others in their order.
fn written(of: &Comparison, other: usize) -> Vec<Compared<'_>> {
    let judged = of.rows.iter().filter(|row| row.is_judged());
    let compared =
        judged.filter_map(|row| Some((row, row.base.as_ref()?, row.others[other].as_ref()?)));
    let mut all: Vec<_> = compared.collect();
    if all.len() < 2 {
        return Vec::new();
    }
    // A change from zero has no percentage, and counts as infinitely worse.
    let loss = |(.., change): &Compared<'_>| match change.verdict {
        Verdict::Worse => change.percent.map_or(f64::INFINITY, f64::abs),
        _ => 0.0,
    };
    all.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    all.truncate(WRITTEN);
    all
}

/// Returns a figure in words: the direction, the amount and the ground.
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
        Verdict::Differs
        | Verdict::NoDifference
        | Verdict::TooFewRuns
        | Verdict::TooFewPairs
        | Verdict::NotJudged => "nothing",
    }
}

fn standing(of: Standing) -> &'static str {
    match of {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Mixed | Standing::NoDifference | Standing::Undecided => "nothing",
    }
}

/// Returns a text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the direction and the amount: `better by 12.34 %`.
fn way(row: &Row, change: &Change) -> String {
    let name = change.verdict.name();
    match (change.verdict, change.percent) {
        _ if row.has_too_few(change) => name.to_owned(),
        (Verdict::Better | Verdict::Worse, Some(percent)) => match is_tiny(percent) {
            true => format!("{name} by less than 0.01 %"),
            false => format!("{name} by {:.2} %", percent.abs()),
        },
        (_, Some(percent)) => format!("{name} ({})", signed(grown(row.better, percent))),
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

/// Returns the test of pairs of runs, and the interval of the change within them.
fn pairs(row: &Row, of: Pairs) -> String {
    let between = |ends: [f64; 2]| {
        let [one, other] = ends.map(|percent| grown(row.better, percent));
        let (low, high) = (one.min(other), one.max(other));
        format!(", change within them {low:+.2} to {high:+.2} %")
    };
    let between = of.interval.map(between).unwrap_or_default();
    format!("Wilcoxon of {} of runs{between}", count(of.n, "pair"))
}

/// Returns the ground of a verdict: the test, or the basis of the figure.
fn ground(of: &Comparison, row: &Row, change: &Change) -> String {
    match change.test {
        Some(test) => format!(
            "{}, p {} after Holm's correction over {}",
            change.pairs().map_or_else(|| "Mann-Whitney".to_owned(), |of| pairs(row, of)),
            p_value(test.p_holm),
            count(of.family(row).tests, "test")
        ),
        None if row.basis == Basis::Measured => "measured, and not tested".to_owned(),
        None => format!("{}, not tested", row.basis),
    }
}
