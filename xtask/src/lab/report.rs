//! The output of a stage: its title, and all the faults it finds.

use anyhow::{Result, bail};

/// Prints a stage's title.
pub(super) fn begin(title: &str) {
    println!("\n== {title}");
}

/// Fails with all the faults that were found, if there are any.
pub(super) fn none(found: &[String], what: &str) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    bail!("{what}:\n  {}", found.join("\n  "))
}
