//! An SVG file in the making.

use std::fmt::Write as _;

/// Colours in the light and the dark scheme, by the class of what has them. Texts have a contrast
/// of at least 4.5 to their ground.
const STYLE: &str = "\
svg{color-scheme:light dark}\
text{font:13px system-ui,sans-serif;fill:#24292f}\
.small{font-size:11px}.title{font-size:15px;font-weight:600}\
.quiet{fill:#57606a}.end{text-anchor:end}.middle{text-anchor:middle}\
.ground{fill:#fff}.line{stroke:#8c959f;stroke-width:1;fill:none}\
.grid{stroke:#d8dee4;stroke-width:1;fill:none}\
.used{fill:#8c959f}.gone{fill:#e36209}.back{fill:#0550ae}\
.gap{fill:#0550ae;fill-opacity:.15}\
.a{fill:#57606a}.b{fill:#0550ae}.c{fill:#bc4c00}.d{fill:#1a7f37}\
.e{fill:#8250df}.f{fill:#9a6700}\
.curve{fill:none;stroke-width:2}\
.sa{stroke:#57606a}.sb{stroke:#0550ae}.sc{stroke:#bc4c00}.sd{stroke:#1a7f37}\
.box{fill:#f6f8fa;stroke:#8c959f}.bad{fill:#cf222e}.sbad{stroke:#cf222e;stroke-width:2;fill:none}\
@media (prefers-color-scheme:dark){\
text{fill:#e6edf3}.quiet{fill:#9198a1}.ground{fill:#0d1117}.line{stroke:#656c76}\
.grid{stroke:#2a313c}.used{fill:#545d68}.gone{fill:#f0883e}.back{fill:#79c0ff}\
.gap{fill:#79c0ff;fill-opacity:.2}\
.a{fill:#9198a1}.b{fill:#79c0ff}.c{fill:#f0883e}.d{fill:#56d364}.e{fill:#d2a8ff}.f{fill:#e3b341}\
.sa{stroke:#9198a1}.sb{stroke:#79c0ff}.sc{stroke:#f0883e}.sd{stroke:#56d364}\
.box{fill:#161b22;stroke:#656c76}.bad{fill:#ff7b72}.sbad{stroke:#ff7b72}}";

/// A drawing of a size, in pixels.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// Begins a drawing; `about` is the text for people who cannot see it.
    pub(super) fn new(width: u32, height: u32, about: &str) -> Self {
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
             <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{width}\" \
             height=\"{height}\"/>\n",
            escaped(about)
        );
        Self { text }
    }

    /// Adds a rectangle: its left, its top, its width and its height.
    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>"
        );
    }

    /// Adds many rectangles of one opacity.
    pub(super) fn cells(&mut self, class: &str, opacity: f64, cells: &[[f64; 4]]) {
        let mut path = String::new();
        for [x, y, width, height] in cells {
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        }
        if !cells.is_empty() {
            let _ =
                writeln!(self.text, "<path class=\"{class}\" opacity=\"{opacity}\" d=\"{path}\"/>");
        }
    }

    /// Adds a line through points, or an area within them if the class fills it.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        let _ = writeln!(self.text, "<polyline class=\"{class}\" points=\"{points}\"/>");
    }

    /// Adds a text whose baseline begins at a point.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        let _ =
            writeln!(self.text, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }

    /// Adds an entry of a legend: a square, and its name beside it.
    pub(super) fn key(&mut self, class: &str, (x, y): (f64, f64), name: &str) {
        self.rect(class, [x, y - 10.0, 11.0, 11.0]);
        self.text("small", (x + 16.0, y), name);
    }

    /// Ends the drawing and returns the file's text.
    pub(super) fn done(self) -> String {
        self.text + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A linear scale from numbers to pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) numbers: (f64, f64),
    pub(super) pixels: (f64, f64),
}

impl Scale {
    pub(super) fn at(&self, number: f64) -> f64 {
        let share = (number - self.numbers.0) / (self.numbers.1 - self.numbers.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_code() {
        let mut svg = Svg::new(10, 10, "a < b & c");
        svg.text("small", (1.0, 2.0), "<script>");
        let text = svg.done();
        assert!(text.contains("<title>a &lt; b &amp; c</title>"), "{text}");
        assert!(text.contains(">&lt;script&gt;</text>"), "{text}");
    }

    #[test]
    fn a_scale_keeps_its_ends() {
        let scale = Scale { numbers: (10.0, 20.0), pixels: (300.0, 100.0) };
        assert_eq!([10.0, 15.0, 20.0].map(|number| scale.at(number)), [300.0, 200.0, 100.0]);
    }
}
