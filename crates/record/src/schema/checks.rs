//! Checks of one number, one text or one list, of which rules are made.

use super::problem::Problem;
use std::borrow::Cow;

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

/// Returns true if a character changes the display of text near it: control characters, and those
/// of Unicode that turn the direction of text or end a line. After one that turns it, `30.00 %` is
/// displayed as `% 00.03`.
///
/// ```
/// use pageout_record::schema::acts_on_display;
///
/// assert!("ns\u{202e}".contains(acts_on_display) && !"ns/4K page".contains(acts_on_display));
/// ```
pub fn acts_on_display(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || turns || ends_line
}

/// Returns a text from a file, or a file's name, as a part of a line: characters that
/// [act on the display](acts_on_display), line ends too, are escaped.
///
/// ```
/// use pageout_record::schema::shown;
///
/// assert_eq!(shown("a\nerror: b\u{1b}[2J"), r"a\nerror: b\u{1b}[2J");
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(acts_on_display) {
        return text.into();
    }
    let mut escaped = String::new();
    for c in text.chars() {
        if acts_on_display(c) { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped.into()
}

/// Checks that a text can be shown.
pub(super) fn printable(what: &'static str, text: &str) -> Result<(), Problem> {
    if text.contains(acts_on_display) {
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
