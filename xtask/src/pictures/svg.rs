//! An SVG file in the making, as wide as a page of the book and no wider: on a phone it shrinks to
//! two thirds, where its texts still can be read.

use std::fmt::Write as _;

use textwrap::{Options, WordSplitter, WrapAlgorithm};

/// The width of all pictures, and the room that they leave at their edges.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const EDGE: f64 = 14.0;

/// The height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// The mean width of a character in wide fonts: of a title, of a bold text, and of others.
const TITLE_CHARACTER: f64 = 9.6;
const STRONG_CHARACTER: f64 = 8.2;
const CHARACTER: f64 = 7.4;

/// Colours in the light and the dark scheme, by the class of what has them. Texts have a contrast
/// of at least 4.5 to their ground.
const STYLE: &str = "\
svg{color-scheme:light dark}\
text{font:13px system-ui,sans-serif;fill:#24292f}\
.title{font-size:16px;font-weight:600}.strong{font-weight:600}\
.quiet{fill:#57606a}.end{text-anchor:end}.middle{text-anchor:middle}\
.ground{fill:#fff}.line{stroke:#8c959f;stroke-width:1;fill:none}\
.grid{stroke:#d8dee4;stroke-width:1;fill:none}.heavy{stroke:#8c959f;stroke-width:2;fill:none}\
.used{fill:#8c959f}.gone{fill:#e36209}.back{fill:#0550ae}\
.gap{fill:#0550ae;fill-opacity:.15}\
.a{fill:#57606a}.b{fill:#0550ae}.c{fill:#bc4c00}.d{fill:#1a7f37}\
.e{fill:#8250df}.f{fill:#9a6700}.g{fill:#d0d7de}\
.curve{fill:none;stroke-width:2}\
.sa{stroke:#57606a}.sb{stroke:#0550ae}.sc{stroke:#bc4c00}.sd{stroke:#1a7f37}.se{stroke:#8250df}\
.box{fill:#f6f8fa;stroke:#8c959f}.bad{fill:#cf222e}.sbad{stroke:#cf222e;stroke-width:2;fill:none}\
.on{fill:#fff}.lane{stroke-width:2;stroke-opacity:.4;fill:none}\
@media (prefers-color-scheme:dark){\
text{fill:#e6edf3}.quiet{fill:#9198a1}.ground{fill:#0d1117}.line,.heavy{stroke:#656c76}\
.grid{stroke:#2a313c}.used{fill:#545d68}.gone{fill:#f0883e}.back{fill:#79c0ff}\
.gap{fill:#79c0ff;fill-opacity:.2}\
.a{fill:#9198a1}.b{fill:#79c0ff}.c{fill:#f0883e}.d{fill:#56d364}.e{fill:#d2a8ff}.f{fill:#e3b341}\
.g{fill:#373e47}\
.sa{stroke:#9198a1}.sb{stroke:#79c0ff}.sc{stroke:#f0883e}.sd{stroke:#56d364}.se{stroke:#d2a8ff}\
.box{fill:#161b22;stroke:#656c76}.bad{fill:#ff7b72}.sbad{stroke:#ff7b72}.on{fill:#0d1117}}";

/// A drawing, as high as what is on it.
pub(super) struct Svg {
    about: String,
    body: String,
    /// The lower end of what is on it.
    pub(super) bottom: f64,
}

impl Svg {
    /// Begins a drawing with a title, which is its message, and a line about what it shows: the
    /// quantity with its unit, and its ground.
    pub(super) fn new(title: &str, shows: &str) -> Self {
        let about = format!("{title}. {shows}");
        let mut svg = Self { about, body: String::new(), bottom: EDGE };
        svg.lines("title", EDGE, WIDTH - 2.0 * EDGE, title);
        svg.lines("quiet", EDGE, WIDTH - 2.0 * EDGE, shows);
        svg.bottom += 8.0;
        svg
    }

    /// Adds a rectangle: its left, its top, its width and its height.
    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let _ = writeln!(
            self.body,
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
            let _ = writeln!(
                self.body,
                "<path class=\"{class}\" opacity=\"{opacity:.2}\" d=\"{path}\"/>"
            );
        }
    }

    /// Adds a line through points, or an area within them if the class fills it.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        let _ = writeln!(self.body, "<polyline class=\"{class}\" points=\"{points}\"/>");
    }

    /// Adds an arrow: a line through points, and a head at the last.
    pub(super) fn arrow(&mut self, points: &[(f64, f64)]) {
        self.path("line", points);
        if let [.., (from_x, from_y), (x, y)] = *points {
            let angle = (y - from_y).atan2(x - from_x);
            let corner = |turn: f64| {
                let back = angle + turn;
                (x - 8.0 * back.cos(), y - 8.0 * back.sin())
            };
            self.path("used", &[corner(0.4), (x, y), corner(-0.4)]);
        }
    }

    /// Adds a dot.
    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        let _ =
            writeln!(self.body, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
    }

    /// Adds a text whose baseline begins, ends or has its middle at a point.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        let _ =
            writeln!(self.body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }

    /// Adds a text at the bottom, wrapped to a width.
    pub(super) fn lines(&mut self, class: &str, x: f64, width: f64, text: &str) {
        for line in wrapped(class, width, text) {
            self.bottom += LINE;
            self.text(class, (x, self.bottom - 4.0), &line);
        }
    }

    /// Ends the drawing and returns the file's text.
    pub(super) fn done(self) -> String {
        let height = (self.bottom + EDGE).ceil();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
             <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" \
             height=\"{height}\"/>\n{}</svg>\n",
            escaped(&self.about),
            self.body
        )
    }
}

/// Returns the lines of a text that has a width.
pub(super) fn wrapped(class: &str, width: f64, text: &str) -> Vec<String> {
    let options = Options::new((width / character(class)) as usize)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, &options).into_iter().map(|line| line.into_owned()).collect()
}

/// Returns about the width of a text.
pub(super) fn width(class: &str, text: &str) -> f64 {
    text.chars().count() as f64 * character(class)
}

fn character(class: &str) -> f64 {
    let is = |word: &str| class.split(' ').any(|given| given == word);
    if is("title") {
        TITLE_CHARACTER
    } else if is("strong") {
        STRONG_CHARACTER
    } else {
        CHARACTER
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_code() {
        let mut svg = Svg::new("a < b", "c & d");
        svg.text("quiet", (1.0, 2.0), "<script>");
        let text = svg.done();
        assert!(text.contains("<title>a &lt; b. c &amp; d</title>"), "{text}");
        assert!(text.contains(">&lt;script&gt;</text>"), "{text}");
    }

    #[test]
    fn long_texts_take_several_lines() {
        let mut svg = Svg::new("", "");
        let before = svg.bottom;
        svg.lines("", 0.0, 75.0, "ten chars and ten more");
        assert_eq!(svg.bottom, before + 3.0 * LINE);
    }
}
