//! Numbers as tables print them.

use crate::compare::{Change, Row};
use crate::schema::{Basis, Better};

/// A value with four significant digits, or with all digits before the point when those are more;
/// in scientific notation below 0.0001 and from 10¹⁵.
pub fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.9996 is 10.00.
    let scientific = format!("{value:.3e}");
    let exponent =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..=14) => {
            let decimals = usize::try_from(3 - exponent).unwrap_or(0);
            format!("{value:.decimals$}")
        }
        _ => scientific,
    }
}

/// A counted value: whole where it is whole, all digits where they are few, else [`rounded`].
pub fn exact(value: f64) -> String {
    let shortest = format!("{}", value + 0.0);
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    if whole || shortest.len() <= 8 { shortest } else { rounded(value) }
}

/// A value as tables print it: [`exact`] where it was counted, else [`rounded`].
pub fn figure(basis: Basis, value: f64) -> String {
    if basis == Basis::Counted { exact(value) } else { rounded(value) }
}

/// A probability after `p`: `= 0.042`, or `< 0.001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0005 { "< 0.001".to_owned() } else { format!("= {p:.3}") }
}

/// The longest that [`short`] is.
const SHORT: usize = 12;

/// A value as [`figure`] has it, or with four significant digits where that takes more than twelve
/// characters.
pub(super) fn short(basis: Basis, value: f64) -> String {
    let figure = figure(basis, value);
    if figure.len() <= SHORT { figure } else { format!("{value:.3e}") }
}

/// A change in per cent with its sign, in at most nine characters.
pub(super) fn signed(percent: f64) -> String {
    match percent.abs() {
        // No "-0.0".
        size if size < 0.05 => "0.0".to_owned(),
        size if size < 999.95 => format!("{percent:+.1}"),
        size if size < 99_999.5 => format!("{percent:+.0}"),
        _ => format!("{percent:+.0e}"),
    }
}

/// The change of a row's figure in per cent of the base: above zero where it grew. `*` follows
/// where it was tested and is significant, else a blank.
pub(super) fn change_of(row: &Row, change: &Change) -> String {
    let star = if change.test.is_some() && change.verdict.is_difference() { "*" } else { " " };
    match change.percent {
        Some(percent) => format!("{}%{star}", signed(grown(row.better, percent))),
        None => "- ".to_owned(),
    }
}

/// By how much a figure grew, of a change that is positive where better.
pub fn grown(better: Better, percent: f64) -> f64 {
    if better == Better::Lower { -percent } else { percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        let cases = [
            (2.87, "2.870"),
            (9.999_6, "10.00"),
            (287.04, "287.0"),
            (123_456.7, "123457"),
            (-0.012_34, "-0.01234"),
            (0.000_012, "1.200e-5"),
            (2e15, "2.000e15"),
            (-0.0, "0"),
        ];
        for (value, want) in cases {
            assert_eq!(rounded(value), want);
        }
    }

    #[test]
    fn what_is_short_is_never_longer() {
        assert_eq!(short(Basis::Counted, 123_456_789_012.0), "123456789012");
        assert_eq!(short(Basis::Counted, 1_234_567_890_123.0), "1.235e12");
        assert_eq!(short(Basis::Measured, -f64::MIN_POSITIVE).len(), 11);
    }

    #[test]
    fn counts_keep_their_digits() {
        let cases = [
            (16.0, "16"),
            (123_456_789.0, "123456789"),
            (0.0625, "0.0625"),
            (1.0 / 3.0, "0.3333"),
            (-0.0, "0"),
        ];
        for (value, want) in cases {
            assert_eq!(exact(value), want);
        }
    }
}
