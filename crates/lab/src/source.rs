//! Where kernel source comes from: Debian's packages, unpacked once, or a tree of the user's.

use pageout_experiment::named;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::{Cache, CacheError};
use super::digest::Name;
use super::git;
use super::progress::Progress;
use super::release::Release;
use super::room;
use super::tree::{self, TreeError};

/// The folder of the cache for sources that were fetched.
pub(super) const FETCHED: &str = "fetched";

/// Where kernel source comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Debian's package of a release.
    Debian(Release),
    /// A tree of the user's, which is never written to.
    Tree(PathBuf),
    /// What is in a commit of the user's.
    Commit(Commit),
}

/// A commit in a repository, which is never written to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Commit {
    /// The repository: all its work trees have one.
    pub repository: PathBuf,
    /// The hash of the commit.
    pub commit: String,
    /// The hash of what is in it.
    pub tree: String,
}

/// Kernel source as it was before patches.
#[derive(Clone, Debug)]
pub(super) struct Pristine {
    pub(super) directory: PathBuf,
    /// Names it among other sources in the cache: where it is built.
    pub(super) id: String,
    /// Names what is in it: a user's tree may change.
    pub(super) content: String,
    /// Whether it is the user's: it may hold what a build left.
    pub(super) is_users: bool,
    /// What it is, for people.
    pub(super) title: String,
}

/// Why there is no source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The user's tree is none.
    #[error("{} is not a kernel source tree: it has no {missing}", named(tree))]
    NotATree {
        /// Which directory.
        tree: PathBuf,
        /// What such a tree has.
        missing: &'static str,
    },
    /// The cache would be a part of what is built.
    #[error(
        "the cache {} is in the tree {}: give --cache another directory",
        named(cache),
        named(tree)
    )]
    CacheInTree {
        /// The cache.
        cache: PathBuf,
        /// The tree.
        tree: PathBuf,
    },
    /// The package's file cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The package's file cannot be unpacked.
    #[error("cannot unpack {}: tar {outcome}", named(path))]
    Unpack {
        /// Which file.
        path: PathBuf,
        /// How tar ended, and what it said.
        outcome: String,
    },
    /// A file of the user's tree cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Source {
    /// The releases whose kernels can be made from it: a user's tree may be of any.
    pub(super) fn releases(&self) -> &[Release] {
        match self {
            Self::Debian(release) => std::slice::from_ref(release),
            Self::Tree(_) | Self::Commit(_) => &Release::ALL,
        }
    }

    /// The source, unpacked if need be.
    pub(super) fn open(
        &self,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Pristine, SourceError> {
        match self {
            Self::Debian(release) => {
                let tarball = tarball(*release, cache).unwrap_or_else(|| release.installed());
                unpacked(*release, &tarball, cache, progress)
            }
            Self::Tree(tree) => users(tree, cache, progress),
            Self::Commit(commit) => committed(commit, cache, progress),
        }
    }
}

/// The package's file: where the package installs it, or else where it was fetched to.
pub(super) fn tarball(release: Release, cache: &Cache) -> Option<PathBuf> {
    let fetched = cache.place(FETCHED, release.package()).join(release.tarball());
    [release.installed(), fetched].into_iter().find(|path| path.is_file())
}

/// Refuses a directory that has no kernel source, by the name that the user knows it by.
fn check(directory: &Path, tree: &Path) -> Result<(), SourceError> {
    let needed = ["Makefile", "Kconfig", "mm/Makefile"];
    let missing = needed.into_iter().find(|needed| !directory.join(needed).is_file());
    let refused = |missing| Err(SourceError::NotATree { tree: tree.to_owned(), missing });
    missing.map_or(Ok(()), refused)
}

