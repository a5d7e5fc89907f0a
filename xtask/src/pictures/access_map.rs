//! A program's pages over time, with what reclaim took and what came back; below it the miss ratios
//! of its trace by memory.

use anyhow::{Context, Result};
use pageout_record::schema::{Matrix, Record};

use super::curve;
use super::svg::{Scale, Svg};

/// The place of the map.
const MAP: [f64; 4] = [60.0, 56.0, 620.0, 336.0];
/// The opacities of cells by the share of a cell's pages: of those used, and of events.
const USED: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
const EVENTS: [f64; 4] = [0.55, 0.7, 0.85, 1.0];
/// The least height of a part of the program that has its name beside it.
const NAMED: f64 = 12.0;

pub(super) fn draw(records: &[Vec<Record>]) -> Result<String> {
    let run = records[0].first().context("the run has a record")?;
    let matrix = |name: &str| {
        let metric = run.metric(name);
        metric.and_then(|metric| metric.matrix.as_deref()).with_context(|| name.to_owned())
    };
    let used = matrix("pages used")?;
    let gone = matrix("pages reclaimed, by place")?;
    let back = matrix("pages used again after reclaim")?;
    let mut svg = Svg::new(
        820,
        650,
        "The pages of SQLite over time, by address, in half of their memory: used, reclaimed, and \
         back after reclaim. Below it miss ratios by memory, with the gap to the best possible.",
    );
    svg.text("title", (16.0, 24.0), "SQLite in half of its memory: every page, over time");
    for (at, (class, name)) in
        [("used", "used"), ("gone", "reclaimed"), ("back", "came back")].into_iter().enumerate()
    {
        svg.key(class, (60.0 + 90.0 * at as f64, 46.0), name);
    }
    axes(&mut svg, used);
    // Each cell's left half shows what went, its right half what came back.
    for (class, of, opacities, [from, to]) in [
        ("used", used, USED, [0.0, 1.0]),
        ("gone", gone, EVENTS, [0.0, 0.5]),
        ("back", back, EVENTS, [0.5, 1.0]),
    ] {
        let mut by_opacity: [Vec<[f64; 4]>; 4] = Default::default();
        for ([x, y, width, height], share) in cells(of) {
            let bucket = (share.sqrt() * opacities.len() as f64).ceil() as usize;
            let cell = [x + from * width, y, (to - from) * width, height];
            by_opacity[bucket.clamp(1, opacities.len()) - 1].push(cell);
        }
        for (opacity, cells) in opacities.into_iter().zip(by_opacity) {
            svg.cells(class, opacity, &cells);
        }
    }
    svg.text("title", (16.0, 452.0), "Its misses by memory, and the gap to the best possible");
    curve::curves(&mut svg, &records[1], [60.0, 470.0, 620.0, 130.0])?;
    Ok(svg.done())
}

fn scales(of: &Matrix) -> (Scale, Scale) {
    let [left, top, width, height] = MAP;
    let ends = |edges: &[f64]| (edges[0], edges[edges.len() - 1]);
    (
        Scale { numbers: ends(&of.x.edges), pixels: (left, left + width) },
        Scale { numbers: ends(&of.y.edges), pixels: (top + height, top) },
    )
}

/// Returns the cells that are not empty, each with the share of its pages that it counts: in the
/// mean of its epochs, at most 1.
fn cells(of: &Matrix) -> impl Iterator<Item = ([f64; 4], f64)> {
    let (x, y) = scales(of);
    let rows = of.y.edges.windows(2).zip(&of.rows);
    rows.flat_map(move |(pages, row)| {
        let (bottom, top) = (y.at(pages[0]), y.at(pages[1]));
        let columns = of.x.edges.windows(2).zip(row);
        columns.filter_map(move |(epochs, value)| {
            let count = value.filter(|count| *count > 0.0)?;
            let (left, right) = (x.at(epochs[0]), x.at(epochs[1]));
            let share = count / (pages[1] - pages[0]) / (epochs[1] - epochs[0]);
            Some(([left, top, right - left, bottom - top], share.min(1.0)))
        })
    })
}

/// Draws the map's frame, its axes, and the names of the program's parts.
fn axes(svg: &mut Svg, of: &Matrix) {
    let [left, top, width, height] = MAP;
    let (_, y) = scales(of);
    let right = left + width;
    let corners = [(left, top), (right, top), (right, top + height), (left, top + height)];
    svg.path("line", &[&corners[..], &corners[..1]].concat());
    svg.text("small quiet end", (left - 8.0, top + 10.0), "high");
    svg.text("small quiet end", (left - 8.0, top + height), "low");
    svg.text("small quiet end", (left - 8.0, top + height / 2.0), "address");
    svg.text("small quiet middle", (left + width / 2.0, top + height + 18.0), "time →");
    let ends = of.y.parts.iter().skip(1).map(|next| next.start).chain([y.numbers.1]);
    for (part, end) in of.y.parts.iter().zip(ends) {
        let (bottom, top) = (y.at(part.start), y.at(end));
        svg.path("line", &[(right, top), (right + 6.0, top)]);
        if bottom - top >= NAMED {
            svg.text("small", (right + 10.0, (bottom + top) / 2.0 + 4.0), &part.name);
        }
    }
}
