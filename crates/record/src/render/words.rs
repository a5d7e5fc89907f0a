//! Pieces of titles.

/// The number of digits of a checksum that text shows.
const DIGITS: usize = 12;

/// Writes labels: `order=4 young=100%`, checksums with their first digits.
pub fn pairs<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let pairs = labels.into_iter().map(|(name, value)| format!("{name}={}", shortened(value)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Returns the first digits of a SHA-256, and any other value as it is.
fn shortened(value: &str) -> &str {
    let is_checksum = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_checksum { &value[..DIGITS] } else { value }
}

/// Returns a name with its unit, if it has one.
pub fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}
