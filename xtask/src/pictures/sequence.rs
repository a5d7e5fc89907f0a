//! The steps of a counterexample, with a lane for each actor.

use anyhow::{Context, Result};
use pageout_record::schema::{Record, StepKind};
use textwrap::{WordSplitter, WrapAlgorithm};

use super::svg::Svg;

const TOP: f64 = 64.0;
const STEP: f64 = 46.0;
const LANE: f64 = 380.0;
/// The most characters of a line in a box.
const LINE: usize = 51;

pub(super) fn draw(records: &[Vec<Record>]) -> Result<String> {
    let mut metrics = records[0].iter().flat_map(|record| &record.metrics);
    let sequence = metrics.find_map(|metric| metric.sequence.as_deref());
    let sequence = sequence.context("the search found a counterexample")?;
    let height = TOP + STEP * sequence.steps.len() as f64 + 8.0;
    let about: Vec<&str> = sequence.steps.iter().map(|step| step.text.as_str()).collect();
    let mut svg = Svg::new(820, height as u32, &about.join("; "));
    svg.text("small quiet", (16.0, 20.0), &sequence.start.join("; "));
    for (lane, actor) in sequence.actors.iter().enumerate() {
        let left = 20.0 + LANE * lane as f64;
        svg.text("title", (left, 46.0), actor);
        let middle = left + 6.0;
        svg.path("line", &[(middle, TOP - 8.0), (middle, height - 16.0)]);
    }
    let options = textwrap::Options::new(LINE)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    for (at, step) in sequence.steps.iter().enumerate() {
        let (x, y) = (20.0 + LANE * step.actor as f64, TOP + STEP * at as f64);
        let lines = textwrap::wrap(&step.text, &options);
        svg.rect("box", [x, y, LANE - 20.0, STEP - 8.0]);
        let number = match step.kind {
            StepKind::Step => format!("{}", at + 1),
            StepKind::Violation => {
                let (right, bottom) = (x + LANE - 20.0, y + STEP - 8.0);
                let corners = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)];
                svg.path("sbad", &corners);
                "✗".to_owned()
            }
        };
        svg.text("title", (x + 8.0, y + 24.0), &number);
        let first = y + if lines.len() > 1 { 16.0 } else { 23.0 };
        for (line, text) in lines.iter().enumerate() {
            svg.text("small", (x + 28.0, first + 14.0 * line as f64), text);
        }
    }
    Ok(svg.done())
}
