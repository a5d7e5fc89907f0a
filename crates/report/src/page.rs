//! The page as a whole.

use crate::budget::Budget;
use crate::chart::Charts;
use crate::charts::{Drawn, matrix, series};
use crate::flame::flame;
use crate::lookup::Lookup;
use crate::provenance::provenance;
use crate::published::published;
use crate::sequence::sequence;
use crate::table::table;
use crate::verdict::{searches, verdict};
use crate::{MAX_BYTES, ReportError, Table, assets, sizes};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pageout_record::chart::Naming;
use pageout_record::compare::Declarations;
use pageout_record::schema::{Metric, Record, RecordFile, Told};

/// The most tables of a page.
const TABLES: usize = 200;
/// The most pictures of each kind of metric that has no samples.
const PICTURES: usize = 40;
/// The most bytes of printed text on a page.
const PRINTED: usize = 400_000;

/// The content of a page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The command that made it.
    pub command: &'a str,
    /// All records.
    pub file: &'a RecordFile,
    /// The requested comparisons of them. Records that are in none of these get tables of their
    /// own.
    pub tables: &'a [Table],
    /// The declarations of the scenarios' metrics.
    pub declared: &'a Declarations,
    /// The text that the command printed, if it has more than these tables.
    pub printed: Option<&'a str>,
}

/// The metrics that have no samples.
#[derive(Default)]
struct Pictures<'a> {
    quoted: Vec<(&'a Record, &'a Metric)>,
    drawn: Vec<(&'a Record, &'a Metric)>,
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
        let drawn: Vec<Drawn<'_>> =
            tables.iter().map(|table| Drawn::new(&table.comparison, &lookup)).collect();
        let pictures = pictures(self.file);
        let comparisons = tables.iter().zip(&drawn).enumerate().map(|(index, (of, drawn))| {
            html! {
                section id=(format!("comparison{index}")) {
                    h2 { (of.title) }
                    (table(&of.comparison, &of.title, index, &mut budget))
                    (drawn.markup(&mut charts, &mut budget))
                }
            }
        });
        let comparisons: Vec<Markup> = comparisons.collect();
        let drawn_pictures = pictures.markup(&mut charts, &mut budget);
        let origin = provenance(self.command, self.file, &mut budget);
        let body = html! {
            header {
                h1 { "pageout: " (title(&tables)) }
                (contents(&tables))
            }
            main {
                (self.verdicts(&tables, &drawn, !pictures.quoted.is_empty()))
                section id="provenance" {
                    h2 { "Where it comes from" }
                    (origin)
                }
                @for comparison in &comparisons { (comparison) }
                (drawn_pictures)
                @if !pictures.quoted.is_empty() {
                    section id="quoted" {
                        h2 { "Figures from sources" }
                        (published(&pictures.quoted, &mut budget))
                    }
                }
                (self.text(&mut budget))
                (left_out(&budget))
            }
            footer {
                p { "This file needs no network. It has no cookies and sends nothing." }
                details {
                    summary { "Licences of what draws the charts" }
                    pre tabindex="0" { (assets::LICENCES) }
                }
            }
        };
        let page = whole(&title(&tables), &body, charts.json());
        if page.len() > MAX_BYTES { Err(ReportError::TooLarge(page.len())) } else { Ok(page) }
    }

    /// Returns the results of searches, and the verdict of each comparison.
    fn verdicts(&self, tables: &[&Table], drawn: &[Drawn<'_>], quotes: bool) -> Markup {
        html! {
            section id="verdict" {
                h2 { "Verdict" }
                (searches(self.file))
                @for (of, drawn) in tables.iter().zip(drawn) {
                    @let verdict = verdict(drawn);
                    @if tables.len() > 1 && !verdict.0.is_empty() { h3 { (of.title) } }
                    (verdict)
                }
                @if tables.is_empty() && quotes {
                    p { "Nothing ran: these are figures from sources." }
                } @else if tables.is_empty() {
                    p { "No samples: there is nothing to compare." }
                }
            }
        }
    }

    /// Returns the text that the command printed.
    fn text(&self, budget: &mut Budget) -> Markup {
        let text = self.printed.unwrap_or("");
        if text.len() > PRINTED {
            budget.note("What the command printed is too long to be shown here.".to_owned());
        }
        html! {
            @if !text.is_empty() && text.len() <= PRINTED {
                section id="printed" {
                    h2 { "As it was printed" }
                    details {
                        summary { "The text" }
                        pre tabindex="0" { (text) }
                    }
                }
            }
        }
    }
}

/// Sorts metrics by their kind of value; samples are in the tables.
fn pictures(file: &RecordFile) -> Pictures<'_> {
    let mut pictures = Pictures::default();
    for record in file.records() {
        for metric in &record.metrics {
            let quoted = record.ground == pageout_record::schema::Ground::Published;
            match metric.told() {
                Told::Values(_) if !quoted => {}
                Told::Values(_) | Told::Bound(_) | Told::Claim(_) => {
                    pictures.quoted.push((record, metric));
                }
                Told::Activities(_) | Told::Series(_) | Told::Matrix(_) | Told::Sequence(_) => {
                    pictures.drawn.push((record, metric));
                }
            }
        }
    }
    pictures
}

impl Pictures<'_> {
    fn markup(&self, charts: &mut Charts, budget: &mut Budget) -> Markup {
        let kinds = [
            ("Time by activity", "activities"),
            ("Over time", "series"),
            ("Maps", "matrix"),
            ("Step by step", "sequence"),
        ];
        let naming = Naming::of(&self.drawn);
        html! {
            @for (title, kind) in kinds {
                @let of_kind = self.drawn.iter().filter(|(_, metric)| metric.told().name() == kind);
                @let of_kind = of_kind.collect::<Vec<_>>();
                @if !of_kind.is_empty() {
                    section id=(kind) {
                        h2 { (title) }
                        @for (record, metric) in of_kind.iter().take(PICTURES) {
                            (picture(naming.title(record, metric), metric, charts, budget))
                        }
                    }
                }
                @if of_kind.len() > PICTURES {
                    (left(title, of_kind.len(), budget))
                }
            }
        }
    }
}

fn left(title: &str, all: usize, budget: &mut Budget) -> Markup {
    budget.note(format!("{title}: {PICTURES} of {all} pictures are drawn."));
    html! {}
}

/// Draws a metric that has no samples.
fn picture(title: String, metric: &Metric, charts: &mut Charts, budget: &mut Budget) -> Markup {
    match metric.told() {
        Told::Activities(of) => flame(&title, metric, of, budget),
        Told::Series(of) => charts.figure(series(title, metric, of, budget)),
        Told::Matrix(of) => charts.figure(matrix(title, metric, of, budget)),
        Told::Sequence(of) => html! { h3 { (title) } (sequence(&title, of, budget)) },
        Told::Values(_) | Told::Bound(_) | Told::Claim(_) => {
            unreachable!("samples and quotes are in tables")
        }
    }
}

fn title(tables: &[&Table]) -> String {
    let titles: Vec<String> = tables.iter().map(|table| table.title.clone()).collect();
    if titles.is_empty() { "report".to_owned() } else { crate::text::first(&titles, 2, "; ") }
}

fn contents(tables: &[&Table]) -> Markup {
    html! {
        nav aria-label="Parts of this page" {
            a href="#verdict" { "Verdict" }
            " " a href="#provenance" { "Where it comes from" }
            @for (index, table) in tables.iter().enumerate().take(12) {
                " " a href=(format!("#comparison{index}")) { (table.title) }
            }
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
