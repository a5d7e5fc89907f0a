//! Bars of parts that add up, one below the other.

use super::svg::{EDGE, LINE, Svg, WIDTH, width};

const ROW: f64 = 34.0;

/// A bar: its name, its parts, and a text at its end.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) parts: Vec<f64>,
    pub(super) end: String,
}

/// Draws the bars. Their parts are of one kind each, with its class and its name, which stands
/// above that part of the first bar.
pub(super) fn draw(svg: &mut Svg, kinds: &[(&str, &str)], bars: &[Bar]) {
    let left = EDGE + bars.iter().map(|bar| width("", &bar.name)).fold(0.0, f64::max) + 10.0;
    let right = bars.iter().map(|bar| width("", &bar.end)).fold(0.0, f64::max) + 10.0;
    let most = bars.iter().map(|bar| bar.parts.iter().sum::<f64>()).fold(0.0, f64::max);
    let pixels = (WIDTH - EDGE - right - left) / most;
    let mut place = left;
    let mut free = 0.0;
    svg.bottom += LINE;
    for ((class, name), part) in kinds.iter().zip(&bars[0].parts) {
        let x = place.max(free).min(WIDTH - EDGE - width("strong", name));
        svg.text(&format!("strong {class}"), (x, svg.bottom - 4.0), name);
        free = x + width("strong", name) + 12.0;
        place += part * pixels;
    }
    for bar in bars {
        let y = svg.bottom;
        svg.text("end", (left - 10.0, y + 18.0), &bar.name);
        let mut x = left;
        for ((class, _), part) in kinds.iter().zip(&bar.parts) {
            svg.rect(class, [x, y, part * pixels, ROW - 10.0]);
            x += part * pixels;
        }
        svg.text("", (x + 8.0, y + 18.0), &bar.end);
        svg.bottom += ROW;
    }
}
