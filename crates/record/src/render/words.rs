//! Pieces of titles.

/// `order=4 young=100%`.
pub fn pairs<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let pairs = labels.into_iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A name with its unit, if it has one.
pub fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}
