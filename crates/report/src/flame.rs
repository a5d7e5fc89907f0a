//! Time by activity as a flame graph. It is an SVG whose positions are shares of its width, so it
//! fits every page without a script.

use crate::budget::Budget;
use crate::text::{first, with_unit};
use maud::{Markup, html};
use pageout_record::render::figure;
use pageout_record::schema::{Activity, Metric};
use std::collections::HashMap;

/// The height of a level, in pixels.
const LEVEL: usize = 20;
/// The changes, as shares of the larger value, that have a weak and a strong colour.
const WEAK: f64 = 0.02;
const STRONG: f64 = 0.25;
/// The smallest share of the whole that is drawn: smaller ones are too narrow to be seen.
const NARROW: f64 = 0.001;

/// An activity that is drawn.
struct Frame<'a> {
    path: Vec<&'a str>,
    /// The position of the frame's left edge, as a share of the whole.
    from: f64,
    own: f64,
    total: f64,
}

/// The flame graph that another is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    /// The title of the graph's variant.
    pub(crate) name: &'a str,
    pub(crate) activities: &'a [Activity],
}

/// The totals of activities by path.
type Totals<'a> = HashMap<Vec<&'a str>, f64>;

/// Draws the flame graph of one metric as a part of `widest`, coloured by growth if it has a base.
pub(crate) fn flame(
    title: &str,
    metric: &Metric,
    of: &[Activity],
    (base, widest): (Option<Base<'_>>, f64),
    budget: &mut Budget,
) -> Markup {
    let whole = sum(of);
    let frames = frames(title, of, budget);
    let levels = frames.iter().map(|frame| frame.path.len()).max().unwrap_or(0);
    let height = (levels * LEVEL).to_string();
    let number = |value| figure(metric.basis, value);
    let share = |value: f64| if whole > 0.0 { value / whole * 100.0 } else { 0.0 };
    let before = base.map(|base| (base.name, totals(base.activities)));
    let unit = &metric.unit;
    let told = match &before {
        None => format!("by themselves: {}", largest(&frames, &share)),
        Some((name, totals)) => format!("against {name}, {}", grown(&frames, totals, &number)),
    };
    let sentence = format!("{} {unit} in all; {told}.", number(whole));
    let label = format!("{title}. {sentence}");
    let scale = if widest > 0.0 { whole / widest } else { 1.0 };
    html! {
        figure.flame {
            figcaption { strong { (title) } " " span.says { (sentence) } }
            svg width="100%" height=(height) role="img" aria-label=(label) {
                @for frame in &frames {
                    @let was = before.as_ref().map(|(_, totals)| {
                        totals.get(&frame.path).copied().unwrap_or(0.0)
                    });
                    (rectangle(frame, was, (levels, scale), &share, &number, unit))
                }
            }
            details {
                summary { "Data of this flame graph" }
                div.scroll tabindex="0" role="region"
                    aria-label=(format!("Data: {title}")) {
                    table {
                        thead { tr {
                            th scope="col" { "activity" }
                            th.number scope="col" { (with_unit("in all", unit)) }
                            @if let Some((name, _)) = &before { th.number scope="col" { (name) } }
                            th.number scope="col" { (with_unit("by itself", unit)) }
                            th.number scope="col" { "share, %" }
                        } }
                        tbody { @for frame in &frames { tr {
                            th scope="row" { (frame.path.join(" › ")) }
                            td.number { (crate::text::number(metric.basis, frame.total)) }
                            @if let Some((_, totals)) = &before {
                                @let was = totals.get(&frame.path).copied().unwrap_or(0.0);
                                td.number { (crate::text::number(metric.basis, was)) }
                            }
                            td.number { (crate::text::number(metric.basis, frame.own)) }
                            td.number { (format!("{:.1}", share(frame.total))) }
                        } } }
                    }
                }
            }
        }
    }
}

/// Returns the whole of activities.
pub(crate) fn sum(of: &[Activity]) -> f64 {
    of.iter().map(Activity::total).sum()
}

/// Returns the frames that are wide enough to be seen, as far as there is room.
fn frames<'a>(title: &str, of: &'a [Activity], budget: &mut Budget) -> Vec<Frame<'a>> {
    let whole = sum(of);
    let (mut frames, mut left_out, mut from) = (Vec::new(), 0, 0.0);
    for task in of {
        add(&mut frames, &mut left_out, Vec::new(), task, from, whole);
        from += task.total();
    }
    let too_narrow = keep_widest(&mut frames, budget.activities());
    budget.took_activities(frames.len());
    if left_out > 0 {
        budget.note(format!(
            "{title}: activities of less than {} % of the whole are not drawn: {left_out}. They \
             count in what is below them.",
            NARROW * 100.0
        ));
    }
    if too_narrow > 0 {
        budget.note(format!(
            "{title}: the {} widest activities are drawn; {too_narrow} others count in what is \
             below them.",
            frames.len()
        ));
    }
    frames
}

