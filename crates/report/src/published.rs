//! Figures that are quoted from sources.

use crate::budget::Budget;
use crate::text::variant;
use maud::{Markup, html};
use pageout_record::render::said;
use pageout_record::schema::{Metric, Record};

/// Returns a table of quoted figures.
pub(crate) fn published(of: &[(&Record, &Metric)], budget: &mut Budget) -> Markup {
    let fitting = budget.rows(of.len(), 6);
    if fitting < of.len() {
        budget.note(format!("{fitting} of {} quoted figures are in their table.", of.len()));
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table: quoted figures" {
            table {
                caption { "Quoted: nothing of it ran here." }
                thead {
                    tr {
                        @for title in ["scenario", "fields", "variant", "figure"] {
                            th scope="col" { (title) }
                        }
                        th.number scope="col" { "says" }
                        th scope="col" { "unit" }
                        th scope="col" { "source" }
                    }
                }
                tbody {
                    @for (record, metric) in &of[..fitting] {
                        tr {
                            td { (record.scenario) }
                            td {
                                @for (name, value) in &record.fields {
                                    div { (name) ": " (value) }
                                }
                            }
                            td { (variant(&record.variant)) }
                            th scope="row" { (metric.name) }
                            td.number { (said(metric)) }
                            td { (metric.unit) }
                            td.source { (metric.source.as_deref().unwrap_or("")) }
                        }
                    }
                }
            }
        }
    }
}
