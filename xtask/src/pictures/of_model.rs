//! Pictures of modelled machines: times that are computed from prices.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use pageout_machine::platform::{Draw, Lever, Platform};
use pageout_record::schema::Labels;

use super::axis::Axis;
use super::bars::{self, Bar};
use super::data::Source::{self, Printed};
use super::data::{Picture, Texts, label, quartiles};
use super::dots::{self, Dot, Row};
use super::lines::{self, Line, Panel};
use super::svg::Svg;

const STAGES: Source = Printed(
    "compare reclaim-file order=4 size=4MiB --ground model --draws 0 --platform kunpeng-920-class",
);
const FLUSHES: Source =
    Printed("sweep flush --platform kunpeng-920-class --processes 1 --cores 1,2,4,8,16,32,64,96");
const THREADS: Source = Printed("reproduce --quick");

pub(super) const PICTURES: &[Picture] = &[
    Picture { file: "stages.svg", from: &[STAGES], draw: stages },
    Picture { file: "flushes.svg", from: &[FLUSHES], draw: flushes },
    Picture { file: "threads.svg", from: &[THREADS], draw: threads },
    Picture { file: "prices.svg", from: &[], draw: prices },
];

/// The time of a reclaim by its stages, for each variant.
fn stages(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "Batches take the wait in unmap away",
        "Reclaim of a file in 64K folios, ns for each 4K page, modelled for an arm64 server",
    );
    let kinds = [("a", "rmap walk"), ("b", "young"), ("c", "unmap"), ("d", "the rest")];
    let mut bars = Vec::new();
    for record in texts.records(STAGES)?.with(&[("order", "4")]).0 {
        let stage = |name: &str| Ok::<_, anyhow::Error>(quartiles(&record, name)?[1]);
        let rest = stage("flush")? + stage("cache removal")? + stage("free")?;
        bars.push(Bar {
            name: variant(&record.variant).to_owned(),
            parts: vec![stage("rmap walk")?, stage("young")?, stage("unmap")?, rest],
            end: format!("{:.0}", stage("whole reclaim")?),
        });
    }
    bars::draw(&mut svg, &kinds, &bars);
    Ok(svg)
}

/// Returns a variant's name in the field's words.
fn variant(variant: &Labels) -> &'static str {
    let choice = |axis: &str| variant.get(axis).map(String::as_str);
    match (choice("young"), choice("unmap")) {
        (Some("per-entry"), _) => "before",
        (Some("batched"), Some("per-entry")) => "batched young",
        (Some("batched"), _) => "+ batched unmap",
        _ => "line (ours)",
    }
}

/// The time of invalidations by the cores of a machine, at once and for a batch.
fn flushes(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "The more cores, the more one flush for a batch saves",
        "Invalidating and waiting, ns for each reclaimed 4K page, modelled for an arm64 server",
    );
    let records = texts.records(FLUSHES)?;
    let mut lines = Vec::new();
    for (shootdown, name, class) in [("immediate", "at once", "c"), ("deferred", "deferred", "b")] {
        let mut points = Vec::new();
        for record in records.0.iter().filter(|record| label(record, "shootdown") == shootdown) {
            let time = quartiles(record, "invalidating and waiting")?[1];
            points.push((label(record, "cores").parse::<f64>()?, time));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        lines.push(Line { name, class, points });
    }
    let cores = lines.iter().flat_map(|line| &line.points).map(|(cores, _)| *cores);
    let below = Axis::between("cores, of which all but one run the program", cores);
    lines::draw(&mut svg, below, 200.0, &[Panel { lines, ..Panel::default() }]);
    Ok(svg)
}

/// The ratios of the threads beside the model's.
fn threads(texts: &Texts) -> Result<Svg> {
    let records = texts.records(THREADS)?;
    let mut rows = BTreeMap::<&str, Row>::new();
    for record in &records.0 {
        let figure = label(record, "figure");
        let Some(ratio) = record.metric("ratio") else { continue };
        let bound = ratio.bound.as_ref().and_then(|bound| bound.at_least);
        let Some(value) = ratio.values.first().copied().or(bound) else { continue };
        let (series, class, range) = match (label(record, "label"), &ratio.interval) {
            ("predicted", Some(interval)) => {
                ("the model", "b", Some((interval.low, interval.high)))
            }
            _ if label(record, "said") == "claimed" => ("the thread", "c", None),
            _ => continue,
        };
        let row = rows.entry(figure).or_default();
        figure.clone_into(&mut row.name);
        row.dots.push(Dot { series, class, value, range });
    }
    let mut rows: Vec<Row> = rows.into_values().filter(|row| row.dots.len() == 2).collect();
    rows.sort_by(|a, b| b.dots[0].value.total_cmp(&a.dots[0].value));
    let mut svg = Svg::new(
        "Published gains lie near those that the model predicts",
        "Time before over time after a change, from the threads (S0's of x86: at least) and \
         modelled; line: nine of ten draws of prices",
    );
    let all = rows.iter().flat_map(|row| &row.dots).flat_map(|dot| {
        let (low, high) = dot.range.unwrap_or((dot.value, dot.value));
        [low, high]
    });
    let axis = Axis::log("times faster (logarithmic)", all);
    dots::draw(&mut svg, axis, &rows, Some((1.0, "")));
    Ok(svg)
}

/// The prices that decisions turn on, by platform.
fn prices(_: &Texts) -> Result<Svg> {
    let levers = [
        (Lever::Flush, "make a core forget, and wait"),
        (Lever::Atomic, "an atomic on an entry"),
        (Lever::Instruction, "a kernel instruction"),
    ];
    let mut rows = Vec::new();
    for (lever, name) in levers {
        rows.push(Row { name: name.to_owned(), dots: Vec::new() });
        for platform in Platform::names() {
            let machine = Platform::named(platform).context("a shipped platform")?;
            let cores = machine.shape().cores;
            let value = lever.time(&machine.prices(Draw::Nominal), cores).ns();
            let [low, high] = machine.range_of(lever, cores).map(|time| time.ns());
            let dot = Dot { series: "", class: "b", value, range: Some((low, high)) };
            let name = platform.trim_end_matches("-class").to_owned();
            rows.push(Row { name, dots: vec![dot] });
        }
    }
    let mut svg = Svg::new(
        "To make other cores forget is by far the dearest",
        "Prices of shipped platforms, mostly guessed; line: nine of ten draws",
    );
    let ranges = rows.iter().flat_map(|row| &row.dots).filter_map(|dot| dot.range);
    let axis = Axis::log("ns (logarithmic)", ranges.flat_map(|(low, high)| [low, high]));
    dots::draw(&mut svg, axis, &rows, None);
    Ok(svg)
}
