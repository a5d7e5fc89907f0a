//! Scenario fields as text: `order=4 size=10GiB`, with lists where a comparison wants several.

use crate::formats::FormatName;
use std::fmt;
use std::str::FromStr;

/// Why a scenario's fields were refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FieldError {
    /// Not `FIELD=VALUE`.
    #[error("scenario field `{0}`: expected FIELD=VALUE, such as order=4")]
    NotAPair(String),
    /// A field that the scenario does not have.
    #[error("scenario {scenario} has no field `{field}`{}; it has {accepted}", meant(nearest))]
    Unknown {
        /// The scenario.
        scenario: &'static str,
        /// What was given.
        field: String,
        /// The one it has whose name is near that.
        nearest: Option<&'static str>,
        /// The fields it has.
        accepted: String,
    },
    /// A field given twice.
    #[error("scenario field `{0}`: given twice")]
    Twice(String),
    /// A value that the field does not take.
    #[error("scenario field `{field}`: found `{found}`, expected {accepted}")]
    BadValue {
        /// The field.
        field: &'static str,
        /// What was given.
        found: String,
        /// What it takes.
        accepted: String,
    },
    /// Values that are each accepted but not together.
    #[error("scenario {scenario}: {problem}")]
    Together {
        /// The scenario.
        scenario: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl FieldError {
    /// That a scenario which has the fields `names` has none such.
    pub fn unknown(scenario: &'static str, field: &str, names: &[&'static str]) -> Self {
        let nearest = nearest(field, names.iter().copied());
        let accepted = all_of(names);
        Self::Unknown { scenario, field: field.to_owned(), nearest, accepted }
    }

    /// That values do not go together.
    pub fn together(scenario: &'static str, problem: impl Into<String>) -> Self {
        Self::Together { scenario, problem: problem.into() }
    }
}

/// The name that was probably meant by one that there is none of.
pub fn nearest<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// As near as clap wants them.
    const NEAR: f64 = 0.7;
    let near = |name: &'n str| (strsim::jaro(given, name), name);
    let near = names.map(near).filter(|(how, _)| *how > NEAR);
    near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

/// What an error adds where a name was probably meant.
pub fn meant(nearest: &Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Names as a sentence lists all of them.
fn all_of(names: &[&str]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// A folio order by number, or the order whose folio is as large as a PMD leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderName {
    /// This order.
    Number(u8),
    /// The order of a PMD-sized folio.
    Pmd,
}

impl OrderName {
    /// The order as a number in `format`.
    pub const fn in_format(self, format: FormatName) -> u8 {
        match self {
            Self::Number(order) => order,
            Self::Pmd => format.pmd_order(),
        }
    }
}

impl fmt::Display for OrderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(order) => write!(f, "{order}"),
            Self::Pmd => f.write_str("pmd"),
        }
    }
}

/// The error of a value that a field does not take.
pub fn bad(field: &'static str, found: &str, accepted: impl Into<String>) -> FieldError {
    FieldError::BadValue { field, found: found.to_owned(), accepted: accepted.into() }
}

/// Checks field `size`: a multiple of `folio` bytes, which `what` names, up to `most`.
///
/// # Errors
/// [`FieldError::BadValue`] says what is accepted.
pub fn check_size(bytes: u64, folio: u64, what: &str, most: u64) -> Result<(), FieldError> {
    if bytes > 0 && bytes.is_multiple_of(folio) && bytes <= most {
        return Ok(());
    }
    let (folio, most) = (display_size(folio), display_size(most));
    let accepted = format!("a multiple of the {what} size, {folio}, up to {most}");
    Err(bad("size", &display_size(bytes), accepted))
}

/// Splits `FIELD=VALUE` arguments; no field may come twice.
pub fn pairs(arguments: &[String]) -> Result<Vec<(&str, &str)>, FieldError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for argument in arguments {
        let pair = argument.split_once('=').filter(|(field, _)| !field.is_empty());
        let (field, value) = pair.ok_or_else(|| FieldError::NotAPair(argument.clone()))?;
        if pairs.iter().any(|(earlier, _)| *earlier == field) {
            return Err(FieldError::Twice(field.to_owned()));
        }
        pairs.push((field, value));
    }
    Ok(pairs)
}

/// Parses a comma-separated list; no value may come twice.
pub fn list<T: PartialEq>(
    field: &'static str,
    value: &str,
    parse: impl Fn(&str) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let mut all = Vec::new();
    for text in value.split(',') {
        let one = parse(text)?;
        if all.contains(&one) {
            return Err(bad(field, value, "every value once"));
        }
        all.push(one);
    }
    Ok(all)
}

/// Refuses orders that are one and the same in a format.
pub fn distinct(orders: &[OrderName], formats: &[FormatName]) -> Result<(), FieldError> {
    for format in formats {
        for (k, order) in orders.iter().enumerate() {
            let same = |other: &&OrderName| other.in_format(*format) == order.in_format(*format);
            if let Some(other) = orders[..k].iter().find(same) {
                let found = format!("{other},{order}");
                let accepted = format!("orders that differ; both are {other} in {}", format.name());
                return Err(bad("order", &found, accepted));
            }
        }
    }
    Ok(())
}

/// A number in digits alone.
pub fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Bytes, from a number with an optional binary unit: `4096`, `512MiB`, `10G`.
pub fn parse_size(text: &str) -> Result<u64, FieldError> {
    const ACCEPTED: &str = "a size such as 64MiB or 10GiB";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return Err(bad("size", text, ACCEPTED)),
    };
    let number: u64 = self::number(number).ok_or_else(|| bad("size", text, ACCEPTED))?;
    number.checked_mul(1 << shift).ok_or_else(|| bad("size", text, ACCEPTED))
}

/// Bytes in the largest binary unit that divides them.
pub fn display_size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    match unit {
        Some((shift, name)) if bytes > 0 => format!("{}{name}", bytes >> shift),
        _ => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_and_its_other_name_are_refused_together() {
        let orders = [OrderName::Number(0), OrderName::Pmd, OrderName::Number(9)];
        assert!(distinct(&orders, &FormatName::ALL).is_err());
        assert!(distinct(&orders[..2], &FormatName::ALL).is_ok());
    }

    #[test]
    fn sizes_parse_and_print_in_binary_units() {
        for (text, bytes) in [("4096", 4096), ("64K", 65536), ("10GiB", 10 << 30), ("0", 0)] {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        assert_eq!(display_size(10 << 30), "10GiB");
        assert_eq!(display_size(3 << 19), "1536KiB");
        assert_eq!(display_size(7), "7B");
        assert_eq!(display_size(0), "0B");
        for text in ["", "GiB", "-1", "1.5G", "10Q", "99999999999999999999", "20000000T"] {
            assert!(parse_size(text).is_err(), "{text} is no size");
        }
    }
}