/// What is in a commit, unpacked once. All commits of a repository are built in one place: what
/// differs between them is compiled, and nothing else.
fn committed(of: &Commit, cache: &Cache, progress: &dyn Progress) -> Result<Pristine, SourceError> {
    let Commit { repository, commit, tree } = of;
    let content = tree::name_in_git(tree);
    let place = cache.made("sources", &content, progress, |to| {
        let needed = room::of_tree(repository, tree);
        room::check(cache, "unpacking the kernel source", needed, progress)?;
        let task = progress.begin("unpacking the kernel source");
        let failed = |error: io::Error| SourceError::Unpack {
            path: repository.clone(),
            outcome: format!("got nothing from git: {error}"),
        };
        let mut git = git::command(repository, &["archive", "--format=tar", tree]);
        let mut git = git.stderr(Stdio::null()).spawn().map_err(failed)?;
        let archive = git.stdout.take().expect("standard output is a pipe");
        // The time of each file is when it was unpacked: equal times mean equal content.
        let tell = |bytes| task.tell(bytes >> 20, None, "MiB");
        let unpacked = untar(repository, archive, &["--touch"], to, tell);
        let status = git.wait().map_err(failed)?;
        unpacked?;
        if !status.success() {
            return Err(failed(io::Error::other(status.to_string())));
        }
        check(to, repository)
    })?;
    let id = Name::default().part(repository.as_os_str().as_encoded_bytes()).finish();
    let (short, repository) = (&commit[..12], repository.display());
    let title = format!("Linux {}, {short} of {repository}", version(&place));
    Ok(Pristine { directory: place, id: format!("git-{id}"), content, is_users: false, title })
}

fn users(tree: &Path, cache: &Cache, progress: &dyn Progress) -> Result<Pristine, SourceError> {
    check(tree, tree)?;
    let read = |source| SourceError::Read { path: tree.to_owned(), source };
    let directory = fs::canonicalize(tree).map_err(read)?;
    if cache.root().starts_with(&directory) {
        let cache = cache.root().to_owned();
        return Err(SourceError::CacheInTree { cache, tree: directory });
    }
    let id =
        format!("tree-{}", Name::default().part(directory.as_os_str().as_encoded_bytes()).finish());
    let content = tree::content(&directory, cache, progress)?;
    let title = format!("Linux {}, {}", version(&directory), directory.display());
    Ok(Pristine { directory, id, content, is_users: true, title })
}

fn unpacked(
    release: Release,
    tarball: &Path,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<Pristine, SourceError> {
    let read = |source| SourceError::Read { path: tarball.to_owned(), source };
    let id = format!("debian-{}", Name::default().file(tarball).map_err(read)?.finish());
    let place = cache.made("sources", &id, progress, |to| {
        let needed = room::of_package(tarball);
        room::check(cache, "unpacking the kernel source", needed, progress)?;
        unpack(tarball, to, progress)
    })?;
    let title = format!("Linux {}, Debian's {}", version(&place), release.package());
    Ok(Pristine { directory: place, content: id.clone(), id, is_users: false, title })
}

fn unpack(tarball: &Path, to: &Path, progress: &dyn Progress) -> Result<(), SourceError> {
    let task = progress.begin("unpacking the kernel source");
    let read = |source| SourceError::Read { path: tarball.to_owned(), source };
    let file = File::open(tarball).map_err(read)?;
    let length = fs::metadata(tarball).ok().map(|metadata| metadata.len());
    let path = tarball.display().to_string();
    let tell = |bytes| task.tell(bytes, length, &path);
    untar(tarball, file, &["--xz", "--strip-components=1"], to, tell)
}

/// Unpacks what is read, telling how many bytes that was; `path` is what messages call it.
fn untar(
    path: &Path,
    mut from: impl Read,
    options: &[&str],
    to: &Path,
    tell: impl Fn(u64),
) -> Result<(), SourceError> {
    let failed = |outcome: String| SourceError::Unpack { path: path.to_owned(), outcome };
    let mut tar = Command::new("tar")
        .args(["--extract", "--no-same-owner"])
        .args(options)
        .arg("--directory")
        .arg(to)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("did not start: {error}")))?;
    let mut stdin = tar.stdin.take().expect("standard input is a pipe");
    let mut done = 0;
    let mut buffer = vec![0; 1 << 20];
    let mut feed = || {
        loop {
            let bytes = from.read(&mut buffer)?;
            if bytes == 0 {
                return Ok(());
            }
            stdin.write_all(&buffer[..bytes])?;
            done += bytes as u64;
            tell(done);
        }
    };
    let fed = feed().map_err(|source| SourceError::Read { path: path.to_owned(), source });
    drop(stdin);
    let output = tar.wait_with_output().map_err(|error| failed(error.to_string()))?;
    // Tar's own words come before those of a pipe that it no longer reads.
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("ended with {}: {}", output.status, said.trim())));
    }
    fed
}

