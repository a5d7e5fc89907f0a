//! The page as a whole.

use crate::budget::Budget;
use crate::chart::Charts;
use crate::charts::{Drawn, Panels};
use crate::lookup::Lookup;
use crate::pictures::Pictures;
use crate::provenance::provenance;
use crate::published::published;
use crate::table::table;
use crate::verdict::{Answer, answer, searches};
use crate::{MAX_BYTES, ReportError, Table, assets, sizes};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pageout_record::compare::Declarations;
use pageout_record::schema::{Ground, Metric, Record, RecordFile, Told};
use std::collections::BTreeSet;

/// The maximum number of tables of a page.
const TABLES: usize = 200;
/// The maximum number of bytes of printed text on a page.
const PRINTED: usize = 400_000;

/// The content of a page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The command that made it.
    pub command: &'a str,
    /// All records.
    pub file: &'a RecordFile,
    /// The requested comparisons of the records. Records that are in none of these get tables of
    /// their own.
    pub tables: &'a [Table],
    /// The declarations of the scenarios' metrics.
    pub declared: &'a Declarations,
    /// The answer in sentences, if it is more than the verdicts of the tables.
    pub answer: &'a [String],
    /// The text that the command printed, if it has more than these tables.
    pub printed: Option<&'a str>,
}

impl Page<'_> {
    /// Returns the page.
    ///
    /// # Errors
    /// [`ReportError`] if the set is invalid or has more of something than a page can show.
    pub fn html(&self) -> Result<String, ReportError> {
        self.file.validate()?;
        sizes::check(self.file)?;
        let rest = Table::of_rest(self.file, self.tables, self.declared)?;
        let mut tables: Vec<&Table> = self.tables.iter().chain(&rest).collect();
        let lookup = Lookup::of(self.file);
        let (mut budget, mut charts) = (Budget::new(), Charts::default());
        if tables.len() > TABLES {
            budget.note(format!("The first {TABLES} of {} tables are shown.", tables.len()));
            tables.truncate(TABLES);
        }
        let comparisons = tables.iter().map(|table| &table.comparison).collect();
        let mut pictures = Pictures::of(self.file.records(), comparisons);
        let has_pictures = !pictures.is_empty();
        let quoted = quoted(self.file);
        let (answers, says) =
            self.answers(&tables, &lookup, &mut pictures, (&mut charts, &mut budget));
        let pictures = pictures.sections(&mut charts, &mut budget);
        let comparisons = tables.iter().enumerate().map(|(index, of)| {
            html! {
                section id=(format!("comparison{index}")) {
                    h2 { "Table: " (of.title) }
                    (table(&of.comparison, &of.title, index, &mut budget))
                }
            }
        });
        let comparisons: Vec<Markup> = comparisons.collect();
        let title = self.title(&tables, &says);
        let has_pictures = has_pictures || !charts.is_empty();
        let text = self.text(has_pictures, &mut budget);
        let body = html! {
            header { h1 { (title) } }
            main {
                @if tables.is_empty() { (without_samples(&quoted)) }
                (answers)
                (pictures)
                @if !has_pictures { (text) }
                @for comparison in &comparisons { (comparison) }
                @if !quoted.is_empty() {
                    section id="quoted" {
                        h2 { "Figures from sources" }
                        (published(&quoted, &mut budget))
                    }
                }
                @if has_pictures { (text) }
                section id="provenance" {
                    h2 { "Where it comes from" }
                    (provenance(self.command, self.file, &mut budget))
                }
                (left_out(&budget))
            }
            (footer())
        };
        let page = whole(&title, &body, charts.json());
        if page.len() > MAX_BYTES { Err(ReportError::TooLarge(page.len())) } else { Ok(page) }
    }

    /// Returns the answer of each comparison with the chart that shows it, and the other charts;
    /// and true for each comparison that has an answer.
    fn answers(
        &self,
        tables: &[&Table],
        lookup: &Lookup<'_>,
        pictures: &mut Pictures<'_>,
        (charts, budget): (&mut Charts, &mut Budget),
    ) -> (Markup, Vec<bool>) {
        let each = tables.iter().enumerate().map(|(index, of)| {
            let drawn = Drawn::new(&of.comparison, lookup);
            let Answer { first, behind } = answer(&drawn);
            let Panels { mut lead, mut open, folded } = drawn.panels(budget);
            // Steps and maps say more than marks.
            let pictures_lead = index == 0 && (lead.is_none() || pictures.tell_most());
            if pictures_lead {
                open.splice(0..0, lead.take());
            }
            let lead = match lead {
                _ if pictures_lead => pictures.lead(charts, budget),
                Some(panel) => panel.markup(charts),
                None => html! {},
            };
            let said = html! {
                @if index == 0 {
                    @for sentence in self.answer {
                        p.finding.answered { (sentence) }
                    }
                    (searches(self.file))
                }
                (first)
                (lead)
                @if !behind.0.is_empty() {
                    details { summary { "The figures behind it" } (behind) }
                }
            };
            let charts = html! {
                @for panel in open {
                    section { h2 { (panel.title) } (panel.markup(charts)) }
                }
                @for panel in folded {
                    details.charts { summary { h2 { (panel.title) } } (panel.markup(charts)) }
                }
            };
            [said, charts]
        });
        let each: Vec<[Markup; 2]> = each.collect();
        let says: Vec<bool> = each.iter().map(|[said, _]| !said.0.is_empty()).collect();
        let answers = html! {
            @for (index, ([said, charts], of)) in each.iter().zip(tables).enumerate() {
                @if says[index] {
                    section.answer id=(verdict_id(index))
                        aria-label=(format!("Verdict: {}", of.title)) {
                        @if index > 0 { h2 { (of.title) } }
                        (said)
                    }
                }
                @if index == 0 { (contents(tables, &says)) }
                (charts)
            }
        };
        (answers, says)
    }

    /// Returns the titles of the tables with an answer, or else the names of the scenarios.
    fn title(&self, tables: &[&Table], says: &[bool]) -> String {
        let titles: Vec<String> = match tables {
            [] => {
                let names: BTreeSet<&str> = self.file.records().map(|of| &*of.scenario).collect();
                names.into_iter().map(str::to_owned).collect()
            }
            _ => {
                let told = tables.iter().zip(says).filter(|(_, says)| **says);
                told.map(|(table, _)| table.title.clone()).collect()
            }
        };
        crate::text::first(&titles, 2, "; ")
    }

    /// Returns the text that the command printed, which is folded where there are pictures.
    fn text(&self, is_folded: bool, budget: &mut Budget) -> Markup {
        let text = self.printed.unwrap_or("");
        if text.len() > PRINTED {
            budget.note("What the command printed is too long to be shown here.".to_owned());
        }
        html! {
            @if !text.is_empty() && text.len() <= PRINTED {
                section id="printed" {
                    h2 { "As it was printed" }
                    details open[!is_folded] {
                        summary { "The text" }
                        pre tabindex="0" { (text) }
                    }
                }
            }
        }
    }
}

