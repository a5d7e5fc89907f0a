//! Room on the cache's disk: it is stated before any build, and work that needs more than is free
//! is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::statvfs;

use super::cache::{Cache, CacheError};
use super::git;
use super::progress::Progress;

pub(super) const MIB: u64 = 1 << 20;
/// The bytes that a release's source takes unpacked: 7.3.4 takes 1.8 GB.
pub(super) const SOURCE: u64 = 1800 * MIB;
/// The bytes that a work tree and its objects take: links to the source, and the files that make
/// writes.
pub(super) const WORK_TREE: u64 = 300 * MIB;
/// The bytes that are kept of a kernel: its image, symbols, configuration and log.
pub(super) const KERNEL: u64 = 12 * MIB;

/// Reports the room that building `missing` kernels in these work trees takes, as [`check`] does.
pub(super) fn to_build(
    cache: &Cache,
    missing: usize,
    trees: &BTreeSet<PathBuf>,
    progress: &dyn Progress,
) -> Result<(), CacheError> {
    if missing == 0 {
        return Ok(());
    }
    let new_trees = trees.iter().filter(|tree| !cache.root().join(tree).is_dir()).count();
    let needed = KERNEL * missing as u64 + WORK_TREE * new_trees as u64;
    let kernels = if missing == 1 { "kernel" } else { "kernels" };
    check(cache, &format!("building {missing} {kernels}"), needed, progress)
}

/// Returns the bytes that a package's file takes unpacked, by its own index. An eighth is added for
/// blocks that files do not fill: 7.3.4 needs a tenth. A file without an index counts as a release.
pub(super) fn of_package(tarball: &Path) -> u64 {
    let listed = Command::new("xz").args(["--robot", "--list"]).arg(tarball).output();
    let uncompressed = listed.ok().filter(|output| output.status.success()).and_then(|output| {
        let text = String::from_utf8(output.stdout).ok()?;
        let totals = text.lines().find_map(|line| line.strip_prefix("totals\t"))?;
        totals.split('\t').nth(3)?.parse::<u64>().ok()
    });
    uncompressed.map_or(SOURCE, |bytes| bytes + bytes / 8)
}

/// Returns the bytes that the files of a commit's tree take in blocks of 4 KiB. A tree that git
/// cannot list counts as a release.
pub(super) fn of_tree(repository: &Path, tree: &str) -> u64 {
    let Ok(listed) = git::git(repository, &["ls-tree", "-r", "--long", tree], None) else {
        return SOURCE;
    };
    let size = |line: &str| line.split_whitespace().nth(3)?.parse::<u64>().ok();
    let files = String::from_utf8_lossy(&listed);
    files.lines().filter_map(size).map(|bytes| bytes.next_multiple_of(4096)).sum()
}

/// Reports the room that `what` takes, or returns an error if less is free.
pub(super) fn check(
    cache: &Cache,
    what: &str,
    needed: u64,
    progress: &dyn Progress,
) -> Result<(), CacheError> {
    let place = cache.root();
    let stat = statvfs(place).map_err(|error| CacheError::at(place)(error.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let (needed_mib, free_mib) = (needed / MIB, free / MIB);
    if free < needed {
        let (what, cache) = (what.to_owned(), place.to_owned());
        return Err(CacheError::NoRoom { what, cache, needed: needed_mib, free: free_mib });
    }
    progress.note(&format!(
        "{what} takes about {needed_mib} MiB in {}, which has {free_mib} MiB free",
        place.display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::tempdir;

    /// Makes a directory with one file of 10 MiB, which packs to almost nothing.
    fn ten_mib() -> tempfile::TempDir {
        let directory = tempdir().unwrap();
        fs::write(directory.path().join("zeros"), vec![0; 10 << 20]).unwrap();
        directory
    }

    fn succeeds(command: &mut Command) {
        assert!(command.output().unwrap().status.success(), "{command:?}");
    }

    #[test]
    fn a_package_takes_what_it_holds_unpacked() {
        let directory = ten_mib();
        let tarball = directory.path().join("x.tar.xz");
        succeeds(Command::new("tar").current_dir(&directory).args(["-cJf", "x.tar.xz", "zeros"]));
        assert!(fs::metadata(&tarball).unwrap().len() < MIB);
        let needed = of_package(&tarball);
        assert!((10 * MIB..12 * MIB).contains(&needed), "{needed}");
    }

    #[test]
    fn a_package_without_an_index_takes_what_a_release_does() {
        let directory = tempdir().unwrap();
        let tarball = directory.path().join("x.tar.xz");
        fs::write(&tarball, "not compressed").unwrap();
        assert_eq!(of_package(&tarball), SOURCE);
    }

    #[test]
    fn a_commit_takes_the_blocks_of_its_files() {
        let directory = ten_mib();
        fs::write(directory.path().join("small"), "1").unwrap();
        let at = directory.path();
        succeeds(&mut git::command(at, &["init", "--quiet"]));
        succeeds(&mut git::command(at, &["add", "."]));
        let tree = git::git(at, &["write-tree"], None).unwrap();
        let tree = String::from_utf8(tree).unwrap();
        assert_eq!(of_tree(at, tree.trim()), 10 * MIB + 4096);
        assert_eq!(of_tree(at, "none"), SOURCE);
    }
}