/// Names the activities that take most by themselves.
fn largest(frames: &[Frame<'_>], share: &impl Fn(f64) -> f64) -> String {
    let mut largest: Vec<&Frame<'_>> = frames.iter().collect();
    largest.sort_by(|one, other| other.own.total_cmp(&one.own));
    let told = |frame: &&Frame<'_>| format!("{} {:.1} %", frame.path.join(" › "), share(frame.own));
    first(&largest.iter().take(4).map(told).collect::<Vec<_>>(), 4, ", ")
}

/// Names the innermost activities that grew and shrank most.
fn grown(frames: &[Frame<'_>], before: &Totals<'_>, number: &impl Fn(f64) -> String) -> String {
    let has_parts = |frame: &Frame<'_>| {
        frames
            .iter()
            .any(|other| other.path.len() > frame.path.len() && other.path.starts_with(&frame.path))
    };
    let leaves = frames.iter().filter(|frame| !has_parts(frame));
    let was = |frame: &Frame<'_>| before.get(&frame.path).copied().unwrap_or(0.0);
    let leaves = leaves.map(|frame| (frame, frame.total - was(frame)));
    // A change that is too small to be seen in the figures is none.
    let is_seen =
        |(frame, change): &(&Frame<'_>, f64)| number(frame.total) != number(frame.total - change);
    let mut leaves: Vec<_> = leaves.filter(is_seen).collect();
    leaves.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let told = |(frame, change): &(&Frame<'_>, f64)| {
        let [from, to] = [frame.total - change, frame.total].map(number);
        format!("{} {from} to {to}", frame.path.join(" › "))
    };
    let list = |told: Vec<String>| match told.len() {
        0 => "nothing".to_owned(),
        _ => told.join(", "),
    };
    let grew = leaves.iter().filter(|(_, change)| *change > 0.0).take(2).map(told).collect();
    let shrank = leaves.iter().rev().filter(|(_, change)| *change < 0.0);
    format!("most grew {}; most shrank {}", list(grew), list(shrank.take(2).map(told).collect()))
}

/// Returns the totals of all activities.
fn totals(of: &[Activity]) -> Totals<'_> {
    let mut totals = Totals::new();
    let mut left: Vec<(Vec<&str>, &Activity)> =
        of.iter().map(|of| (vec![of.name.as_str()], of)).collect();
    while let Some((path, of)) = left.pop() {
        for part in &of.parts {
            left.push(([&path[..], &[part.name.as_str()]].concat(), part));
        }
        *totals.entry(path).or_default() += of.total();
    }
    totals
}

/// Adds an activity and its parts, callers before their callees.
fn add<'a>(
    frames: &mut Vec<Frame<'a>>,
    left_out: &mut usize,
    above: Vec<&'a str>,
    activity: &'a Activity,
    start: f64,
    whole: f64,
) {
    let total = activity.total();
    if total <= 0.0 {
        return;
    }
    if total < whole * NARROW {
        *left_out += 1;
        return;
    }
    let path = [&above[..], &[activity.name.as_str()]].concat();
    frames.push(Frame { path: path.clone(), from: start / whole, own: activity.own, total });
    let mut from = start;
    for part in &activity.parts {
        add(frames, left_out, path.clone(), part, from, whole);
        from += part.total();
    }
}

/// Keeps at most `most` frames, none of them without its callers, and returns the number of removed
/// ones.
fn keep_widest(frames: &mut Vec<Frame<'_>>, most: usize) -> usize {
    let too_many = frames.len().saturating_sub(most);
    if too_many > 0 {
        // A caller is at least as wide as its callees, and among equals it stays first.
        frames.sort_by(|one, other| other.total.total_cmp(&one.total));
        frames.truncate(most);
        frames.sort_by(|one, other| {
            one.from.total_cmp(&other.from).then(one.path.len().cmp(&other.path.len()))
        });
    }
    too_many
}

/// Returns a frame: an SVG of its own, which clips its name.
fn rectangle(
    frame: &Frame<'_>,
    was: Option<f64>,
    (levels, scale): (usize, f64),
    share: &impl Fn(f64) -> f64,
    number: &impl Fn(f64) -> String,
    unit: &str,
) -> Markup {
    let level = frame.path.len() - 1;
    let name = frame.path[level];
    let colour = match was {
        None => format!("f{}", name.bytes().map(usize::from).sum::<usize>() % 4),
        Some(was) => growth(was, frame.total).to_owned(),
    };
    html! {
        svg x=(format!("{:.3}%", frame.from * 100.0 * scale)) y=((levels - level - 1) * LEVEL)
            width=(format!("{:.3}%", share(frame.total) * scale)) height=(LEVEL) {
            title {
                (frame.path.join(" › ")) ": " (number(frame.total)) " " (unit) ", "
                (format!("{:.1} %", share(frame.total))) "; by itself " (number(frame.own))
                @if let Some(was) = was { "; before " (number(was)) }
            }
            rect class=(colour) width="100%" height=(LEVEL - 1) rx="2" {}
            text x="4" y="14" { (name) }
        }
    }
}

/// Returns the colour of a change.
fn growth(before: f64, after: f64) -> &'static str {
    match (after - before) / before.max(after) {
        change if change > STRONG => "grew2",
        change if change > WEAK => "grew1",
        change if change < -STRONG => "shrank2",
        change if change < -WEAK => "shrank1",
        _ => "same",
    }
}
