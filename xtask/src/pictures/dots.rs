//! A row of dots for each thing that is compared, on one axis.

use super::axis::Axis;
use super::svg::{EDGE, LINE, Svg, WIDTH, width};

const ROW: f64 = 24.0;

/// A thing with its dots; without any it heads those that follow.
#[derive(Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dots: Vec<Dot>,
}

/// A value of a series, with the range in which it lies if that is known.
pub(super) struct Dot {
    pub(super) series: &'static str,
    pub(super) class: &'static str,
    pub(super) value: f64,
    pub(super) range: Option<(f64, f64)>,
}

/// Returns the values of all dots.
pub(super) fn values(rows: &[Row]) -> impl Iterator<Item = f64> {
    rows.iter().flat_map(|row| &row.dots).map(|dot| dot.value)
}

/// Draws the rows. The first row that has dots has the names of the series above them. A line at
/// `at` has a name where it stands for something.
pub(super) fn draw(svg: &mut Svg, axis: Axis, rows: &[Row], line: Option<(f64, &str)>) {
    let name = |row: &Row| if row.dots.is_empty() { 0.0 } else { width("", &row.name) };
    let left = EDGE + rows.iter().map(name).fold(60.0, f64::max) + 16.0;
    let axis = axis.over(left, WIDTH - EDGE - 20.0);
    let first = rows.iter().find(|row| !row.dots.is_empty());
    names(svg, axis, first.map_or(&[], |row| &row.dots));
    let top = svg.bottom;
    svg.bottom += ROW * rows.len() as f64;
    axis.draw_below(svg, top);
    if let Some((at, name)) = line {
        let bottom = top + ROW * rows.len() as f64;
        svg.path("heavy", &[(axis.at(at), top), (axis.at(at), bottom)]);
        svg.text("quiet", (axis.at(at) + 5.0, top + 12.0), name);
    }
    for (at, Row { name, dots }) in rows.iter().enumerate() {
        let y = top + ROW * (at as f64 + 0.5);
        if dots.is_empty() {
            svg.text("strong", (EDGE, y + 5.0), name);
            continue;
        }
        svg.text("end", (left - 14.0, y + 5.0), name);
        let ends = dots.iter().fold((f64::MAX, f64::MIN), |(low, high), dot| {
            let x = axis.at(dot.value);
            (low.min(x), high.max(x))
        });
        svg.path("line", &[(ends.0, y), (ends.1, y)]);
        for dot in dots {
            if let Some((low, high)) = dot.range {
                svg.path(
                    &format!("curve s{}", dot.class),
                    &[(axis.at(low), y), (axis.at(high), y)],
                );
            }
            svg.dot(dot.class, (axis.at(dot.value), y));
        }
    }
}

/// Writes the names of the series above their dots, moved apart where they would overlap.
fn names(svg: &mut Svg, axis: Axis, dots: &[Dot]) {
    let mut places: Vec<(f64, &Dot)> = dots
        .iter()
        .filter(|dot| !dot.series.is_empty())
        .map(|dot| (axis.at(dot.value), dot))
        .collect();
    if places.is_empty() {
        return;
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = EDGE;
    for (x, dot) in &mut places {
        *x = (*x - width("strong", dot.series) / 2.0).max(free);
        free = *x + width("strong", dot.series) + 14.0;
    }
    let mut free = WIDTH - 4.0;
    for (x, dot) in places.iter_mut().rev() {
        *x = x.min(free - width("strong", dot.series));
        free = *x - 14.0;
    }
    svg.bottom += LINE;
    let y = svg.bottom - 4.0;
    places.into_iter().for_each(|(x, dot)| {
        svg.text(&format!("strong {}", dot.class), (x, y), dot.series);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_near_dots_do_not_overlap() {
        let dot = |series, value| Dot { series, class: "b", value, range: None };
        let dots = vec![dot("the first of two", 5.0), dot("the second of two", 5.1)];
        let mut svg = Svg::new("", "");
        let axis = Axis::linear("", [10.0].into_iter());
        draw(&mut svg, axis, &[Row { name: "row".to_owned(), dots }], None);
        let text = svg.done();
        let x_of = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            line.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!(x_of("second") - x_of("first") > width("strong", "the first of two"), "{text}");
    }
}
