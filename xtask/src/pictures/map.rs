//! A program's pages over time, by address: used, reclaimed, and back after reclaim.

use anyhow::{Context, Result};
use pageout_record::schema::{Matrix, Record};

use super::axis::Axis;
use super::svg::{EDGE, LINE, Svg, WIDTH, width};

/// The opacities of cells by the share of a cell's pages: of those used, and of events.
const USED: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
const EVENTS: [f64; 4] = [0.55, 0.7, 0.85, 1.0];
/// The minimum height at which a part of the program has its name beside it.
const NAMED: f64 = 14.0;

/// A layer of a map.
struct Layer {
    class: &'static str,
    name: &'static str,
    metric: &'static str,
    opacities: [f64; 4],
    /// The part of a cell's width that it fills.
    part: [f64; 2],
}

/// The layers of a map. A cell's left half shows pages reclaimed, its right half pages used again
/// afterwards.
const LAYERS: [Layer; 3] = [
    Layer { class: "used", name: "used", metric: "pages used", opacities: USED, part: [0.0, 1.0] },
    Layer {
        class: "gone",
        name: "reclaimed",
        metric: "pages reclaimed, by place",
        opacities: EVENTS,
        part: [0.0, 0.5],
    },
    Layer {
        class: "back",
        name: "came back",
        metric: "pages used again after reclaim",
        opacities: EVENTS,
        part: [0.5, 1.0],
    },
];

/// Draws the map of a run, and the key of its colours before it.
pub(super) fn draw(svg: &mut Svg, run: &Record, height: f64) -> Result<()> {
    let matrix = |name: &str| {
        let metric = run.metric(name);
        metric.and_then(|metric| metric.matrix.as_deref()).with_context(|| name.to_owned())
    };
    svg.bottom += LINE;
    let mut place = EDGE;
    for Layer { class, name, .. } in LAYERS {
        svg.rect(class, [place, svg.bottom - 14.0, 11.0, 11.0]);
        svg.text("", (place + 16.0, svg.bottom - 4.0), name);
        place += width("", name) + 40.0;
    }
    svg.text("quiet", (EDGE, svg.bottom + LINE - 4.0), "address ↑");
    svg.bottom += LINE;
    let parts = &matrix(LAYERS[0].metric)?.y.parts;
    let right = parts.iter().map(|part| width("", &part.name)).fold(0.0, f64::max);
    let room = [EDGE, svg.bottom, WIDTH - 2.0 * EDGE - right - 14.0, height];
    frame(svg, matrix(LAYERS[0].metric)?, room);
    for Layer { class, metric, opacities, part: [from, to], .. } in LAYERS {
        let mut by_opacity: [Vec<[f64; 4]>; 4] = Default::default();
        for ([x, y, width, height], share) in cells(matrix(metric)?, room) {
            let bucket = (share.sqrt() * opacities.len() as f64).ceil() as usize;
            let cell = [x + from * width, y, (to - from) * width, height];
            by_opacity[bucket.clamp(1, opacities.len()) - 1].push(cell);
        }
        for (opacity, cells) in opacities.into_iter().zip(by_opacity) {
            svg.cells(class, opacity, &cells);
        }
    }
    Ok(())
}

fn axes(of: &Matrix, [left, top, width, height]: [f64; 4]) -> (Axis, Axis) {
    let axis = |edges: &[f64]| {
        let numbers = (edges[0], edges[edges.len() - 1]);
        Axis { name: "", numbers, pixels: (0.0, 1.0), is_log: false }
    };
    let x = axis(&of.x.edges).over(left, left + width);
    (x, axis(&of.y.edges).over(top + height, top))
}

/// Returns the cells that are not empty, each with the share of its pages that it counts: in the
/// mean of its epochs, at most 1.
fn cells(of: &Matrix, room: [f64; 4]) -> impl Iterator<Item = ([f64; 4], f64)> {
    let (x, y) = axes(of, room);
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

/// Draws the map's frame and the names of the program's parts.
fn frame(svg: &mut Svg, of: &Matrix, room: [f64; 4]) {
    let [left, top, width, height] = room;
    let (_, y) = axes(of, room);
    let right = left + width;
    let corners = [(left, top), (right, top), (right, top + height), (left, top + height)];
    svg.path("line", &[&corners[..], &corners[..1]].concat());
    svg.text("quiet end", (right, top + height + LINE - 2.0), "time →");
    let ends = of.y.parts.iter().skip(1).map(|next| next.start).chain([y.numbers.1]);
    for (part, end) in of.y.parts.iter().zip(ends) {
        let (bottom, top) = (y.at(part.start), y.at(end));
        svg.path("line", &[(right, top), (right + 6.0, top)]);
        if bottom - top >= NAMED {
            svg.text("", (right + 10.0, (bottom + top) / 2.0 + 4.0), &part.name);
        }
    }
    svg.bottom = top + height + LINE + 6.0;
}