/// Returns the answer of a page without samples: figures from sources, or nothing.
fn without_samples(quoted: &[(&Record, &Metric)]) -> Markup {
    html! {
        section.answer id="verdict" aria-label="Verdict" {
            @if quoted.is_empty() {
                p.finding { "No samples: there is nothing to compare." }
            } @else {
                p.finding { "Nothing ran: these are figures from sources." }
                p.reading { "Below they are as printed, and in a table with their sources." }
            }
        }
    }
}

/// Returns the metrics that are quoted from sources.
fn quoted(file: &RecordFile) -> Vec<(&Record, &Metric)> {
    let all = file.records().flat_map(|record| record.metrics.iter().map(move |of| (record, of)));
    let is_quoted = |(record, metric): &(&Record, &Metric)| match metric.told() {
        Told::Values(_) => record.ground == Ground::Published,
        Told::Bound(_) | Told::Claim(_) => true,
        Told::Activities(_) | Told::Series(_) | Told::Matrix(_) | Told::Sequence(_) => false,
    };
    all.filter(is_quoted).collect()
}

fn footer() -> Markup {
    html! {
        footer {
            p { "This file needs no network. It has no cookies and sends nothing." }
            details {
                summary { "Licences of what draws the charts" }
                pre tabindex="0" { (assets::LICENCES) }
            }
        }
    }
}

fn verdict_id(index: usize) -> String {
    if index == 0 { "verdict".to_owned() } else { format!("verdict{index}") }
}

/// Lists the parts of the page; `says` has true for a table with an answer.
fn contents(tables: &[&Table], says: &[bool]) -> Markup {
    html! {
        nav aria-label="Parts of this page" {
            @for (index, table) in tables.iter().enumerate().take(12) {
                @if index > 0 && says[index] {
                    a href=(format!("#{}", verdict_id(index))) { (table.title) } " "
                }
            }
            @for (index, table) in tables.iter().enumerate().take(12) {
                a href=(format!("#comparison{index}")) { "Table: " (table.title) } " "
            }
            a href="#provenance" { "Where it comes from" }
        }
    }
}

/// Lists the content that the page does not show.
fn left_out(budget: &Budget) -> Markup {
    let notes = budget.left_out();
    html! {
        @if !notes.is_empty() {
            section id="left-out" {
                h2 { "What is thinned or left out" }
                p { "Medians, intervals and tests are always of all samples." }
                ul { @for note in notes.iter().take(60) { li { (note) } } }
                @if notes.len() > 60 { p { "And " (notes.len() - 60) " more of the same." } }
            }
        }
    }
}

fn whole(title: &str, body: &Markup, data: String) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "pageout: " (title) }
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                (body)
                script type="application/json" id="charts" { (PreEscaped(data)) }
                script { (PreEscaped(assets::CHARTS)) }
                script { (PreEscaped(assets::SCRIPT)) }
            }
        }
    };
    page.into_string()
}
