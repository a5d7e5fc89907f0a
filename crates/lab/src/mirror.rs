//! The tree that is built: hard links to the pristine tree, and patched files in their place.
//!
//! Make looks at times, so a file is written, with the time of writing, only where its content
//! differs from what was built before: going from one kernel to another compiles what the patches
//! between them touch, and nothing else. No link is ever written through.

use pageout_experiment::named;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::source::Pristine;
use super::tree::walk;

/// The files that patches make, by their paths in the tree; `None` for a deleted file.
pub(super) type Staged = BTreeMap<PathBuf, Option<Patched>>;

/// A file that patches made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Patched {
    pub(super) content: Vec<u8>,
    pub(super) mode: u32,
}

/// The error of a file or directory of the tree that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare the tree to build: {}", named(path))]
pub struct MirrorError {
    /// The path.
    path: PathBuf,
    /// The error of the system.
    source: io::Error,
}

impl MirrorError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self { path, source }
    }
}

/// Makes the tree `to` equal to `from` with the staged files.
pub(super) fn mirror(from: &Pristine, staged: &Staged, to: &Path) -> Result<(), MirrorError> {
    fs::create_dir_all(to).map_err(MirrorError::at(to))?;
    let mut wanted = BTreeSet::new();
    let failed =
        |error| MirrorError { path: from.directory.clone(), source: io::Error::other(error) };
    for entry in walk(&from.directory, from.is_users).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path().strip_prefix(&from.directory).unwrap_or(entry.path());
        if path.as_os_str().is_empty() || staged.contains_key(path) {
            continue;
        }
        let place = to.join(path);
        same(entry.path(), &place).map_err(MirrorError::at(&place))?;
        wanted.insert(path.to_owned());
    }
    for (path, patched) in staged {
        let Some(Patched { content, mode }) = patched else { continue };
        let place = to.join(path);
        put(&place, content, *mode).map_err(MirrorError::at(&place))?;
        wanted.extend(path.ancestors().map(Path::to_owned));
    }
    remove_others(to, to, &wanted)
}

/// Makes `place` equal to `original`, by a hard link if nothing is there.
fn same(original: &Path, place: &Path) -> io::Result<()> {
    let wanted = fs::symlink_metadata(original)?;
    let found = fs::symlink_metadata(place).ok();
    if wanted.is_dir() {
        return match found {
            Some(found) if found.is_dir() => Ok(()),
            Some(_) => fs::remove_file(place).and_then(|()| fs::create_dir(place)),
            None => fs::create_dir(place),
        };
    }
    let Some(found) = found else {
        return if wanted.is_symlink() {
            symlink(fs::read_link(original)?, place)
        } else {
            link(original, place, &wanted)
        };
    };
    if found.is_symlink() && wanted.is_symlink() {
        let target = fs::read_link(original)?;
        if fs::read_link(place)? == target {
            return Ok(());
        }
        fs::remove_file(place)?;
        return symlink(target, place);
    }
    if found.is_file() && wanted.is_file() {
        let inode = |of: &Metadata| (of.dev(), of.ino());
        let time = |of: &Metadata| (of.len(), of.mtime(), of.mtime_nsec());
        if inode(&found) == inode(&wanted) || time(&found) == time(&wanted) {
            return Ok(());
        }
        return put(place, &fs::read(original)?, wanted.mode());
    }
    remove(place, &found)?;
    same(original, place)
}

/// Makes a hard link, or a copy with the file's own time if the tree is on another file system.
fn link(original: &Path, place: &Path, wanted: &Metadata) -> io::Result<()> {
    match fs::hard_link(original, place) {
        // The system may also forbid links to the files of other users.
        Err(error)
            if [io::ErrorKind::CrossesDevices, io::ErrorKind::PermissionDenied]
                .contains(&error.kind()) =>
        {
            fs::copy(original, place)?;
            File::options().write(true).open(place)?.set_modified(wanted.modified()?)
        }
        other => other,
    }
}

/// Writes content to a place that has other content or another mode.
fn put(place: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Ok(found) = fs::symlink_metadata(place) {
        let same_mode = found.mode() & 0o111 == mode & 0o111;
        if found.is_file() && same_mode && fs::read(place)? == content {
            return Ok(());
        }
        // The file there may be a link to the pristine one.
        remove(place, &found)?;
    }
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(place, content)?;
    fs::set_permissions(place, fs::Permissions::from_mode(mode & 0o777))
}

