//! Field values that are numbers, so that they have places on an axis.

/// Returns the number that a field's value stands for: `4`, `25%`, `1/16`, `64MiB` (in MiB).
pub(crate) fn of(value: &str) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let scaled = |text: &str, scale: f64| number(text).map(|number| number * scale);
    if let Some((above, below)) = value.split_once('/') {
        return Some(number(above)? / number(below)?).filter(|share| share.is_finite());
    }
    let sizes = [("KiB", 1.0 / 1024.0), ("MiB", 1.0), ("GiB", 1024.0), ("TiB", 1_048_576.0)];
    let size = sizes.iter().find_map(|(unit, scale)| scaled(value.strip_suffix(unit)?, *scale));
    size.or_else(|| value.strip_suffix('%').and_then(number)).or_else(|| number(value))
}

/// Returns the unit of such values.
pub(crate) fn unit(value: &str) -> &'static str {
    match value {
        _ if value.ends_with("iB") => "MiB",
        _ if value.ends_with('%') => "%",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_numbers_have_places() {
        let cases =
            [("4", 4.0), ("25%", 25.0), ("1/16", 0.0625), ("64MiB", 64.0), ("2GiB", 2048.0)];
        for (value, place) in cases {
            assert_eq!(of(value), Some(place), "{value}");
        }
        for value in ["pmd", "", "%", "1/0", "inf", "NaN", "all", "MiB"] {
            assert_eq!(of(value), None, "{value}");
        }
    }
}
