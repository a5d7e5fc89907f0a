//! What a stage tells: its title, and all that it finds wrong.

use anyhow::{Result, bail};

/// Prints a stage's title.
pub(super) fn begin(title: &str) {
    println!("\n== {title}");
}

/// Fails with all that was found, if anything was.
pub(super) fn none(found: &[String], what: &str) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    bail!("{what}:\n  {}", found.join("\n  "))
}
