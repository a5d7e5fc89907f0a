//! Axes: from numbers to pixels, with the numbers to print.

use super::svg::{LINE, Svg, WIDTH};

/// An axis of numbers, with a text for them.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) numbers: (f64, f64),
    pub(super) pixels: (f64, f64),
    pub(super) is_log: bool,
}

impl Axis {
    /// Returns a linear axis that begins with 0, or below if a number is, and has room for all.
    pub(super) fn linear(name: &'static str, numbers: impl Iterator<Item = f64>) -> Self {
        let (low, high) = numbers.fold((0.0, 0.0), |(low, high): (f64, f64), number| {
            (low.min(number), high.max(number))
        });
        let step = step(high - low);
        let numbers = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { name, numbers, pixels: (0.0, 1.0), is_log: false }
    }

    /// Returns a linear axis between the least and the greatest number.
    pub(super) fn between(name: &'static str, numbers: impl Iterator<Item = f64>) -> Self {
        let ends = numbers
            .fold((f64::MAX, f64::MIN), |(low, high), number| (low.min(number), high.max(number)));
        Self { name, numbers: ends, pixels: (0.0, 1.0), is_log: false }
    }

    /// Returns a logarithmic axis between powers of ten, or halves and thirds of them.
    pub(super) fn log(name: &'static str, numbers: impl Iterator<Item = f64>) -> Self {
        let (low, high) = numbers.fold((f64::MAX, 0.0), |(low, high): (f64, f64), number| {
            (low.min(number), high.max(number))
        });
        let marks = || (-6..9).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)));
        let low = marks().rfind(|mark| *mark <= low * 1.001).unwrap_or(low);
        let high = marks().find(|mark| *mark >= high * 0.999).unwrap_or(high);
        Self { name, numbers: (low, high), pixels: (0.0, 1.0), is_log: true }
    }

    /// Sets the positions of the axis's ends, in pixels.
    pub(super) fn over(self, from: f64, to: f64) -> Self {
        Self { pixels: (from, to), ..self }
    }

    /// Returns the pixel of a number.
    pub(super) fn at(&self, number: f64) -> f64 {
        let f = |number: f64| if self.is_log { number.ln() } else { number };
        let share = (f(number) - f(self.numbers.0)) / (f(self.numbers.1) - f(self.numbers.0));
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Returns the numbers to print.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.numbers;
        if self.is_log {
            let few = [1.0, 2.0, 5.0];
            let marks = if high / low > 100.0 { &few[..1] } else { &few[..] };
            let all = (-6..9).flat_map(|power| marks.iter().map(move |n| n * 10f64.powi(power)));
            return all.filter(|mark| (low * 0.999..=high * 1.001).contains(mark)).collect();
        }
        let step = step(high - low);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    /// Draws a horizontal axis below what lies between `top` and the drawing's bottom.
    pub(super) fn draw_below(&self, svg: &mut Svg, top: f64) {
        let bottom = svg.bottom;
        for tick in self.ticks() {
            let x = self.at(tick);
            svg.path("grid", &[(x, top), (x, bottom)]);
            svg.text("quiet middle", (x, bottom + LINE - 2.0), &number(tick));
        }
        let middle = (self.pixels.0 + self.pixels.1) / 2.0;
        // A long name begins further to the left than its axis.
        let half = super::svg::width("", self.name) / 2.0;
        let middle = middle.min(WIDTH - 8.0 - half).max(half + 8.0);
        svg.text("quiet middle", (middle, bottom + 2.0 * LINE), self.name);
        svg.bottom += 2.0 * LINE + 4.0;
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten, of which a span has about five.
fn step(span: f64) -> f64 {
    let rough = (span / 5.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= rough * 0.999);
    times.unwrap_or(10.0) * power
}

/// Returns a number as readers write it: 12,000 or 0.05.
pub(super) fn number(value: f64) -> String {
    let text = if value.abs() >= 10.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |digits| ("−", digits));
    let whole = digits.split('.').next().unwrap_or(digits);
    if whole.len() < 5 {
        return format!("{sign}{digits}");
    }
    let groups: Vec<&str> = whole
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits are ASCII"))
        .collect();
    format!("{sign}{}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_room_for_all_numbers() {
        let axis = Axis::linear("", [-3.0, 17.0].into_iter()).over(0.0, 100.0);
        assert_eq!(axis.ticks(), [-5.0, 0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!([-5.0, 20.0].map(|number| axis.at(number)), [0.0, 100.0]);
        let axis = Axis::log("", [0.3, 400.0].into_iter()).over(0.0, 100.0);
        assert_eq!(axis.numbers, (0.2, 500.0));
        assert!(axis.at(10.0) > 40.0 && axis.at(10.0) < 60.0);
    }

    #[test]
    fn numbers_are_written_as_readers_do() {
        let all = [0.0, 0.05, 0.5, 7.25, 12.0, 1234.4, 12345.0, -1234567.0];
        let all = all.map(number);
        assert_eq!(all, ["0", "0.05", "0.5", "7.25", "12", "1234", "12,345", "−1,234,567"]);
    }
}
