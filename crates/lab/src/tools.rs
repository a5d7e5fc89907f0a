//! The programs that the lab runs, and the Debian packages that have them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::Cache;
use super::release::Release;
use super::source::{Source, tarball};
use super::target::Arch;

/// Something that has to be there, and the Debian package that has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Need {
    what: What,
    package: Cow<'static, str>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// A program.
    Program(String),
    /// A package that dpkg lists as installed.
    Package(String),
    /// A header of the C compiler's.
    Header { compiler: String, header: &'static str },
    /// A C library for statically linked programs.
    StaticLibrary { compiler: String },
    /// The source of a release, which is known to be missing.
    Source(Release),
}

/// The programs, files and sources that are missing.
#[derive(PartialEq, Eq, Debug, thiserror::Error)]
#[error("missing {}\ninstall with: apt-get install {}{}",
    listed.join(", "), packages.join(" "), or_fetched(without_source))]
pub struct Missing {
    /// Their names, each with its package.
    listed: Vec<String>,
    /// The packages, each once.
    packages: Vec<String>,
    /// The releases whose source is missing.
    without_source: Vec<Release>,
}

/// Returns the part of the message about sources that can be fetched or given instead.
fn or_fetched(without_source: &[Release]) -> String {
    let fetch = |release: &Release| format!("`pageout lab source --kernel {release}`");
    let fetches: Vec<String> = without_source.iter().map(fetch).collect();
    if fetches.is_empty() {
        return String::new();
    }
    format!(
        "\nwithout root, or where Debian's release has no such package, the source is fetched \
         with {}\n(or name a kernel source tree of your own with --tree DIR)",
        fetches.join(" and ")
    )
}

/// Returns the needs of building a kernel.
pub(super) fn to_build(arch: Arch) -> Vec<Need> {
    let mut needs = vec![
        program("make", "make"),
        program("gcc", "gcc"),
        program("flex", "flex"),
        program("bison", "bison"),
        program("bc", "bc"),
        git(),
        program("setpriv", "util-linux"),
        program(&arch.compiler(), arch.compiler_packages()[0]),
    ];
    if arch == Arch::X86_64 {
        // For objtool, which every x86-64 build runs.
        let header = What::Header { compiler: "gcc".to_owned(), header: "libelf.h" };
        needs.push(Need { what: header, package: "libelf-dev".into() });
    }
    needs
}

/// Returns the needs of a source.
pub(super) fn sources(source: &Source, cache: &Cache) -> Vec<Need> {
    let release = match source {
        Source::Debian(release) => release,
        Source::Tree(_) => return Vec::new(),
        Source::Commit(_) => return vec![git(), program("tar", "tar")],
    };
    let mut needs = vec![program("tar", "tar"), program("xz", "xz-utils")];
    if tarball(*release, cache).is_none() {
        needs.push(Need { what: What::Source(*release), package: release.package().into() });
    }
    needs
}

/// Returns the need of reading a series.
pub(super) fn git() -> Need {
    program("git", "git")
}

/// Returns the needs of fetching a source.
pub(super) fn to_fetch() -> Vec<Need> {
    vec![program("apt-get", "apt"), program("dpkg-deb", "dpkg")]
}

/// Returns the needs of booting a kernel with the benchmark.
pub(super) fn to_boot(arch: Arch) -> Vec<Need> {
    let library = What::StaticLibrary { compiler: arch.compiler() };
    vec![
        program(arch.qemu(), arch.qemu_package()),
        program("mkfs.xfs", "xfsprogs"),
        program("setpriv", "util-linux"),
        program(&arch.compiler(), arch.compiler_packages()[0]),
        Need { what: library, package: arch.compiler_packages()[1].into() },
    ]
}

/// Returns the need of a machine that stays on some CPUs.
pub(super) fn pinning() -> Need {
    program("taskset", "util-linux")
}

fn program(name: &str, package: &'static str) -> Need {
    Need { what: What::Program(name.to_owned()), package: package.into() }
}

