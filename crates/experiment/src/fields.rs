//! Scenario fields as text: `order=4 size=10GiB`, or lists if a comparison wants several values.

use crate::formats::FormatName;
use crate::kinds::Kind;
use pageout_refusal::{BadValue, UnknownName, one_of};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The reasons for which a scenario's fields are refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FieldError {
    /// An argument that is not `FIELD=VALUE`.
    #[error("`{0}` is not a field: expected FIELD=VALUE, such as order=4")]
    NotAPair(String),
    /// A field that no scenario has.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A field that the scenario has only on another ground or with another field, or that only
    /// other scenarios have.
    #[error("field `{field}`: {problem}")]
    Elsewhere {
        /// The field.
        field: String,
        /// The ground, field or scenario that it belongs to, and what to do.
        problem: String,
    },
    /// A field given twice.
    #[error("field `{0}` is given twice; several values have commas between: {0}=A,B")]
    Twice(String),
    /// A value that is not among the field's names.
    #[error("field `{field}`: {unknown}")]
    Name {
        /// The field.
        field: Cow<'static, str>,
        /// The value.
        unknown: UnknownName,
    },
    /// A value out of the field's bounds.
    #[error("field `{field}`: {bad}")]
    Value {
        /// The field.
        field: Cow<'static, str>,
        /// The value.
        bad: BadValue,
    },
    /// Values that are each accepted but not together.
    #[error("scenario {scenario}: {problem}")]
    Together {
        /// The scenario.
        scenario: Cow<'static, str>,
        /// The reason, in words.
        problem: String,
    },
}

impl FieldError {
    /// Returns the error for a field that no scenario has. `names` are the fields of `scenario`;
    /// the command `listed_by` describes them.
    pub fn unknown(scenario: &str, field: &str, names: &[&str], listed_by: String) -> Self {
        let unknown = UnknownName::new("field", field, names.iter().copied());
        Self::Unknown(unknown.of(format!("scenario {scenario}")).listed_by(listed_by))
    }

    /// Returns the error for a field that the scenarios `others` have and `scenario`, whose fields
    /// are `names`, does not.
    pub fn of_others(scenario: &str, field: &str, others: &[&str], names: &[&str]) -> Self {
        // Three are enough to see where it belongs.
        let others = match others {
            [a, b, c, more @ ..] if !more.is_empty() => {
                format!("{a}, {b}, {c} and {} more", more.len())
            }
            _ => one_of(others),
        };
        let names = one_of(names);
        let problem =
            format!("{scenario} has no such field; accepted: {names} (it is of {others})");
        Self::Elsewhere { field: field.to_owned(), problem }
    }

    /// Returns the error for values that do not go together.
    pub fn together(scenario: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Self {
        Self::Together { scenario: scenario.into(), problem: problem.into() }
    }
}

/// A folio order by number, or the order whose folio is as large as a PMD leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderName {
    /// An order by number.
    Number(u8),
    /// The order of a PMD-sized folio.
    Pmd,
}

