//! Numbers as tables print them.

use crate::compare::{Change, Row};
use crate::schema::{Basis, Better};

/// The significant digits of measured or computed values.
const SIGNIFICANT: usize = 3;

/// Writes a value with three significant digits, or with all digits before the point if those are
/// more; in scientific notation below 0.0001 and from 10¹⁵.
pub fn rounded(value: f64) -> String {
    match decimals(value) {
        _ if value == 0.0 => "0".to_owned(),
        Some(decimals) => fixed(value, decimals),
        None => format!("{value:.*e}", SIGNIFICANT - 1),
    }
}

/// Returns the number of decimals that leave a value three significant digits; none if that takes
/// an exponent.
fn decimals(value: f64) -> Option<usize> {
    // The exponent after rounding: 9.996 is 10.0.
    let scientific = format!("{value:.*e}", SIGNIFICANT - 1);
    let exponent: i32 = scientific.split_once('e')?.1.parse().ok()?;
    (-4..=14).contains(&exponent).then(|| usize::try_from(2 - exponent).unwrap_or(0))
}

/// Writes a value with `decimals` decimals.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // No "-0.0".
    match text.strip_prefix('-') {
        Some(size) if size.bytes().all(|byte| b"0.".contains(&byte)) => size.to_owned(),
        _ => text,
    }
}

/// Writes values as the cells of a column, all with the decimals that leave the largest three
/// significant digits.
pub fn column(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    match decimals(largest) {
        Some(decimals) if largest > 0.0 => values.iter().map(|v| fixed(*v, decimals)).collect(),
        _ => values.iter().copied().map(rounded).collect(),
    }
}

/// Writes a value and the ends of its interval, all with the same decimals: as many as leave the
/// value three significant digits, but none finer than a hundredth of the interval.
pub fn estimate(value: f64, [low, high]: [f64; 2]) -> [String; 3] {
    let hundredth = (high - low) / 100.0;
    let most =
        if hundredth > 0.0 { (-hundredth.log10()).ceil().max(0.0) as usize } else { usize::MAX };
    match decimals(value) {
        Some(decimals) => [value, low, high].map(|number| fixed(number, decimals.min(most))),
        None => [value, low, high].map(rounded),
    }
}

/// Writes a value as it was counted or given: a whole number as such, else all digits if they are
/// few, else [`rounded`].
pub fn exact(value: f64) -> String {
    let shortest = format!("{}", value + 0.0);
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    if whole || shortest.len() <= 8 { shortest } else { rounded(value) }
}

/// Writes a value as tables print it: [`exact`] if it is quoted, or counted and whole, else
/// [`rounded`].
pub fn figure(basis: Basis, value: f64) -> String {
    match basis {
        Basis::Published => exact(value),
        Basis::Counted if value.fract() == 0.0 => exact(value),
        _ => rounded(value),
    }
}

/// Writes the end of "p ...": `= 0.042`, or `< 0.001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0005 { "< 0.001".to_owned() } else { format!("= {p:.3}") }
}

/// The maximum number of characters that [`short`] writes.
const SHORT: usize = 12;

/// Writes a value like [`figure`], or with four significant digits if that takes more than twelve
/// characters.
pub(super) fn short(basis: Basis, value: f64) -> String {
    let figure = figure(basis, value);
    if figure.len() <= SHORT { figure } else { format!("{value:.3e}") }
}

/// Writes a change in per cent with its sign, in at most nine characters.
pub(super) fn signed(percent: f64) -> String {
    match percent.abs() {
        // No "-0.0".
        size if size < 0.05 => "0.0".to_owned(),
        size if size < 999.95 => format!("{percent:+.1}"),
        size if size < 99_999.5 => format!("{percent:+.0}"),
        _ => format!("{percent:+.0e}"),
    }
}

/// Writes the change of a row's figure in per cent of the base: above zero if it grew. `*` follows
/// if it was tested and is significant, else a blank.
pub(super) fn change_of(row: &Row, change: &Change) -> String {
    let star = if change.test.is_some() && change.verdict.is_difference() { "*" } else { " " };
    match change.percent {
        Some(percent) => format!("{}%{star}", signed(grown(row.better, percent))),
        None => "- ".to_owned(),
    }
}

/// Returns by how much a figure grew, from a change that is positive if better.
pub fn grown(better: Better, percent: f64) -> f64 {
    if better == Better::Lower { -percent } else { percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_or_those_before_the_point() {
        let cases = [
            (2.87, "2.87"),
            (9.996, "10.0"),
            (287.04, "287"),
            (2_952.4, "2952"),
            (123_456.7, "123457"),
            (-0.012_34, "-0.0123"),
            (0.000_012, "1.20e-5"),
            (2e15, "2.00e15"),
            (-0.0, "0"),
            (f64::NAN, "NaN"),
        ];
        for (value, want) in cases {
            assert_eq!(rounded(value), want);
        }
    }

    #[test]
    fn fixed_decimals_have_no_negative_zero() {
        let cases = [(-0.04, 1, "0.0"), (1234.5, 1, "1234.5"), (-12_345.6, 0, "-12346")];
        for (value, decimals, want) in cases {
            assert_eq!(fixed(value, decimals), want);
        }
    }

    #[test]
    fn a_column_has_the_decimals_of_its_largest_value() {
        assert_eq!(column(&[0.0412, 0.5, 0.0]), ["0.041", "0.500", "0.000"]);
        assert_eq!(column(&[8.491, 121.3125]), ["8", "121"]);
        assert_eq!(column(&[0.0, 0.0]), ["0", "0"]);
    }

    #[test]
    fn an_estimate_has_the_decimals_that_its_interval_allows() {
        assert_eq!(estimate(56.532, [54.2, 60.1]), ["56.5", "54.2", "60.1"]);
        assert_eq!(estimate(-0.0123, [-0.091, 0.031]), ["-0.012", "-0.091", "0.031"]);
        assert_eq!(estimate(0.5, [0.22, 15.0]), ["0.5", "0.2", "15.0"]);
        assert_eq!(estimate(12_345.6, [12_345.6, 12_345.6]), ["12346", "12346", "12346"]);
        assert_eq!(estimate(0.0, [0.0, 3.25]), ["0.00", "0.00", "3.25"]);
    }

    #[test]
    fn what_is_short_is_never_longer() {
        assert_eq!(short(Basis::Counted, 123_456_789_012.0), "123456789012");
        assert_eq!(short(Basis::Counted, 1_234_567_890_123.0), "1.235e12");
        assert_eq!(short(Basis::Measured, 123_456_789_012_345.0), "1.235e14");
        assert_eq!(short(Basis::Measured, -f64::MIN_POSITIVE).len(), 10);
    }

    #[test]
    fn what_is_given_keeps_its_digits_where_they_are_few() {
        let cases = [
            (16.0, "16"),
            (123_456_789.0, "123456789"),
            (0.0625, "0.0625"),
            (787.7, "787.7"),
            (1.0 / 3.0, "0.333"),
            (-0.0, "0"),
        ];
        for (value, want) in cases {
            assert_eq!(exact(value), want);
        }
    }

    #[test]
    fn whole_counts_and_what_is_quoted_keep_their_digits() {
        assert_eq!(figure(Basis::Counted, 1_234_567.0), "1234567");
        assert_eq!(figure(Basis::Counted, 121.3125), "121");
        assert_eq!(figure(Basis::Published, 787.7), "787.7");
        assert_eq!(figure(Basis::Measured, 787.7), "788");
    }
}
