//! Figures of a row, with one number of decimals.

use super::number::{exact, rounded};
use crate::schema::Basis;

/// The significant digits of the smallest figure of a row.
const DIGITS: i32 = 3;
/// The significant digits of the largest figure if figures lie far apart.
const MOST: i32 = 5;

/// The maximum number of decimals of a part of a whole.
const PART: usize = 2;

/// The notation of the figures of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figures {
    /// Whole numbers, as counted.
    Whole,
    /// Numbers with this many decimals.
    Decimals(usize),
    /// Each number by itself: they lie too far apart, or are too small or too large for decimals.
    Apart,
}

impl Figures {
    /// Chooses the notation of figures with this basis.
    pub(super) fn of(basis: Basis, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| *value != 0.0).collect();
        if basis == Basis::Counted && values.iter().all(|value| value.fract() == 0.0) {
            return Self::Whole;
        }
        let exponents = values.iter().map(|value| value.abs().log10().floor() as i32);
        let (low, high) = exponents.fold((i32::MAX, i32::MIN), |(l, h), e| (l.min(e), h.max(e)));
        if values.is_empty() {
            return Self::Decimals(0);
        }
        if low < -3 || high > 11 || high - low > 6 {
            return Self::Apart;
        }
        let decimals = (DIGITS - 1 - low).min(MOST - 1 - high).max(0);
        Self::Decimals(usize::try_from(decimals).unwrap_or(0))
    }

    /// Returns the notation for a part of a whole, for which hundredths are enough.
    pub(super) fn of_part(self) -> Self {
        match self {
            Self::Decimals(decimals) => Self::Decimals(decimals.min(PART)),
            Self::Apart => Self::Decimals(PART),
            Self::Whole => Self::Whole,
        }
    }

    /// Writes one of the figures.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Whole => exact(value),
            Self::Decimals(decimals) => format!("{:.decimals$}", value + 0.0),
            Self::Apart => rounded(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(basis: Basis, values: &[f64]) -> Vec<String> {
        let figures = Figures::of(basis, values.iter().copied());
        values.iter().map(|value| figures.text(*value)).collect()
    }

    #[test]
    fn a_row_has_one_number_of_decimals() {
        let measured = |values: &[f64]| row(Basis::Measured, values);
        assert_eq!(measured(&[724.3, 484.9, 119.2]), ["724", "485", "119"]);
        assert_eq!(measured(&[50.13, 8.491]), ["50.13", "8.49"]);
        assert_eq!(measured(&[121.3125, 8.491, 0.0]), ["121.31", "8.49", "0.00"]);
        assert_eq!(measured(&[12_345.6, 1.2345]), ["12346", "1"], "five digits of the largest");
        assert_eq!(measured(&[0.0, 0.0]), ["0", "0"]);
        assert_eq!(measured(&[1e-7, 2.0]), ["1.00e-7", "2.00"], "each by itself");
        assert_eq!(measured(&[-0.001_234]), ["-0.00123"]);
    }

    #[test]
    fn a_part_of_a_whole_has_hundredths_at_most() {
        let part = |values: &[f64]| -> Vec<String> {
            let figures = Figures::of(Basis::Measured, values.iter().copied()).of_part();
            values.iter().map(|value| figures.text(*value)).collect()
        };
        assert_eq!(part(&[0.000_342_5, 0.007_054, 5.94]), ["0.00", "0.01", "5.94"]);
        assert_eq!(part(&[124.9, 32.3]), ["124.9", "32.3"]);
    }

    #[test]
    fn counts_are_whole_where_all_are() {
        assert_eq!(row(Basis::Counted, &[1_620_224.0, 16.0, 0.0]), ["1620224", "16", "0"]);
        assert_eq!(row(Basis::Counted, &[16.0, 1.0625]), ["16.00", "1.06"]);
    }
}
