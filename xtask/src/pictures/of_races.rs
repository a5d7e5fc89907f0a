//! Pictures of orders in which CPUs act.

use anyhow::{Context, Result, ensure};
use pageout_record::schema::StepKind;

use super::axis::Axis;
use super::data::Source::{self, Printed, Stored};
use super::data::{Picture, Texts};
use super::dots::{self, Dot, Row};
use super::lanes::{self, Step};
use super::svg::Svg;

/// Declares the picture of a bug that `check` finds.
macro_rules! exhibit {
    ($file:literal, $name:literal, $format:literal, $title:literal) => {
        Picture {
            file: $file,
            from: &[exhibit!($name, $format)],
            draw: |texts| counterexample(texts, exhibit!($name, $format), $title),
        }
    };
    ($name:literal, $format:literal) => {
        Printed(concat!("check --exhibit ", $name, " --format ", $format))
    };
}

const EXHIBITS: Source = Stored("crates/check/src/exhibit.rs");
const SCHEDULE: Source = Stored("docs/pictures/schedule.txt");

pub(super) const PICTURES: &[Picture] = &[
    Picture { file: "bugs.svg", from: &[EXHIBITS], draw: bugs },
    Picture { file: "schedule.svg", from: &[SCHEDULE], draw: schedule },
    exhibit!(
        "free-before-flush.svg",
        "free-before-flush",
        "arm64-small-4",
        "A page is freed while a TLB still knows it"
    ),
    exhibit!(
        "lost-write.svg",
        "unlock-before-flush",
        "x86-small",
        "A store is lost: the flusher comes before the flush"
    ),
    exhibit!(
        "stale-read.svg",
        "remove-before-flush",
        "x86-small",
        "A load returns an old value: the folio leaves its file before the flush"
    ),
];

/// The steps of the counterexample that a search found.
fn counterexample(texts: &Texts, source: Source, title: &str) -> Result<Svg> {
    let records = texts.records(source)?;
    let mut metrics = records.0.iter().flat_map(|record| &record.metrics);
    let sequence = metrics.find_map(|metric| metric.sequence.as_deref());
    let sequence = sequence.context("the search found a counterexample")?;
    let shows = "Found by search on the engine with this bug, in a page table of few entries";
    let mut svg = Svg::new(title, shows);
    lanes::start(&mut svg, &format!("at the start {}", sequence.start.join("; ")));
    let mut steps = Vec::new();
    for (at, step) in sequence.steps.iter().enumerate() {
        let is_bad = step.kind == StepKind::Violation;
        let mark = if is_bad { "✗".to_owned() } else { format!("{}", at + 1) };
        steps.push(Step { actor: step.actor, mark, text: step.text.clone(), is_bad });
    }
    lanes::draw(&mut svg, &sequence.actors, &steps);
    Ok(svg)
}

/// Draws the maximum length, in steps, that each injected bug declares for its counterexample.
fn bugs(texts: &Texts) -> Result<Svg> {
    let mut rows: Vec<Row> = Vec::new();
    for line in texts.text(EXHIBITS)?.lines() {
        if let Some(name) = line.trim().strip_prefix("name: \"") {
            let name = name.trim_end_matches("\",").to_owned();
            rows.push(Row { name, dots: Vec::new() });
        }
        let formats = line.trim().strip_prefix("formats: &[(\"");
        let Some(row) = rows.last_mut().filter(|_| formats.is_some()) else { continue };
        for format in formats.into_iter().flat_map(|formats| formats.split("(\"")) {
            let (name, steps) = format.split_once("\", ").context("a format and its steps")?;
            let value = steps.split(')').next().unwrap_or_default().parse()?;
            let (series, class) = match name.split('-').next() {
                Some("arm64") => ("arm64", "b"),
                Some("x86") => ("x86", "c"),
                _ => ("riscv", "d"),
            };
            row.dots.push(Dot { series, class, value, range: None });
        }
    }
    rows.retain(|row| row.dots.iter().any(|dot| dot.value > 0.0));
    ensure!(!rows.is_empty(), "no exhibit has steps");
    rows.sort_by(|a, b| a.dots[0].value.total_cmp(&b.dots[0].value));
    let mut svg = Svg::new(
        "Injected bugs show in few steps",
        "Steps of the counterexample that `pageout check` finds, at most, by bug",
    );
    let all = dots::values(&rows);
    dots::draw(&mut svg, Axis::linear("steps", all), &rows, None);
    Ok(svg)
}

/// The turns of CPUs in a run of a real kernel that lost a write, as `lab schedule` printed them.
fn schedule(texts: &Texts) -> Result<Svg> {
    let printed = texts.text(SCHEDULE)?.lines().skip_while(|line| !line.contains("us  CPU"));
    let mut steps: Vec<Step> = Vec::new();
    for line in printed.skip(1).take_while(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((time, rest)) =
            words.split_first().filter(|(t, rest)| rest.len() > CPUS && t.parse::<f64>().is_ok())
        else {
            // A line without a time goes on with the step before it.
            let step = steps.last_mut().context("a step comes first")?;
            step.text = format!("{} {}", step.text, words.join(" "));
            continue;
        };
        let (lanes, text) = rest.split_at(rest.len().min(CPUS));
        let actor = lanes.iter().position(|lane| *lane != ".").context("a CPU acts")?;
        let text = text.join(" ");
        let is_bad = text.starts_with("stored");
        steps.push(Step { actor, mark: format!("{time} us"), text, is_bad });
    }
    let mut svg = Svg::new(
        "Waits at the right moments, and Linux 7.3.4 loses a store",
        "Time and CPU of each step under QEMU, as the smallest failing schedule has them",
    );
    let actors: Vec<String> = (0..CPUS).map(|cpu| format!("CPU {cpu}")).collect();
    lanes::draw(&mut svg, &actors, &steps);
    Ok(svg)
}

/// The number of CPUs of the machine whose schedule is drawn.
const CPUS: usize = 3;
