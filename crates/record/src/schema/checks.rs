//! Checks of one number, one text or one list, of which rules are made.

use super::problem::Problem;

/// Checks that a number is neither infinite nor no number.
pub(super) fn finite(what: impl FnOnce() -> String, value: f64) -> Result<(), Problem> {
    if value.is_finite() { Ok(()) } else { Err(Problem::NotFinite { what: what(), value }) }
}

/// Checks a text that must not be empty.
pub(super) fn named(what: &'static str, text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::Unnamed { what });
    }
    printable(what, text)
}

/// Checks that a text can be shown.
pub(super) fn printable(what: &'static str, text: &str) -> Result<(), Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::ControlCharacter { what, text: text.to_owned() });
    }
    Ok(())
}

/// Checks that there are as many as are needed.
pub(super) fn as_many(what: &'static str, needed: usize, found: usize) -> Result<(), Problem> {
    if needed == found { Ok(()) } else { Err(Problem::Count { what, needed, found }) }
}

/// Checks that numbers are finite and each is above the one before.
pub(super) fn ascending(what: &'static str, values: &[f64]) -> Result<(), Problem> {
    for (index, value) in values.iter().enumerate() {
        finite(|| format!("{what}[{index}]"), *value)?;
    }
    match values.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(Problem::NotAscending { what, before: pair[0], after: pair[1] }),
        None => Ok(()),
    }
}