/// Returns the need of a package that a workload takes to compile.
pub(super) fn package(name: &str) -> Need {
    Need { what: What::Package(name.to_owned()), package: name.to_owned().into() }
}

/// Checks that all needs are there.
///
/// # Errors
///
/// [`Missing`] lists all that are not, in one message.
pub(super) fn check(needs: &[Need]) -> Result<(), Missing> {
    let needs: BTreeSet<&Need> = needs.iter().collect();
    let missing: Vec<&Need> = needs.into_iter().filter(|need| !need.what.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let listed = missing.iter().map(|need| format!("{} (package {})", need.what, need.package));
    let packages: BTreeSet<&str> = missing.iter().map(|need| &*need.package).collect();
    let source = |need: &&Need| match need.what {
        What::Source(release) => Some(release),
        _ => None,
    };
    Err(Missing {
        listed: listed.collect(),
        without_source: missing.iter().filter_map(source).collect(),
        packages: packages.into_iter().map(str::to_owned).collect(),
    })
}

/// Finds a program in the directories of the user's path, and in the system's own directories,
/// which not every user's path has.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    directories.map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl What {
    fn is_there(&self) -> bool {
        match self {
            Self::Program(name) => find(name).is_some(),
            Self::Package(name) => is_installed(name),
            Self::Source(_) => false,
            Self::Header { compiler, header } => {
                find(compiler).is_none()
                    || compiles(compiler, &["-E"], &format!("#include <{header}>\n"))
            }
            Self::StaticLibrary { compiler } => {
                let main = "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n";
                find(compiler).is_none() || compiles(compiler, &["-static"], main)
            }
        }
    }
}

/// Returns true if dpkg lists a package as installed. Without dpkg every package counts as
/// installed, and the compiler reports those that are missing.
fn is_installed(package: &str) -> bool {
    let mut dpkg = Command::new("dpkg-query");
    let output = dpkg.args(["--show", "--showformat=${db:Status-Status}\n", package]).output();
    output.map_or(true, |output| output.stdout.starts_with(b"installed"))
}

/// Returns true if a compiler, which is there, compiles a text.
fn compiles(compiler: &str, options: &[&str], text: &str) -> bool {
    let child = Command::new(compiler)
        .args(options)
        .args(["-x", "c", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    // A compiler that ends without reading has refused the text.
    let _ = child.stdin.take().expect("standard input is a pipe").write_all(text.as_bytes());
    child.wait().is_ok_and(|status| status.success())
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program(name) | Self::Package(name) => write!(f, "{name}"),
            Self::Source(release) => write!(f, "the source of Linux {release}"),
            Self::Header { header, .. } => write!(f, "{header}"),
            Self::StaticLibrary { compiler } => write!(f, "a static C library for {compiler}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_names_all_that_is_missing() {
        let none = |name: &str, package| program(&format!("no-such-{name}"), package);
        let needs = [
            none("qemu", "qemu-system-arm"),
            program("sh", "dash"),
            none("flex", "flex"),
            none("qemu-2", "qemu-system-arm"),
            Need { what: What::Source(Release::Linux6_12), package: "linux-source-6.12".into() },
        ];
        let message = check(&needs).unwrap_err().to_string();
        let lines: Vec<&str> = message.lines().collect();
        for part in
            ["no-such-flex (package flex)", "the source of Linux 6.12 (package linux-source-6.12)"]
        {
            assert!(lines[0].contains(part), "{message}");
        }
        assert_eq!(
            lines[1],
            "install with: apt-get install flex linux-source-6.12 qemu-system-arm"
        );
        assert!(lines[2].contains("`pageout lab source --kernel 6.12`"), "{message}");
        assert!(lines[3].contains("--tree DIR"), "{message}");
        assert_eq!(check(&[program("sh", "dash")]), Ok(()));
    }

    #[test]
    fn a_library_is_not_missed_before_its_compiler() {
        let compiler = "no-such-compiler".to_owned();
        assert!(What::StaticLibrary { compiler }.is_there());
        let compiler = "false".to_owned();
        assert!(!What::Header { compiler, header: "libelf.h" }.is_there());
    }
}
