//! The content of a tree of the user's: its files, and a name for them.

use pageout_experiment::named;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::cache::{Cache, CacheError};
use super::digest::Name;
use super::git::{GitError, git, line};
use super::progress::Progress;

/// The folder of the cache for names of trees' contents, by the state that the file system reports.
const KNOWN: &str = "contents";

/// The reason why a tree's content has no name.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A file or directory in it cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Git does not list the tree.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl TreeError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Read { path, source }
    }
}

/// Returns the files of a tree, in the order of their names. In a user's tree under version control
/// they are those that git tracks or does not ignore: files that a build in the tree left would be
/// taken for this build's. Without a repository, ignore rules do not count: those of Debian's
/// source package ignore all of the kernel.
pub(super) fn walk(
    directory: &Path,
    is_users: bool,
) -> Result<impl Iterator<Item = Result<DirEntry, TreeError>>, TreeError> {
    let failed =
        |error| TreeError::Read { path: directory.to_owned(), source: io::Error::other(error) };
    let known = if is_users { known_to_git(directory)? } else { None };
    let root = directory.to_owned();
    let is_in = move |entry: &DirEntry| {
        entry.file_name() != ".git"
            && known.as_ref().is_none_or(|known| known.contains(relative(entry, &root)))
    };
    let walk = WalkDir::new(directory).sort_by_file_name().into_iter().filter_entry(is_in);
    Ok(walk.map(move |entry| entry.map_err(failed)))
}

/// Returns the files under a directory that git does not ignore, or tracks although its rules
/// ignore them, and the directories that lead to them; `None` without a repository.
fn known_to_git(directory: &Path) -> Result<Option<HashSet<PathBuf>>, TreeError> {
    if !is_in_repository(directory)? {
        return Ok(None);
    }
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git(directory, &listed, None)?;
    let files = listed.split(|byte| *byte == 0).map(|name| Path::new(OsStr::from_bytes(name)));
    Ok(Some(files.flat_map(Path::ancestors).map(Path::to_owned).collect()))
}

fn is_in_repository(directory: &Path) -> Result<bool, TreeError> {
    let full = path::absolute(directory).map_err(TreeError::at(directory))?;
    Ok(full.ancestors().any(|above| above.join(".git").exists()))
}

/// Returns a name for the content of one of git's trees, by its hash.
pub(super) fn name_in_git(hash: &str) -> String {
    format!("git-{hash}")
}

/// Returns the hash of the last commit's tree, if the files are exactly those.
fn committed(tree: &Path) -> Result<Option<String>, TreeError> {
    if !is_in_repository(tree)? || !line(tree, &["status", "--porcelain", "--", "."])?.is_empty() {
        return Ok(None);
    }
    // Git fails if nothing was committed, which is no fault of the tree.
    Ok(line(tree, &["rev-parse", "--verify", "--quiet", "HEAD:./"]).ok())
}

/// Returns a name for the content of a user's tree. Git knows it if all is committed. Else the
/// files are read, but only if the state that the file system reports has changed.
pub(super) fn content(
    tree: &Path,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<String, TreeError> {
    if let Some(hash) = committed(tree)? {
        return Ok(name_in_git(&hash));
    }
    let state = state(tree)?;
    let known = cache.directory(KNOWN)?.join(&state);
    match fs::read_to_string(&known) {
        Ok(content) => return Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(CacheError::at(&known)(error).into()),
    }
    let task = progress.begin("reading the tree");
    let mut name = Name::default();
    for (entry, done) in walk(tree, true)?.zip(1..) {
        let entry = entry?;
        let (path, relative) = (entry.path(), relative(&entry, tree));
        let metadata = fs::symlink_metadata(path).map_err(TreeError::at(path))?;
        name = name.part(relative.as_os_str().as_encoded_bytes());
        name = name.part((metadata.mode() & !0o777 | metadata.mode() & 0o111).to_le_bytes());
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(TreeError::at(path))?;
            name = name.part(target.as_os_str().as_encoded_bytes());
        } else if metadata.is_file() {
            name = name.file(path).map_err(TreeError::at(path))?;
        }
        if done % 1000 == 0 {
            task.tell(done, None, &relative.display().to_string());
        }
    }
    let name = name.finish();
    fs::write(&known, &name).map_err(CacheError::at(&known))?;
    Ok(name)
}