impl OrderName {
    /// Returns the order as a number in `format`.
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

/// Returns the error for a value that a field does not accept. `problem` ends a sentence that
/// begins with the value, such as `is negative`.
pub fn bad(
    field: impl Into<Cow<'static, str>>,
    found: &str,
    problem: impl Into<String>,
    accepted: impl Into<String>,
) -> FieldError {
    FieldError::Value { field: field.into(), bad: BadValue::new(found, problem, accepted) }
}

/// Returns the error for a text that is no value of a kind.
pub(crate) fn refused<K: Kind>(field: &'static str, found: &str) -> FieldError {
    let problem = match found {
        "" => Some("nothing is given after the equals sign".to_owned()),
        _ => K::problem(found),
    };
    if let Some(problem) = problem {
        return bad(field, found, problem, K::accepted());
    }
    let names = K::names();
    let unknown = UnknownName::new("value", found, names.iter().map(String::as_str));
    FieldError::Name { field: field.into(), unknown: unknown.accepting(K::accepted()) }
}

/// Checks the field `size`: a multiple of `folio` bytes (a unit that `what` names), up to `most`
/// bytes.
///
/// # Errors
/// [`FieldError::Value`] says what is accepted.
pub fn check_size(bytes: u64, folio: u64, what: &str, most: u64) -> Result<(), FieldError> {
    let [found, unit, limit] = [bytes, folio, most].map(display_size);
    let problem = if bytes > most {
        format!("is more than {limit}")
    } else if bytes < folio {
        format!("is less than the {what} size, {unit}")
    } else if !bytes.is_multiple_of(folio) {
        format!("is not a multiple of the {what} size, {unit}")
    } else {
        return Ok(());
    };
    Err(bad("size", &found, problem, format!("multiples of {unit} up to {limit}")))
}

/// Checks the field `reclaim`: `percent` of `bytes` is a page of `page` bytes or more. Costs are
/// told for each page, so a request for none has no figures.
///
/// # Errors
/// [`FieldError::Value`] says what is accepted.
pub fn check_request(bytes: u64, percent: u8, page: u64) -> Result<(), FieldError> {
    let least = (100 * page).div_ceil(bytes.max(1));
    if u64::from(percent) >= least {
        return Ok(());
    }
    let [bytes, page] = [bytes, page].map(display_size);
    let accepted = if least <= 100 {
        format!("{least}% or more, or more memory")
    } else {
        "more memory".to_owned()
    };
    let problem = format!("of {bytes} is less than a page, {page}");
    Err(bad("reclaim", &format!("{percent}%"), problem, accepted))
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
    field: impl Into<Cow<'static, str>>,
    value: &str,
    parse: impl Fn(&str) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let mut all = Vec::new();
    for text in value.split(',') {
        let one = parse(text)?;
        if all.contains(&one) {
            return Err(twice(field, value));
        }
        all.push(one);
    }
    Ok(all)
}

/// Returns the error for a list that has a value twice.
pub(crate) fn twice(field: impl Into<Cow<'static, str>>, list: &str) -> FieldError {
    bad(field, list, "has a value twice", "every value once")
}

/// Refuses two orders that are the same number in one of the formats.
pub fn distinct(orders: &[OrderName], formats: &[FormatName]) -> Result<(), FieldError> {
    for format in formats {
        for (k, order) in orders.iter().enumerate() {
            let same = |other: &&OrderName| other.in_format(*format) == order.in_format(*format);
            if let Some(other) = orders[..k].iter().find(same) {
                let found = format!("{other},{order}");
                let problem = format!("is one order twice in {}", format.name());
                return Err(bad("order", &found, problem, "orders that differ"));
            }
        }
    }
    Ok(())
}

/// Reads a number that consists only of digits.
pub fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Reads a number of bytes with an optional binary unit: `4096`, `512MiB`, `10G`.
///
/// # Errors
/// A text that says what is wrong, as the end of a sentence that begins with the size.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    if digits.is_empty() || unit.starts_with('.') {
        return Err(no_whole_size(text));
    }
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return Err(format!("has the unknown unit `{unit}` (B, KiB, MiB, GiB or TiB)")),
    };
    let bytes = number(digits).and_then(|number: u64| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "is more than 2^64 bytes".to_owned())
}

/// Describes what is wrong with a size that has no whole number. If the size is a fraction, it
/// suggests the same size in smaller units.
fn no_whole_size(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (fraction, unit) = text.split_at(end);
    let smaller = match unit {
        "K" | "KiB" => "B",
        "M" | "MiB" => "KiB",
        "G" | "GiB" => "MiB",
        "T" | "TiB" => "GiB",
        _ => "",
    };
    let in_smaller = fraction.parse().ok().map(|number: f64| number * 1024.0);
    match in_smaller.filter(|number| !smaller.is_empty() && number.fract() == 0.0) {
        Some(number) => format!("is not a whole number of {unit}: write {number}{smaller}"),
        None if text.starts_with('-') => "is negative".to_owned(),
        None if end > 0 => "is not a whole number".to_owned(),
        None => "is not a size".to_owned(),
    }
}

/// Writes bytes in the largest binary unit that divides them.
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
        for (text, problem) in [
            ("", "is not a size"),
            ("GiB", "is not a size"),
            ("-1", "is negative"),
            ("1.5G", "is not a whole number of G: write 1536MiB"),
            ("0.3MiB", "is not a whole number"),
            ("1.5", "is not a whole number"),
            ("10MB", "has the unknown unit `MB` (B, KiB, MiB, GiB or TiB)"),
            ("99999999999999999999", "is more than 2^64 bytes"),
            ("20000000T", "is more than 2^64 bytes"),
        ] {
            assert_eq!(parse_size(text), Err(problem.to_owned()), "{text}");
        }
    }
}
