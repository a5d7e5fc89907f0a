//! The header for C, which is generated from the sources of `pageout-capi`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cmd;

/// The sources of what C sees, in the order of the header.
const SOURCES: [&str; 12] = [
    "types.rs",
    "error.rs",
    "entry_points.rs",
    "engine/types.rs",
    "engine/world.rs",
    "engine/handle.rs",
    "engine/setup.rs",
    "engine/space.rs",
    "engine/pages.rs",
    "engine/reclaim.rs",
    "engine/memcg.rs",
    "engine/stat.rs",
];

/// Generates the header again.
pub(crate) fn update() -> Result<()> {
    let path = committed();
    fs::write(&path, made()?).with_context(|| format!("cannot write {path:?}"))
}

fn folder() -> PathBuf {
    cmd::root().join("crates/capi")
}

fn committed() -> PathBuf {
    folder().join("include/pageout.h")
}

/// Returns the header as the sources now make it.
fn made() -> Result<String> {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml"))
        .map_err(anyhow::Error::msg)
        .context("crates/capi/cbindgen.toml")?;
    let sources = SOURCES.iter().map(|name| folder().join("src").join(name));
    let bindings = sources
        .fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src)
        .generate()
        .context("cbindgen reads crates/capi/src")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).context("a header of text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_header_is_what_the_sources_make() {
        let text = fs::read_to_string(committed()).expect("the header can be read");
        let current = made().expect("the header can be made") == text;
        assert!(current, "include/pageout.h is stale: `cargo xtask header` makes it anew");
    }
}
