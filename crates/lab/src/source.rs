//! Kernel source: Debian's packages and commits of the user's, unpacked once, or a tree of the
//! user's.

use pageout_experiment::named;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::{Cache, CacheError};
use super::child;
use super::digest::Name;
use super::git;
use super::progress::Progress;
use super::release::Release;
use super::room;
use super::tree::{self, TreeError};

/// The folder of the cache for sources that were fetched.
pub(super) const FETCHED: &str = "fetched";

/// The origin of kernel source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Debian's package of a release.
    Debian(Release),
    /// A tree of the user's, which is never written to.
    Tree(PathBuf),
    /// The files of a commit of the user's.
    Commit(Commit),
}

/// A commit in a repository, which is never written to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Commit {
    /// The repository's directory, which all of its work trees share.
    pub repository: PathBuf,
    /// The hash of the commit.
    pub commit: String,
    /// The hash of the commit's tree.
    pub tree: String,
}

/// Kernel source before patches.
#[derive(Clone, Debug)]
pub(super) struct Pristine {
    pub(super) directory: PathBuf,
    /// The source's name in the cache, which is a part of the paths that it is built in.
    pub(super) id: String,
    /// A name for the source's content: a user's tree may change.
    pub(super) content: String,
    /// True for the user's own tree: it may hold files that a build left.
    pub(super) is_users: bool,
    /// The source's name for people.
    pub(super) title: String,
}

/// The reason why there is no source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The user's directory has no kernel source.
    #[error("{} is not a kernel source tree: it has no {missing}", named(tree))]
    NotATree {
        /// The directory.
        tree: PathBuf,
        /// The file that every kernel tree has.
        missing: &'static str,
    },
    /// The cache would be a part of the source.
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
    /// The package's file or the user's tree cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The package's file or the commit cannot be unpacked.
    #[error("cannot unpack {}: tar {outcome}", named(path))]
    Unpack {
        /// The file, or the commit's repository.
        path: PathBuf,
        /// The status of tar, and its messages.
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
    /// Returns the releases whose kernels can be made from it: a user's tree may be of any.
    pub(super) fn releases(&self) -> &[Release] {
        match self {
            Self::Debian(release) => std::slice::from_ref(release),
            Self::Tree(_) | Self::Commit(_) => &Release::ALL,
        }
    }

    /// Opens the source, and unpacks it if need be.
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

/// Returns the package's file: the one that the package installed, or else the one that was
/// fetched.
pub(super) fn tarball(release: Release, cache: &Cache) -> Option<PathBuf> {
    let fetched = cache.place(FETCHED, release.package()).join(release.tarball());
    [release.installed(), fetched].into_iter().find(|path| path.is_file())
}

/// Returns an error if the directory has no kernel source; `tree` is the user's name for it.
fn check(directory: &Path, tree: &Path) -> Result<(), SourceError> {
    let needed = ["Makefile", "Kconfig", "mm/Makefile"];
    let missing = needed.into_iter().find(|needed| !directory.join(needed).is_file());
    let refused = |missing| Err(SourceError::NotATree { tree: tree.to_owned(), missing });
    missing.map_or(Ok(()), refused)
}

/// Unpacks the files of a commit, once. All commits of a repository are built in one place, so that
/// only the files that differ between them are compiled.
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
        // Each file gets the time of its unpacking: equal times mean equal content.
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

/// Unpacks an archive from `from`, and reports the bytes read so far to `tell`. `path` is its name
/// in messages.
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
    // Tar's own error has precedence over that of a pipe that it no longer reads.
    if !output.status.success() {
        let said = child::said(&output);
        return Err(failed(format!("ended with {}: {said}", output.status)));
    }
    fed
}

/// Returns the version that a tree's makefile states.
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

    /// Makes a tree with the fewest files that a kernel tree needs.
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
