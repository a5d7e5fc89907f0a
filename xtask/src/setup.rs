//! Installs what the tests need beside rustup and a C toolchain, and says so.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cmd;

/// The toolchain Miri runs on, pinned so that a run can be repeated.
pub(crate) const NIGHTLY: &str = "nightly-2026-05-20";

/// Targets whose code the tests build: the disassembly's and the bare-metal ones.
const TARGETS: [&str; 3] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-none", "riscv64gc-unknown-none-elf"];

/// Installs everything a whole run needs.
pub(crate) fn all() -> Result<()> {
    c_toolchain()?;
    components()?;
    targets()?;
    miri()?;
    valgrind()
}

/// Adds the pinned toolchain's targets. rustup does not do it itself where its automatic
/// installation is off.
pub(crate) fn targets() -> Result<()> {
    let installed = cmd::output(cmd::program("rustup").args(["target", "list", "--installed"]))
        .context("rustup tells which targets are installed")?;
    let missing = missing(&TARGETS, &installed);
    if missing.is_empty() {
        return Ok(());
    }
    println!("xtask: adding the targets {} with rustup", missing.join(", "));
    cmd::run(cmd::program("rustup").args(["target", "add"]).args(missing))
}

fn components() -> Result<()> {
    let list = ["component", "list", "--installed"];
    let installed = cmd::output(cmd::program("rustup").args(list))?;
    let missing = missing(&["clippy", "rustfmt"], &installed);
    if missing.is_empty() {
        return Ok(());
    }
    println!("xtask: adding the components {} with rustup", missing.join(", "));
    cmd::run(cmd::program("rustup").args(["component", "add"]).args(missing))
}

fn miri() -> Result<()> {
    let list = ["component", "list", "--installed", "--toolchain", NIGHTLY];
    // An error here means that the toolchain itself is missing.
    let installed = cmd::output(cmd::program("rustup").args(list)).unwrap_or_default();
    if missing(&["miri", "rust-src"], &installed).is_empty() {
        return Ok(());
    }
    println!("xtask: installing {NIGHTLY} with miri and rust-src");
    let install = ["toolchain", "install", NIGHTLY, "--profile", "minimal"];
    let parts = ["--component", "miri", "--component", "rust-src"];
    cmd::run(cmd::program("rustup").args(install).args(parts))
}

/// The names of which `installed` (one a line, perhaps followed by a target) has none.
fn missing<'a>(names: &[&'a str], installed: &str) -> Vec<&'a str> {
    let has = |name: &str| {
        installed.lines().any(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    names.iter().copied().filter(|name| !has(name)).collect()
}

fn c_toolchain() -> Result<()> {
    if runs("cc") {
        return Ok(());
    }
    bail!("no C toolchain found (`cc`): install gcc or clang; on Debian or Ubuntu, build-essential")
}

/// Valgrind records the page traces of real programs.
fn valgrind() -> Result<()> {
    if runs("valgrind") {
        return Ok(());
    }
    let root = cmd::output(cmd::program("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root || !is_debian(&fs::read_to_string("/etc/os-release").unwrap_or_default()) {
        bail!("Valgrind is missing: install the package `valgrind` and run this again");
    }
    println!("xtask: installing the Debian package valgrind with apt-get");
    cmd::run(cmd::program("apt-get").arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends", "valgrind"];
    cmd::run(cmd::program("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(install))
}

fn runs(program: &str) -> bool {
    cmd::output(cmd::program(program).arg("--version")).is_ok()
}

/// Whether an `os-release` file is Debian's, Ubuntu's or a relative's.
fn is_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .any(|id| id == "debian" || id == "ubuntu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rustup_lists_is_not_installed_again() {
        let listed = "clippy-x86_64-unknown-linux-gnu\nrust-src\nrust-docs-x86_64\n";
        assert_eq!(missing(&["clippy", "rust-src"], listed), [""; 0]);
        assert_eq!(missing(&["rustfmt", "clippy", "miri"], listed), ["rustfmt", "miri"]);
        assert_eq!(missing(&["rust-sr"], listed), ["rust-sr"]);
    }

    #[test]
    fn debian_and_its_relatives_are_known() {
        assert!(is_debian("NAME=\"Debian GNU/Linux\"\nID=debian\n"));
        assert!(is_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian("NAME=debian\nID=fedora\nID_LIKE=\"rhel centos\"\n"));
    }

    #[test]
    fn the_toolchain_file_names_the_bare_metal_targets() {
        let file = include_str!("../../rust-toolchain.toml");
        for target in TARGETS.iter().filter(|target| target.contains("-none")) {
            assert!(file.contains(&format!("\"{target}\"")), "{target}");
        }
    }
}