/// The version that a tree's makefile states.
fn version(tree: &Path) -> String {
    let makefile = fs::read_to_string(tree.join("Makefile")).unwrap_or_default();
    let value = |name: &str| {
        let mut lines = makefile.lines().filter_map(|line| line.strip_prefix(name));
        lines.find_map(|line| line.trim_start().strip_prefix('=')).unwrap_or("").trim().to_owned()
    };
    let numbers = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].map(value);
    numbers.join(".") + &value("EXTRAVERSION")
}

#[cfg(test)]
mod tests {
    use super::super::progress::Silent;
    use super::*;
    use tempfile::tempdir;

    /// A tree with the fewest files that make one.
    fn small_tree(at: &Path) {
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n";
        for (path, text) in [("Makefile", makefile), ("Kconfig", ""), ("mm/Makefile", "obj-y\n")] {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn a_package_is_unpacked_once() {
        let directory = tempdir().unwrap();
        small_tree(&directory.path().join("linux-source-6.12"));
        let tarball = directory.path().join("x.tar.xz");
        let mut tar = Command::new("tar");
        tar.current_dir(&directory).args(["-cJf", "x.tar.xz", "linux-source-6.12"]);
        assert!(tar.status().unwrap().success());
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let first = unpacked(Release::Linux6_12, &tarball, &cache, &Silent).unwrap();
        assert_eq!(first.title, "Linux 6.12.117, Debian's linux-source-6.12");
        fs::write(first.directory.join("mark"), "").unwrap();
        let second = unpacked(Release::Linux6_12, &tarball, &cache, &Silent).unwrap();
        assert!(second.directory.join("mark").exists(), "it is the same");
    }

    #[test]
    fn a_broken_package_leaves_nothing_behind() {
        let directory = tempdir().unwrap();
        let tarball = directory.path().join("x.tar.xz");
        fs::write(&tarball, "not compressed").unwrap();
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let error =
            unpacked(Release::Linux6_12, &tarball, &cache, &Silent).unwrap_err().to_string();
        assert!(error.contains("x.tar.xz") && error.contains("tar"), "{error}");
        let sources = cache.directory("sources").unwrap();
        assert_eq!(fs::read_dir(sources).unwrap().count(), 0);
        assert_eq!(fs::read_dir(cache.directory("tmp").unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_tree_that_is_none_is_refused() {
        let [directory, elsewhere] = [(); 2].map(|()| tempdir().unwrap());
        let cache = Cache::open(Some(elsewhere.path())).unwrap();
        let error = users(directory.path(), &cache, &Silent).unwrap_err().to_string();
        assert!(error.contains("not a kernel source tree: it has no Makefile"), "{error}");
        small_tree(directory.path());
        let tree = users(directory.path(), &cache, &Silent).unwrap();
        assert!(tree.is_users && tree.title.starts_with("Linux 6.12.117, /"), "{}", tree.title);
        let inside = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let error = users(directory.path(), &inside, &Silent).unwrap_err().to_string();
        assert!(error.contains("is in the tree"), "{error}");
    }
}
