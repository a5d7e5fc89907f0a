//! The crates that embedders link, as a registry would have them: packaged without a warning,
//! unpacked, and built by a crate outside this workspace for machines without an operating system.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cmd;

/// The crates that embedders link.
pub(crate) const EMBEDDED: [&str; 4] =
    ["pageout-uapi", "pageout-paging", "pageout-reclaim", "pageout-capi"];

/// Targets that those crates have to build for, with neither `std` nor an allocator.
pub(crate) const BARE_METAL: [&str; 3] =
    ["aarch64-unknown-none", "riscv64gc-unknown-none-elf", "x86_64-unknown-none"];

/// The source of the crate that depends on the packages.
const EMBEDDER: &str = include_str!("../embedder/lib.rs");

/// Files of a package besides its sources.
const WITH_EACH: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Packages the crates and builds the embedder of them for each target.
pub(crate) fn run() -> Result<()> {
    let target = cmd::target();
    let packages = package(&target)?;
    let embedder = make_embedder(&target.join("embedder"), &packages)?;
    for triple in BARE_METAL {
        let mut command = cmd::cargo(&["build", "--quiet", "--offline", "--target", triple]);
        command.args(["--package", "embedder", "--package", "pageout-capi", "--target-dir"]);
        cmd::run(command.arg(embedder.join("target")).current_dir(&embedder))?;
    }
    Ok(())
}

/// Packages the crates and unpacks them; returns each one's folder.
fn package(target: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut command = cmd::cargo(&["package", "--locked", "--no-verify", "--allow-dirty"]);
    command.args(EMBEDDED.iter().flat_map(|package| ["--package", package]));
    let said = cmd::complaints(&mut command)?;
    if let Some(warning) = said.lines().find(|line| is_warning(line)) {
        bail!("packages are not clean: {warning}");
    }
    let folder = target.join("embedder/packages");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {folder:?}"))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder:?}"))?;
    EMBEDDED.iter().map(|name| unpack(target, &folder, name)).collect()
}

/// Returns true for a warning. Cargo's warnings about tests are none: packages leave tests out,
/// since they need crates that are not published.
fn is_warning(line: &str) -> bool {
    line.starts_with("warning: ") && !line.starts_with("warning: ignoring test ")
}

fn unpack(target: &Path, folder: &Path, name: &'static str) -> Result<(&'static str, PathBuf)> {
    let versioned = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
    let file = target.join("package").join(format!("{versioned}.crate"));
    cmd::output(cmd::program("tar").arg("-xzf").arg(file).arg("-C").arg(folder))?;
    let unpacked = folder.join(versioned);
    for file in WITH_EACH {
        if !unpacked.join(file).is_file() {
            bail!("the package of {name} has no {file}");
        }
    }
    Ok((name, unpacked))
}

/// Writes a crate that depends on the packages and on nothing of this workspace.
fn make_embedder(folder: &Path, packages: &[(&str, PathBuf)]) -> Result<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let edition = "[package]\nname = \"embedder\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
    let mut manifest = format!("{edition}\n[workspace]\n\n[dependencies]\n");
    for (name, _) in packages {
        manifest += &format!("{name} = \"{version}\"\n");
    }
    manifest += "\n[patch.crates-io]\n";
    for (name, path) in packages {
        manifest += &format!("{name} = {{ path = {path:?} }}\n");
    }
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {path:?}"))
    };
    fs::create_dir_all(folder.join("src"))?;
    write("Cargo.toml", &manifest)?;
    write("src/lib.rs", EMBEDDER)?;
    // The versions that are tested here, which need no network.
    fs::copy(cmd::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_left_out_without_a_warning() {
        assert!(!is_warning("warning: ignoring test `walk` as `tests/walk.rs` is not included"));
        assert!(!is_warning("   Packaging pageout-capi v0.3.0"));
        assert!(is_warning("warning: manifest has no documentation, homepage or repository"));
    }

    /// The minimum Rust version of the manifests is the version that builds everything here.
    #[test]
    fn the_minimum_rust_version_is_the_one_tested() {
        let toolchain = include_str!("../../rust-toolchain.toml");
        let tested = concat!("channel = \"", env!("CARGO_PKG_RUST_VERSION"), ".0\"");
        assert!(toolchain.lines().any(|line| line == tested), "{tested} in rust-toolchain.toml");
    }
}
