//! Pieces of titles.

/// Digits of a checksum that text shows.
const DIGITS: usize = 12;

/// `order=4 young=100%`, checksums with their first digits.
pub fn pairs<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let pairs = labels.into_iter().map(|(name, value)| format!("{name}={}", shortened(value)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A SHA-256 by its first digits, anything else as it is.
fn shortened(value: &str) -> &str {
    let is_checksum = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_checksum { &value[..DIGITS] } else { value }
}

/// A name with its unit, if it has one.
pub fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}
