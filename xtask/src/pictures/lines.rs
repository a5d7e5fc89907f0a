//! Lines over an axis, in one panel or in several with one axis below them.

use super::axis::{Axis, number};
use super::svg::{EDGE, LINE, Svg, WIDTH, width};

const LEFT: f64 = 62.0;

/// Lines with a text about them.
#[derive(Default)]
pub(super) struct Panel {
    pub(super) name: String,
    /// The text of the panel's own axis.
    pub(super) y: &'static str,
    pub(super) lines: Vec<Line>,
    /// The points up to which the panel is shaded, from its first line on.
    pub(super) above_first: Option<Vec<(f64, f64)>>,
}

/// A line with its name, which stands at its end.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Draws the panels, each `height` pixels high.
pub(super) fn draw(svg: &mut Svg, below: Axis, height: f64, panels: &[Panel]) {
    let all = || panels.iter().flat_map(|panel| &panel.lines);
    let right = all().map(|line| width("strong", line.name)).fold(0.0, f64::max);
    let ends = (LEFT, WIDTH - EDGE - right - 12.0);
    let x = below.over(ends.0, ends.1);
    for panel in panels {
        draw_panel(svg, x, ends, height, panel);
    }
    for tick in x.ticks() {
        svg.text("quiet middle", (x.at(tick), svg.bottom + LINE - 2.0), &number(tick));
    }
    svg.text("quiet middle", ((ends.0 + ends.1) / 2.0, svg.bottom + 2.0 * LINE), x.name);
    svg.bottom += 2.0 * LINE + 4.0;
}

fn draw_panel(svg: &mut Svg, x: Axis, (left, right): (f64, f64), height: f64, panel: &Panel) {
    if !panel.name.is_empty() {
        svg.bottom += LINE / 2.0;
        svg.lines("strong", EDGE, WIDTH, &panel.name);
    }
    if !panel.y.is_empty() {
        svg.lines("quiet", EDGE, WIDTH, panel.y);
    }
    let top = svg.bottom + 8.0;
    svg.bottom = top + height;
    let numbers = panel.lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y);
    let y = Axis::linear(panel.y, numbers).over(svg.bottom, top);
    for tick in y.ticks() {
        svg.path("grid", &[(left, y.at(tick)), (right, y.at(tick))]);
        svg.text("quiet end", (left - 8.0, y.at(tick) + 4.0), &number(tick));
    }
    let at = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect()
    };
    if let (Some(above), Some(first)) = (&panel.above_first, panel.lines.first()) {
        let back = at(above).into_iter().rev();
        svg.path("gap", &at(&first.points).into_iter().chain(back).collect::<Vec<_>>());
    }
    let mut names = Vec::new();
    for line in &panel.lines {
        let points = at(&line.points);
        svg.path(&format!("curve s{}", line.class), &points);
        names.extend(points.last().map(|(_, y)| (*y + 4.0, line)));
    }
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    // From the lowest name up, so that none reaches below the panel.
    let mut free = svg.bottom + 4.0;
    for (y, line) in names {
        let y = y.min(free);
        free = y - LINE + 2.0;
        svg.text(&format!("strong {}", line.class), (right + 8.0, y), line.name);
    }
    svg.bottom += 4.0;
}
