//! Installs the programs and files that the tests need besides rustup and a C toolchain, and
//! reports them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cmd;

/// The toolchain Miri runs on, pinned so that a run can be repeated.
pub(crate) const NIGHTLY: &str = "nightly-2026-05-20";

/// Targets whose code the tests build: those of the disassembly test, and the bare-metal ones.
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-none",
    "riscv64gc-unknown-none-elf",
    "x86_64-unknown-none",
];

/// Programs that tests run, and their Debian packages: recorders of real programs' page traces, the
/// linter of the script for real machines, and the program that patches kernels.
const TEST_PROGRAMS: [(&str, &str); 4] = [
    ("valgrind", "valgrind"),
    ("qemu-x86_64", "qemu-user"),
    ("shellcheck", "shellcheck"),
    ("patch", "patch"),
];

/// The oldest Python that the package takes, for Python and for people.
const PYTHON: (&str, &str) = ("(3, 11)", "3.11");

/// Programs that look at pages in a browser, and their Debian packages.
const PAGE_PROGRAMS: [(&str, &str); 3] =
    [("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")];

/// Programs that build and boot the kernel in C, and their Debian packages.
const KERNEL_PROGRAMS: [(&str, &str); 2] = [
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-system-aarch64", "qemu-system-arm"),
];

/// Programs that build and boot kernels, and their Debian packages.
const LAB_PROGRAMS: [(&str, &str); 12] = [
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("make", "make"),
    ("gcc", "gcc"),
    ("xz", "xz-utils"),
    ("patch", "patch"),
    ("cpio", "cpio"),
    ("/usr/sbin/mkfs.xfs", "xfsprogs"),
];

/// Debian packages without a program that building and booting kernels needs. A file of each shows
/// that it is installed.
const LAB_FILES: [(&str, &str); 4] = [
    ("/usr/src/linux-source-6.12.tar.xz", "linux-source-6.12"),
    ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
    ("/usr/include/libelf.h", "libelf-dev"),
    ("/usr/include/openssl/ssl.h", "libssl-dev"),
];

/// Installs everything a whole run needs.
pub(crate) fn all() -> Result<()> {
    c_toolchain()?;
    components()?;
    targets()?;
    miri()?;
    packages(&without_program(&TEST_PROGRAMS))?;
    python()?;
    kernel()?;
    pages()
}

/// Installs Python with what makes environments, and checks that it is new enough.
pub(crate) fn python() -> Result<()> {
    let has = |program: &str| {
        cmd::output(cmd::program("python3").args(["-c", program])).map(|said| said.trim() == "True")
    };
    if !has("import ensurepip, venv; print(True)").is_ok_and(|has| has) {
        packages(&["python3", "python3-venv"])?;
    }
    let (least, said) = PYTHON;
    if !has(&format!("import sys; print(sys.version_info >= {least})"))? {
        bail!("python3 is too old: {said} or newer is needed");
    }
    Ok(())
}

/// Installs what looking at pages needs.
pub(crate) fn pages() -> Result<()> {
    packages(&without_program(&PAGE_PROGRAMS))
}

/// Installs what building and booting the kernel in C needs.
pub(crate) fn kernel() -> Result<()> {
    targets()?;
    packages(&without_program(&KERNEL_PROGRAMS))
}

/// Installs what building and booting Linux needs.
pub(crate) fn lab() -> Result<()> {
    let mut missing = without_program(&LAB_PROGRAMS);
    let files = LAB_FILES.iter().filter(|(file, _)| !Path::new(file).exists());
    missing.extend(files.map(|(_, package)| *package));
    packages(&missing)
}

/// Returns true if the lab finds the source of Linux 7.3: installed, or fetched into its cache.
pub(crate) fn has_linux_7_3() -> bool {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    let cache = absolute("XDG_CACHE_HOME").or_else(home);
    let fetched = cache.map(|cache| {
        cache.join("pageout/lab/fetched/linux-source-7.3").join("linux-source-7.3.tar.xz")
    });
    let installed = PathBuf::from("/usr/src/linux-source-7.3.tar.xz");
    fetched.into_iter().chain([installed]).any(|path| path.is_file())
}

/// Adds the pinned toolchain's targets. rustup does not add them itself if its automatic
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

/// Installs the nightly toolchain, with what runs Miri.
pub(crate) fn miri() -> Result<()> {
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

/// Returns those of the names that `installed` lacks (one a line, perhaps followed by a target).
fn missing<'a>(names: &[&'a str], installed: &str) -> Vec<&'a str> {
    let has = |name: &str| {
        installed.lines().any(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    names.iter().copied().filter(|name| !has(name)).collect()
}

/// Returns a command for the cargo of the nightly toolchain.
pub(crate) fn nightly_cargo() -> Command {
    let mut command = cmd::program("rustup");
    command.args(["run", NIGHTLY, "cargo"]);
    // Cargo passes its own toolchain to the programs that it runs.
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(variable);
    }
    command
}

fn c_toolchain() -> Result<()> {
    if runs("cc") {
        return Ok(());
    }
    bail!("no C toolchain found (`cc`): install gcc or clang; on Debian or Ubuntu, build-essential")
}

/// Returns the packages of those programs that are missing.
fn without_program<'a>(needed: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let missing = needed.iter().filter(|(program, _)| !is_there(program));
    missing.map(|(_, package)| *package).collect()
}

/// Returns true if a program can be started, even if it refuses the option.
fn is_there(program: &str) -> bool {
    cmd::program(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// Installs packages, on systems where it can.
fn packages(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let root = cmd::output(cmd::program("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root || !is_debian(&fs::read_to_string("/etc/os-release").unwrap_or_default()) {
        bail!("programs are missing: install the packages `{list}` and run this again");
    }
    println!("xtask: installing the Debian packages {list} with apt-get");
    cmd::run(cmd::program("apt-get").arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends"];
    let mut apt = cmd::program("apt-get");
    cmd::run(apt.env("DEBIAN_FRONTEND", "noninteractive").args(install).args(packages))
}

fn runs(program: &str) -> bool {
    cmd::output(cmd::program(program).arg("--version")).is_ok()
}

/// Returns true if an `os-release` file is Debian's, Ubuntu's or a derivative's.
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
