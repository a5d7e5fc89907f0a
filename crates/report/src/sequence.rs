//! A sequence of steps as a diagram: a column for each actor, a row for each step.

use crate::budget::Budget;
use maud::{Markup, html};
use pageout_record::schema::{Sequence, StepKind};

/// Returns the diagram; it is a table, so that a screen reader can read it too. The command that
/// plays it again stands below.
pub(crate) fn sequence(
    title: &str,
    of: &Sequence,
    replay: Option<&str>,
    budget: &mut Budget,
) -> Markup {
    let shown = budget.rows(of.steps.len(), of.actors.len() + of.watched.len() + 1);
    if shown < of.steps.len() {
        budget.note(format!("{title}: the first {shown} of {} steps are shown.", of.steps.len()));
    }
    let broken = of.steps.iter().position(|step| step.kind == StepKind::Violation);
    html! {
        figure {
            figcaption { strong { (title) } }
            div.scroll.steps tabindex="0" role="region" aria-label=(format!("Steps: {title}")) {
                table.sequence {
                    caption {
                        @if !of.start.is_empty() { "At the start: " (of.start.join("; ")) ". " }
                        @if let Some(step) = broken { "Step " (step + 1) " breaks the property." }
                    }
                    thead {
                        tr {
                            th.number scope="col" { "step" }
                            @for actor in &of.actors { th.actor scope="col" { (actor) } }
                            @for watched in &of.watched { th scope="col" { (watched) } }
                        }
                    }
                    tbody {
                        @for number in 0..shown { (row(of, number)) }
                    }
                }
            }
            @if let Some(replay) = replay { p.reading { "To play it again: " code { (replay) } } }
        }
    }
}

/// Returns the row of a step.
fn row(of: &Sequence, number: usize) -> Markup {
    let step = &of.steps[number];
    let before = number.checked_sub(1).map(|before| &of.steps[before]);
    html! {
        tr.violation[step.kind == StepKind::Violation] {
            th.number scope="row" { (number + 1) }
            @for (index, actor) in of.actors.iter().enumerate() {
                @let acts = index == step.actor;
                td.actor.acts[acts] data-label=(actor) {
                    @if acts && step.kind == StepKind::Violation { strong { "broken: " } }
                    @if acts { (step.text) }
                }
            }
            @for (index, watched) in of.watched.iter().enumerate() {
                @let was = before.and_then(|before| before.after.get(index));
                @let is = step.after.get(index);
                td.same[was == is] data-label=(watched) { (is.map_or("", String::as_str)) }
            }
        }
    }
}