fn remove(place: &Path, found: &Metadata) -> io::Result<()> {
    if found.is_dir() { fs::remove_dir_all(place) } else { fs::remove_file(place) }
}

/// Removes unwanted files of the tree: those that an earlier kernel's patches added.
fn remove_others(
    root: &Path,
    directory: &Path,
    wanted: &BTreeSet<PathBuf>,
) -> Result<(), MirrorError> {
    let failed = || MirrorError::at(directory);
    for entry in fs::read_dir(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let path = entry.path();
        let is_wanted = path.strip_prefix(root).is_ok_and(|path| wanted.contains(path));
        let metadata = fs::symlink_metadata(&path).map_err(MirrorError::at(&path))?;
        if !is_wanted {
            remove(&path, &metadata).map_err(MirrorError::at(&path))?;
        } else if metadata.is_dir() {
            remove_others(root, &path, wanted)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::git::git;
    use super::*;
    use std::time::{Duration, SystemTime};
    use tempfile::{TempDir, tempdir};

    struct Trees {
        directory: TempDir,
        from: Pristine,
    }

    impl Trees {
        /// Makes a pristine tree of files an hour old, and a place to mirror it to.
        fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempdir().unwrap();
            let from = directory.path().join("from");
            for (path, text) in files {
                let path = from.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
                let old = SystemTime::now() - Duration::from_secs(3600);
                File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
            }
            let [id, content, title] = [const { String::new() }; 3];
            let from = Pristine { directory: from, id, content, is_users: false, title };
            Self { directory, from }
        }

        fn to(&self, path: &str) -> PathBuf {
            self.directory.path().join("to").join(path)
        }

        fn mirror(&self, staged: &[(&str, Option<&str>)]) {
            let patched = |text: &str| Patched { content: text.into(), mode: 0o755 };
            let staged = staged.iter().map(|(path, text)| (PathBuf::from(path), text.map(patched)));
            mirror(&self.from, &staged.collect(), &self.to("")).unwrap();
        }

        fn text(&self, path: &str) -> String {
            fs::read_to_string(self.to(path)).unwrap()
        }

        fn inode(&self, path: &str) -> (u64, u64) {
            let of = |path: PathBuf| fs::metadata(path).unwrap().ino();
            (of(self.from.directory.join(path)), of(self.to(path)))
        }

        fn is_fresh(&self, path: &str) -> bool {
            let age = fs::metadata(self.to(path)).unwrap().modified().unwrap().elapsed().unwrap();
            age < Duration::from_secs(1800)
        }
    }

    #[test]
    fn files_are_links_and_patched_ones_are_not() {
        let trees = Trees::new(&[("mm/a.c", "a"), ("mm/b.c", "b")]);
        trees.mirror(&[("mm/b.c", Some("B")), ("mm/new/c.c", Some("c"))]);
        let (from, to) = trees.inode("mm/a.c");
        assert_eq!(from, to);
        assert_eq!((trees.text("mm/b.c").as_str(), trees.text("mm/new/c.c").as_str()), ("B", "c"));
        assert_eq!(fs::read_to_string(trees.from.directory.join("mm/b.c")).unwrap(), "b");
        assert!(!trees.is_fresh("mm/a.c") && trees.is_fresh("mm/b.c"));
    }

    #[test]
    fn the_way_back_is_fresh_and_an_unchanged_file_stays() {
        let trees = Trees::new(&[("a.c", "a"), ("b.c", "b")]);
        trees.mirror(&[("a.c", Some("A")), ("b.c", Some("B")), ("c/c.c", Some("c"))]);
        let before = fs::metadata(trees.to("b.c")).unwrap().modified().unwrap();
        trees.mirror(&[("b.c", Some("B"))]);
        assert_eq!(trees.text("a.c"), "a");
        let (from, to) = trees.inode("a.c");
        assert!(from != to && trees.is_fresh("a.c"), "make has to see that it changed back");
        assert_eq!(fs::metadata(trees.to("b.c")).unwrap().modified().unwrap(), before);
        assert!(!trees.to("c").exists(), "an added file and its directory are gone");
        trees.mirror(&[("b.c", None)]);
        assert!(!trees.to("b.c").exists());
    }

    #[test]
    fn kinds_modes_and_symbolic_links_follow() {
        let trees = Trees::new(&[("run.sh", "x"), ("was-dir/a", ""), ("was-file", "")]);
        symlink("run.sh", trees.from.directory.join("link")).unwrap();
        trees.mirror(&[]);
        assert_eq!(fs::read_link(trees.to("link")).unwrap(), Path::new("run.sh"));
        let from = &trees.from.directory;
        fs::remove_dir_all(from.join("was-dir")).unwrap();
        fs::write(from.join("was-dir"), "file").unwrap();
        fs::remove_file(from.join("was-file")).unwrap();
        fs::create_dir(from.join("was-file")).unwrap();
        fs::remove_file(from.join("link")).unwrap();
        symlink("was-dir", from.join("link")).unwrap();
        trees.mirror(&[]);
        assert_eq!(trees.text("was-dir"), "file");
        assert!(trees.to("was-file").is_dir());
        assert_eq!(fs::read_link(trees.to("link")).unwrap(), Path::new("was-dir"));
        trees.mirror(&[("run.sh", Some("y"))]);
        assert_eq!(fs::metadata(trees.to("run.sh")).unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn from_another_file_system_files_are_copied_with_their_times() {
        let mut trees = Trees::new(&[]);
        let elsewhere = TempDir::new_in("/dev/shm").unwrap();
        trees.from.directory = elsewhere.path().to_owned();
        let original = elsewhere.path().join("a.c");
        fs::write(&original, "a").unwrap();
        let old = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&original).unwrap().set_modified(old).unwrap();
        trees.mirror(&[]);
        assert!(trees.text("a.c") == "a" && !trees.is_fresh("a.c"));
        let copied = trees.inode("a.c").1;
        trees.mirror(&[]);
        assert_eq!(trees.inode("a.c").1, copied, "the same, so it stays");
        fs::write(&original, "b").unwrap();
        trees.mirror(&[]);
        assert!(trees.text("a.c") == "b" && trees.is_fresh("a.c"));
    }

    #[test]
    fn what_a_build_left_in_a_users_tree_stays_out() {
        let ignored = "*.o\n.*\n/include/config/\n/include/generated/\nfixdep\n!.keep\n";
        let mut trees = Trees::new(&[
            (".gitignore", ignored),
            (".config", "x"),
            (".keep", "x"),
            ("mm/a.c", "a"),
            ("mm/a.o", "x"),
            ("include/config/auto.conf", "x"),
            ("scripts/fixdep", "x"),
        ]);
        trees.from.is_users = true;
        git(&trees.from.directory, &["init", "-q"], None).unwrap();
        trees.mirror(&[]);
        for path in [".git", ".config", "mm/a.o", "include/config", "scripts/fixdep"] {
            assert!(!trees.to(path).exists(), "{path}");
        }
        assert!(trees.to("mm/a.c").exists() && trees.to(".keep").exists());
    }

    #[test]
    fn what_git_tracks_is_taken_though_its_rules_ignore_it() {
        let mut trees = Trees::new(&[
            (".gitignore", "/*\n!/debian/\n"),
            ("Makefile", "all:\n"),
            ("mm/a.c", "a"),
            ("mm/a.o", "x"),
        ]);
        trees.from.is_users = true;
        let in_tree = |arguments: &[&str]| git(&trees.from.directory, arguments, None).unwrap();
        in_tree(&["init", "-q"]);
        in_tree(&["add", "-f", "Makefile", "mm/a.c"]);
        trees.mirror(&[]);
        assert!(trees.to("Makefile").exists() && trees.to("mm/a.c").exists());
        assert!(!trees.to("mm/a.o").exists());
    }

    #[test]
    fn a_users_tree_without_a_repository_is_taken_whole() {
        let mut trees = Trees::new(&[(".gitignore", "/*\n!/debian/\n"), ("Makefile", "all:\n")]);
        trees.from.is_users = true;
        trees.mirror(&[]);
        assert!(trees.to("Makefile").exists());
    }
}
