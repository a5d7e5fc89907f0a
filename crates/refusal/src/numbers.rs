//! Invalid values, and whole numbers within bounds.

use std::ops::RangeInclusive;

/// A text that is no valid value, such as a number out of bounds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found}{problem}; accepted: {accepted}", found = quoted(found))]
pub struct BadValue {
    found: String,
    problem: String,
    accepted: String,
}

impl BadValue {
    /// Returns the error for a text `found`. `problem` is the end of a sentence that begins with
    /// the text, and `accepted` describes valid input.
    pub fn new(
        found: impl Into<String>,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        let (found, problem) = (found.into(), problem.into());
        Self { found, problem, accepted: accepted.into() }
    }

    /// Returns the end of the sentence: the fault of the text.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// Parses a text of digits.
///
/// # Errors
/// [`BadValue`] names the fault of the text, and the accepted numbers.
pub fn whole_number(text: &str, bounds: RangeInclusive<u64>) -> Result<u64, BadValue> {
    let problem = match digits(text) {
        Ok(number) if bounds.contains(&number) => return Ok(number),
        Ok(number) if number < *bounds.start() => format!("is less than {}", bounds.start()),
        Ok(_) => format!("is more than {}", most(&bounds)),
        Err(Problem::TooLarge) => format!("is more than {}", most(&bounds)),
        Err(Problem::Other(problem)) => problem.to_owned(),
    };
    let accepted = format!("a whole number from {} to {}", bounds.start(), most(&bounds));
    Err(BadValue::new(text, problem, accepted))
}

enum Problem {
    TooLarge,
    Other(&'static str),
}

fn digits(text: &str) -> Result<u64, Problem> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if is_number(text) {
        return text.parse().map_err(|_| Problem::TooLarge);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let negative = text.strip_prefix('-').is_some_and(is_number);
    Err(Problem::Other(match text {
        "" => "nothing is given",
        _ if negative => "is negative",
        _ if is_number(whole) && is_number(fraction) => "is not a whole number",
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => "has more than digits",
        _ => "is not a number",
    }))
}

fn most(bounds: &RangeInclusive<u64>) -> String {
    match *bounds.end() {
        u64::MAX => "2^64 - 1".to_owned(),
        most => most.to_string(),
    }
}

fn quoted(found: &str) -> String {
    if found.is_empty() { String::new() } else { format!("`{found}` ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_within_bounds_is_read() {
        assert_eq!(whole_number("1", 1..=1000), Ok(1));
        assert_eq!(whole_number("01000", 1..=1000), Ok(1000));
        assert_eq!(whole_number("18446744073709551615", 0..=u64::MAX), Ok(u64::MAX));
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_is_accepted() {
        let message = |text| whole_number(text, 1..=1000).unwrap_err().to_string();
        let accepted = "; accepted: a whole number from 1 to 1000";
        for (text, problem) in [
            ("many", "`many` is not a number"),
            ("0", "`0` is less than 1"),
            ("1001", "`1001` is more than 1000"),
            ("99999999999999999999", "`99999999999999999999` is more than 1000"),
            ("-1", "`-1` is negative"),
            ("1.5", "`1.5` is not a whole number"),
            ("1,000", "`1,000` has more than digits"),
            ("10k", "`10k` has more than digits"),
            ("-", "`-` is not a number"),
            ("", "nothing is given"),
        ] {
            assert_eq!(message(text), format!("{problem}{accepted}"));
        }
        let seed = whole_number("x", 0..=u64::MAX).unwrap_err().to_string();
        assert!(seed.ends_with("from 0 to 2^64 - 1"), "{seed}");
    }
}