/// Returns a name for the state of a tree's files that the file system reports: it changes whenever
/// one is written.
fn state(tree: &Path) -> Result<String, TreeError> {
    let mut name = Name::default().part(tree.as_os_str().as_encoded_bytes());
    for entry in walk(tree, true)? {
        let entry = entry?;
        let of: Metadata =
            fs::symlink_metadata(entry.path()).map_err(TreeError::at(entry.path()))?;
        name = name.part(relative(&entry, tree).as_os_str().as_encoded_bytes());
        let times = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()];
        // A directory's times show only that an entry came or went, which the walk sees.
        let times = if of.is_dir() { [0; 4] } else { times };
        for number in times {
            name = name.part(number.to_le_bytes());
        }
        let size = if of.is_dir() { 0 } else { of.len() };
        name = name.part(size.to_le_bytes()).part(of.ino().to_le_bytes());
    }
    Ok(name.finish())
}

fn relative<'a>(entry: &'a DirEntry, tree: &Path) -> &'a Path {
    entry.path().strip_prefix(tree).unwrap_or(entry.path())
}

#[cfg(test)]
mod tests {
    use super::super::progress::Silent;
    use super::*;
    use std::fs::File;
    use std::time::{Duration, SystemTime};
    use tempfile::tempdir;

    #[test]
    fn content_is_named_by_what_is_in_the_files() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let trees = ["a", "b"].map(|name| directory.path().join(name));
        for tree in &trees {
            fs::create_dir(tree).unwrap();
            fs::write(tree.join("x.c"), "x").unwrap();
        }
        let name = |tree| content(tree, &cache, &Silent).unwrap();
        assert_eq!(name(&trees[0]), name(&trees[1]));
        let before = name(&trees[0]);
        fs::write(trees[0].join("x.c"), "y").unwrap();
        assert_ne!(name(&trees[0]), before);
        // The same content with other times is the same.
        fs::write(trees[0].join("x.c"), "x").unwrap();
        assert_eq!(name(&trees[0]), before);
    }

    #[test]
    fn what_is_committed_is_named_by_git_and_what_is_not_by_its_files() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let tree = directory.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".gitignore"), "*.o\n").unwrap();
        fs::write(tree.join("x.c"), "x").unwrap();
        let name = || content(&tree, &cache, &Silent).unwrap();
        let in_tree = |arguments: &[&str]| line(&tree, arguments).unwrap();
        in_tree(&["init", "--quiet"]);
        assert!(!name().starts_with("git-"), "nothing is committed");
        in_tree(&["add", "."]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@invalid"];
        in_tree(&[&who[..], &["commit", "--quiet", "--message", "x"]].concat());
        let committed = name_in_git(&in_tree(&["rev-parse", "HEAD^{tree}"]));
        assert_eq!(name(), committed);
        fs::write(tree.join("x.o"), "what a build left").unwrap();
        assert_eq!(name(), committed);
        fs::write(tree.join("new.c"), "").unwrap();
        assert!(!name().starts_with("git-"), "a file is new");
        fs::remove_file(tree.join("new.c")).unwrap();
        fs::write(tree.join("x.c"), "changed").unwrap();
        assert!(!name().starts_with("git-"), "a file is changed");
        fs::write(tree.join("x.c"), "x").unwrap();
        assert_eq!(name(), committed);
    }

    #[test]
    fn a_file_written_anew_with_its_old_time_is_seen() {
        let directory = tempdir().unwrap();
        let file = directory.path().join("x.c");
        let old = SystemTime::now() - Duration::from_secs(3600);
        let mut states = Vec::new();
        for text in ["x", "y"] {
            fs::write(&file, text).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
            states.push(state(directory.path()).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_ne!(states[0], states[1]);
    }
}
