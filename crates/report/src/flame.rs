//! Time by activity as a flame graph. It is an SVG whose positions are shares of its width, so it
//! fits every page without a script.

use crate::budget::Budget;
use crate::text::{first, with_unit};
use maud::{Markup, html};
use pageout_record::render::figure;
use pageout_record::schema::{Activity, Metric};

/// The height of a level, in pixels.
const LEVEL: usize = 20;
/// The least share of the whole that is drawn: smaller ones are too narrow to be seen.
const NARROW: f64 = 0.001;

/// An activity that is drawn.
struct Frame<'a> {
    path: Vec<&'a str>,
    /// The position of its left edge, as a share of the whole.
    from: f64,
    own: f64,
    total: f64,
}

/// Draws the flame graph of one metric.
pub(crate) fn flame(title: &str, metric: &Metric, of: &[Activity], budget: &mut Budget) -> Markup {
    let whole: f64 = of.iter().map(Activity::total).sum();
    let mut frames = Vec::new();
    let mut left_out = 0;
    let mut from = 0.0;
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
    let levels = frames.iter().map(|frame| frame.path.len()).max().unwrap_or(0);
    let height = (levels * LEVEL).to_string();
    let number = |value| figure(metric.basis, value);
    let share = |value: f64| if whole > 0.0 { value / whole * 100.0 } else { 0.0 };
    let mut largest: Vec<&Frame<'_>> = frames.iter().collect();
    largest.sort_by(|one, other| other.own.total_cmp(&one.own));
    let told = |frame: &&Frame<'_>| format!("{} {:.1} %", frame.path.join(" › "), share(frame.own));
    let told: Vec<String> = largest.iter().take(4).map(told).collect();
    let unit = &metric.unit;
    let sentence =
        format!("{} {unit} in all; by themselves: {}.", number(whole), first(&told, 4, ", "));
    let label = format!("{title}. {sentence}");
    html! {
        figure.flame {
            figcaption { strong { (title) } " " span.says { (sentence) } }
            svg width="100%" height=(height) role="img" aria-label=(label) {
                @for frame in &frames {
                    (rectangle(frame, levels, &share, &number, unit))
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
                            th.number scope="col" { (with_unit("by itself", unit)) }
                            th.number scope="col" { "share, %" }
                        } }
                        tbody { @for frame in &frames { tr {
                            th scope="row" { (frame.path.join(" › ")) }
                            td.number { (crate::text::number(metric.basis, frame.total)) }
                            td.number { (crate::text::number(metric.basis, frame.own)) }
                            td.number { (format!("{:.1}", share(frame.total))) }
                        } } }
                    }
                }
            }
        }
    }
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
    levels: usize,
    share: &impl Fn(f64) -> f64,
    number: &impl Fn(f64) -> String,
    unit: &str,
) -> Markup {
    let level = frame.path.len() - 1;
    let name = frame.path[level];
    let colour = name.bytes().map(usize::from).sum::<usize>() % 4;
    html! {
        svg x=(format!("{:.3}%", frame.from * 100.0)) y=((levels - level - 1) * LEVEL)
            width=(format!("{:.3}%", share(frame.total))) height=(LEVEL) {
            title {
                (frame.path.join(" › ")) ": " (number(frame.total)) " " (unit) ", "
                (format!("{:.1} %", share(frame.total))) "; by itself " (number(frame.own))
            }
            rect class=(format!("f{colour}")) width="100%" height=(LEVEL - 1) rx="2" {}
            text x="4" y="14" { (name) }
        }
    }
}
