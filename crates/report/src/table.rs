//! A comparison as a table, with inputs that choose its rows and columns.

use crate::budget::Budget;
use crate::text::{number, signed, with_unit};
use maud::{Markup, html};
use pageout_record::compare::{Change, Comparison, Role, Row, Summary, Verdict};
use pageout_record::render::{Labelling, grown, how_to_read, is_same, row_summaries};
use pageout_record::schema::Basis;
use std::collections::BTreeSet;

/// Returns the table of the `index`th comparison of a page.
pub(crate) fn table(of: &Comparison, title: &str, index: usize, budget: &mut Budget) -> Markup {
    let labelling = Labelling::of(&of.rows);
    let rows = chosen(of, title, labelling.varying.len() + 6 + 4 * of.others.len(), budget);
    let is_told = |row: &Row| !is_same(row) && row.role != Role::Diagnostic;
    let same = |row: &Row| !of.others.is_empty() && !is_told(row);
    let folds = rows.iter().any(|row| same(row)) && rows.iter().any(|row| !same(row));
    html! {
        div.table {
            (filters(of, &rows, (index, title), folds))
            div.scroll tabindex="0" role="region"
                aria-label=(format!("Table {}: {title}", index + 1)) {
                table id=(format!("t{index}")) {
                    caption { "Medians, intervals and changes; " (base(of)) }
                    thead {
                        tr {
                            @for label in &labelling.varying { th scope="col" { (label.name()) } }
                            th scope="col" { "metric" }
                            th.number scope="col" data-column="0" { (of.base) }
                            @for (other, title) in of.others.iter().enumerate() {
                                th.number scope="col" data-column=(other + 1) { (title) }
                            }
                            th scope="col" { "basis" }
                            th scope="col" { "n" }
                        }
                    }
                    tbody {
                        @for row in &rows {
                            tr data-scenario=(row.scenario) data-ground=(row.ground)
                                data-metric=(row.metric) data-same[same(row)]
                                hidden[folds && same(row)] {
                                @for label in &labelling.varying { td { (label.of(row)) } }
                                th.part[row.role == Role::Part] scope="row" {
                                    (with_unit(&row.metric, &row.unit))
                                }
                                (cells(row))
                                td { (row.basis) }
                                td.n { (samples(row)) }
                            }
                        }
                    }
                }
            }
            details.how {
                summary { "How to read it" }
                ul { @for line in how_to_read(of).lines() { li { (line) } } }
            }
        }
    }
}

/// Returns the rows that fit, in their order. Wholes are kept first, then rows that show a
/// difference.
fn chosen<'a>(of: &'a Comparison, title: &str, cells: usize, budget: &mut Budget) -> Vec<&'a Row> {
    let fitting = budget.rows(of.rows.len(), cells);
    let worth = |row: &Row| {
        let verdicts = row.others.iter().flatten().map(|change| change.verdict);
        (row.role, verdicts.map(rank).min().unwrap_or(4))
    };
    let mut rows: Vec<(usize, &Row)> = of.rows.iter().enumerate().collect();
    if fitting < rows.len() {
        rows.sort_by_key(|(place, row)| (worth(row), *place));
        rows.truncate(fitting);
        rows.sort_by_key(|(place, _)| *place);
        budget.note(format!(
            "{title}: {fitting} of {} rows are in the table, those first that show a difference. \
             The records have all of them.",
            of.rows.len()
        ));
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::Differs => 2,
        Verdict::NoDifference => 3,
        Verdict::TooFewRuns | Verdict::TooFewPairs | Verdict::NotJudged => 4,
    }
}

fn base(of: &Comparison) -> String {
    match of.others.len() {
        0 => "nothing is compared.".to_owned(),
        _ => format!("each variant against {}.", of.base),
    }
}

