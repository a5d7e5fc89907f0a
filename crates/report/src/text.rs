//! Pieces of sentences.

use maud::{Markup, html};
use pageout_record::render::figure;
pub(crate) use pageout_record::render::{pairs, with_unit};
use pageout_record::schema::{Basis, Labels};
use serde_json::Number;

/// Returns a number as its digits in JSON.
pub(crate) fn json(value: f64) -> String {
    Number::from_f64(value).map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// Returns a figure as tables print it, with all of its digits for programs that read the page.
pub(crate) fn number(basis: Basis, value: f64) -> Markup {
    html! { data value=(json(value)) { (figure(basis, value)) } }
}

/// Returns true if a change would be printed as no change.
pub(crate) fn is_tiny(percent: f64) -> bool {
    percent != 0.0 && percent.abs() < 0.005
}

/// Returns a change in per cent with its sign.
pub(crate) fn signed(percent: f64) -> String {
    match is_tiny(percent) {
        true => "less than 0.01 %".to_owned(),
        false => format!("{:+.2} %", percent + 0.0),
    }
}

/// Returns a variant as text.
pub(crate) fn variant(labels: &Labels) -> String {
    if labels.is_empty() { "no variant".to_owned() } else { pairs(labels) }
}

/// Returns a number with its noun: `1 chart`, `3 charts`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns the first `most` of a list, and the number of the others.
pub(crate) fn first(list: &[String], most: usize, separator: &str) -> String {
    let shown = list[..list.len().min(most)].join(separator);
    match list.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown}{separator}and {more} more"),
    }
}
