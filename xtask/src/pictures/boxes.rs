//! Boxes with arrows: what leads to what.

use super::svg::{LINE, Svg, WIDTH, wrapped};

/// A box: its place in rows and columns, which may be between two, and its text. The first line is
/// its name.
pub(super) struct Node {
    pub(super) at: (f64, f64),
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// An arrow from a box to another, by their names, with a text.
pub(super) struct Arrow {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) text: &'static str,
}

const ROW: f64 = 112.0;
const BOX: f64 = 150.0;

/// Draws boxes in `columns` columns, and the arrows between them. An arrow there and one back stand
/// side by side.
pub(super) fn draw(svg: &mut Svg, columns: f64, nodes: &[Node], arrows: &[Arrow]) {
    let top = svg.bottom;
    let room = |node: &Node| {
        let height = 26.0 + LINE * wrapped("", BOX - 16.0, node.text).len() as f64;
        let x = WIDTH / columns * (node.at.1 + 0.5);
        [
            x - BOX / 2.0,
            top + ROW * node.at.0,
            BOX,
            if node.text.is_empty() { 30.0 } else { height },
        ]
    };
    let find = |name: &str| {
        room(nodes.iter().find(|node| node.name == name).unwrap_or_else(|| panic!("no {name}")))
    };
    for arrow in arrows {
        let (from, to) = (find(arrow.from), find(arrow.to));
        let is_back = arrows.iter().any(|other| other.from == arrow.to && other.to == arrow.from);
        let points = way(from, to, if is_back { 14.0 } else { 0.0 });
        svg.arrow(&points);
        let [(x, y), .., (to_x, to_y)] = points[..] else { continue };
        let (x, y) = ((x + to_x) / 2.0, (y + to_y) / 2.0);
        let is_flat = (to_y - points[0].1).abs() < 30.0;
        let lines = wrapped("", if is_flat { 110.0 } else { 150.0 }, arrow.text);
        // The text stands above a flat arrow, and beside a steep one: on the side that it leans to.
        let is_left = to_y < points[0].1;
        let first = if is_flat {
            y - 6.0 - LINE * (lines.len() as f64 - 1.0)
        } else {
            y + 4.0 - LINE / 2.0 * (lines.len() as f64 - 1.0)
        };
        for (at, line) in lines.iter().enumerate() {
            let class = match (is_flat, is_left) {
                (true, _) => "quiet middle",
                (false, true) => "quiet end",
                (false, false) => "quiet",
            };
            let x = if is_flat {
                x
            } else if is_left {
                x - 8.0
            } else {
                x + 8.0
            };
            svg.text(class, (x, first + LINE * at as f64), line);
        }
    }
    for node in nodes {
        let [x, y, width, height] = room(node);
        svg.rect("box", [x, y, width, height]);
        svg.text("strong middle", (x + width / 2.0, y + 20.0), node.name);
        for (at, line) in wrapped("", BOX - 16.0, node.text).iter().enumerate() {
            let below = y + 20.0 + LINE * (at as f64 + 1.0);
            svg.text("quiet middle", (x + width / 2.0, below), line);
        }
        svg.bottom = svg.bottom.max(y + height);
    }
}

/// Returns the ends of an arrow between two boxes, moved aside by `aside`.
fn way(from: [f64; 4], to: [f64; 4], aside: f64) -> Vec<(f64, f64)> {
    let [x, y, width, height] = from;
    let [to_x, to_y, to_width, to_height] = to;
    let middle = x + width / 2.0;
    let to_middle = to_x + to_width / 2.0;
    if to_y > y + height {
        vec![(middle + aside, y + height), (to_middle + aside, to_y)]
    } else if to_y + to_height < y {
        vec![(middle - aside, y), (to_middle - aside, to_y + to_height)]
    } else if to_x > x {
        vec![(x + width, y + 16.0 - aside / 2.0), (to_x, to_y + 16.0 - aside / 2.0)]
    } else {
        vec![(x, y + 16.0 + aside), (to_x + to_width, to_y + 16.0 + aside)]
    }
}