fn samples(row: &Row) -> String {
    let n: BTreeSet<usize> = row_summaries(row).map(|summary| summary.n).collect();
    match (n.first(), n.last()) {
        (Some(least), Some(most)) if least != most => format!("{least}–{most}"),
        (Some(n), _) => n.to_string(),
        _ => "0".to_owned(),
    }
}

/// Returns a cell for each variant.
fn cells(row: &Row) -> Markup {
    html! {
        td.number data-column="0" {
            @match &row.base { Some(base) => (summary(row, base)), None => "–" }
        }
        @for (other, change) in row.others.iter().enumerate() {
            td.number data-column=(other + 1) {
                @match change {
                    Some(change) => {
                        (summary(row, &change.summary))
                        (percent(row, change))
                    }
                    None => "–",
                }
            }
        }
    }
}

/// Returns the median, and the interval in small print.
fn summary(row: &Row, of: &Summary) -> Markup {
    let spread = row.basis != Basis::Measured && !of.is_constant();
    html! {
        span.median { @if spread { "~" } (number(row.basis, of.median)) }
        @if let Some(interval) = of.interval {
            " " span.interval {
                "[" (number(row.basis, interval.low)) ", " (number(row.basis, interval.high)) "]"
            }
        }
    }
}

/// Returns the change of the median and, only for wholes, the verdict on it.
fn percent(row: &Row, change: &Change) -> Markup {
    let star = if change.test.is_some() && change.verdict.is_difference() { "*" } else { "" };
    let class = match change.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Differs => "differs",
        Verdict::NoDifference | Verdict::TooFewRuns | Verdict::TooFewPairs | Verdict::NotJudged => {
            "nothing"
        }
    };
    html! {
        @if change.verdict != Verdict::NotJudged {
            br;
            @if !row.has_too_few(change) {
                @if let Some(percent) = change.percent {
                    " " span.percent { (signed(grown(row.better, percent))) (star) }
                }
            }
            @if row.is_judged() {
                " " span class=(format!("verdict {class}")) { (change.verdict.name()) }
            }
        }
    }
}

/// Returns inputs that choose rows and columns. The script shows them: without it they would do
/// nothing.
fn filters(of: &Comparison, rows: &[&Row], (index, title): (usize, &str), folds: bool) -> Markup {
    let scenarios: BTreeSet<&str> = rows.iter().map(|row| row.scenario.as_str()).collect();
    let grounds: BTreeSet<&str> = rows.iter().map(|row| row.ground.name()).collect();
    let id = |name: &str| format!("{name}{index}");
    let choice = |name: &str, of: &[&str]| {
        html! {
            @if of.len() > 1 {
                label for=(id(name)) { (name) }
                select id=(id(name)) data-by=(name) {
                    option value="" { "all" }
                    @for one in of { option value=(one) { (one) } }
                }
            }
        }
    };
    html! {
        form.filters hidden data-table=(format!("t{index}"))
            aria-label=(format!("Rows and columns shown of table {}: {title}", index + 1)) {
            (choice("scenario", &scenarios.into_iter().collect::<Vec<_>>()))
            (choice("ground", &grounds.into_iter().collect::<Vec<_>>()))
            label for=(id("metric")) { "metric" }
            input id=(id("metric")) data-by="metric" type="search" autocomplete="off"
                placeholder="part of its name";
            label for=(id("any")) { "any text" }
            input id=(id("any")) data-by="any" type="search" autocomplete="off"
                placeholder="part of a row";
            @if of.others.len() > 1 {
                label for=(id("variant")) { "variant" }
                select id=(id("variant")) data-by="variant" {
                    option value="" { "all" }
                    @for (other, title) in of.others.iter().enumerate() {
                        option value=(other + 1) { (title) }
                    }
                }
            }
            @if folds {
                label for=(id("same")) {
                    input id=(id("same")) data-by="same" type="checkbox";
                    " rows that are the same under every variant, or about the measurement"
                }
            }
            output aria-live="polite" {}
        }
    }
}
