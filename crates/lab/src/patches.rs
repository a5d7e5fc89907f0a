//! Patches applied, by `patch`, to copies of the files they touch.

use pageout_experiment::named;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::cache::{Cache, CacheError};
use super::mirror::{Patched, Staged};
use super::patch::Patch;

/// Why a patch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// It names no file.
    #[error("patch {patch}: not a patch: it has no `+++ b/FILE` line")]
    NotAPatch {
        /// Which patch.
        patch: String,
    },
    /// It names a file outside the tree.
    #[error("patch {patch}: `{file}` is no path in a kernel tree")]
    Outside {
        /// Which patch.
        patch: String,
        /// The path.
        file: String,
    },
    /// It names a symbolic link, or something behind one: that may be anywhere.
    #[error("patch {patch}: `{file}` is, or goes through, a symbolic link")]
    Link {
        /// Which patch.
        patch: String,
        /// The path.
        file: String,
    },
    /// It changes a file that is not there.
    #[error("patch {patch}: the tree has no {file}")]
    NoFile {
        /// Which patch.
        patch: String,
        /// The file.
        file: String,
    },
    /// Some of it does not fit.
    #[error("patch {patch} does not apply: {}; log and rejects are in {}",
        failed.join(", "), named(rejects))]
    Failed {
        /// Which patch.
        patch: String,
        /// The files with the hunks that do not fit: `mm/rmap.c (hunks 1 and 3 of 4)`.
        failed: Vec<String>,
        /// The directory with `patch.log` and the rejects.
        rejects: PathBuf,
    },
    /// `patch` does not run.
    #[error("cannot run `patch`")]
    Run(#[source] io::Error),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl PatchError {
    /// Whether it tells of the patch, and not of the lab.
    pub(super) const fn is_of_the_patch(&self) -> bool {
        !matches!(self, Self::Run(_) | Self::Cache(_))
    }
}

/// What the patches, one after another, make of the tree's files.
pub(super) fn stage(tree: &Path, patches: &[Patch], cache: &Cache) -> Result<Staged, PatchError> {
    let scratch = cache.scratch()?;
    let mut touched = BTreeSet::new();
    for patch in patches {
        let files = files(patch)?;
        let refuse_links = |directory: &Path| {
            let found = files.iter().find(|file| goes_through_link(directory, &file.path));
            found.map_or(Ok(()), |file| {
                let (patch, file) = (patch.name.clone(), file.path.display().to_string());
                Err(PatchError::Link { patch, file })
            })
        };
        refuse_links(tree)?;
        for file in &files {
            if touched.insert(file.path.clone()) {
                copy(&tree.join(&file.path), &scratch.path().join(&file.path))?;
            }
            if !file.is_new && !scratch.path().join(&file.path).exists() {
                let (patch, file) = (patch.name.clone(), file.path.display().to_string());
                return Err(PatchError::NoFile { patch, file });
            }
        }
        let log = apply(patch, scratch.path())?;
        if let Some(log) = log {
            return Err(failure(patch, &log, scratch, cache)?);
        }
        refuse_links(scratch.path())?;
    }
    let mut staged = Staged::new();
    for path in touched {
        let place = scratch.path().join(&path);
        let patched = place.is_file().then(|| read(&place)).transpose();
        staged.insert(path, patched.map_err(CacheError::at(&place))?);
    }
    Ok(staged)
}

fn read(place: &Path) -> io::Result<Patched> {
    Ok(Patched { content: fs::read(place)?, mode: fs::metadata(place)?.mode() })
}

/// A file that a patch touches.
#[derive(PartialEq, Eq, Debug)]
struct Touched {
    path: PathBuf,
    /// Whether it need not be there.
    is_new: bool,
}

/// Whether a text is a patch.
pub(super) fn is_patch(patch: &Patch) -> bool {
    !matches!(files(patch), Err(PatchError::NotAPatch { .. }))
}

/// The files that a patch touches, from its headers.
fn files(patch: &Patch) -> Result<Vec<Touched>, PatchError> {
    let text = String::from_utf8_lossy(&patch.text);
    let mut files: Vec<Touched> = Vec::new();
    let mut old = None;
    let mut left = Hunk::default();
    for line in text.lines() {
        if left.has(line) {
            continue;
        }
        if let Some(hunk) = Hunk::parse(line) {
            left = hunk;
        } else if let Some(name) = line.strip_prefix("--- ") {
            old = path(name, patch)?;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let old = old.take();
            let is_new = old.is_none();
            let new = path(name, patch)?;
            files.extend(new.or(old).map(|path| Touched { path, is_new }));
        } else if let Some(name) = line.strip_prefix("rename from ") {
            files.extend(
                path(&format!("a/{name}"), patch)?.map(|path| Touched { path, is_new: false }),
            );
        } else if let Some(name) = line.strip_prefix("rename to ") {
            files.extend(
                path(&format!("b/{name}"), patch)?.map(|path| Touched { path, is_new: true }),
            );
        }
    }
    if files.is_empty() {
        return Err(PatchError::NotAPatch { patch: patch.name.clone() });
    }
    Ok(files)
}

/// The lines of a hunk that are still to come.
#[derive(Default)]
struct Hunk {
    old: u64,
    new: u64,
}

impl Hunk {
    /// A line such as `@@ -1,4 +1,5 @@ struct folio;`.
    fn parse(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let lines = |range: &str| range.split_once(',').map_or(Some(1), |(_, n)| n.parse().ok());
        Some(Self { old: lines(old)?, new: lines(new)? })
    }

    /// Whether the line is one of the hunk's.
    fn has(&mut self, line: &str) -> bool {
        if self.old == 0 && self.new == 0 {
            return false;
        }
        let (old, new) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            _ => (1, 1),
        };
        (self.old, self.new) = (self.old.saturating_sub(old), self.new.saturating_sub(new));
        true
    }
}

/// A header's file without its first directory; none for /dev/null.
fn path(header: &str, patch: &Patch) -> Result<Option<PathBuf>, PatchError> {
    let name = header.split('\t').next().unwrap_or_default().trim_end();
    if name == "/dev/null" {
        return Ok(None);
    }
    let outside = || PatchError::Outside { patch: patch.name.clone(), file: name.to_owned() };
    let (_, path) = name.split_once('/').ok_or_else(outside)?;
    let path = PathBuf::from(path);
    let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    if normal && !path.as_os_str().is_empty() { Ok(Some(path)) } else { Err(outside()) }
}

/// Whether a path below the directory is a symbolic link, or has one among its directories.
fn goes_through_link(directory: &Path, path: &Path) -> bool {
    path.ancestors().any(|part| part != Path::new("") && directory.join(part).is_symlink())
}

fn copy(from: &Path, to: &Path) -> Result<(), CacheError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(CacheError::at(parent))?;
    }
    if from.is_file() {
        fs::copy(from, to).map_err(CacheError::at(to))?;
    }
    Ok(())
}

/// Applies a patch; what `patch` said, if it failed. No fuzz: what is measured is to be what the
/// patch says, not what it may have meant.
fn apply(patch: &Patch, directory: &Path) -> Result<Option<Vec<u8>>, PatchError> {
    let mut child = Command::new("patch")
        .args(["-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch"])
        .env("LC_ALL", "C")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PatchError::Run)?;
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // What it says is far less than a pipe holds, so that it reads to the end.
    let fed = stdin.write_all(&patch.text);
    drop(stdin);
    let output = child.wait_with_output().map_err(PatchError::Run)?;
    if output.status.success() {
        fed.map_err(PatchError::Run)?;
        return Ok(None);
    }
    Ok(Some([output.stdout, output.stderr].concat()))
}

/// Keeps the rejects of a patch that failed.
fn failure(
    patch: &Patch,
    log: &[u8],
    scratch: TempDir,
    cache: &Cache,
) -> Result<PatchError, CacheError> {
    let place = scratch.path().join("patch.log");
    fs::write(&place, log).map_err(CacheError::at(&place))?;
    let rejects = cache.place("rejects", "last");
    cache.keep(scratch, &rejects)?;
    let failed = failed_hunks(&String::from_utf8_lossy(log));
    Ok(PatchError::Failed { patch: patch.name.clone(), failed, rejects })
}

/// Each file with its failed hunks, or the last line if the log tells of none.
fn failed_hunks(log: &str) -> Vec<String> {
    let mut failed: Vec<String> = Vec::new();
    let mut file = "";
    let mut hunks: Vec<&str> = Vec::new();
    for line in log.lines() {
        if let Some(name) = line.strip_prefix("patching file ") {
            (file, hunks) = (name, Vec::new());
        } else if let Some(rest) = line.strip_prefix("Hunk #")
            && let Some((number, _)) = rest.split_once(" FAILED at ")
        {
            hunks.push(number);
        } else if let Some((_, rest)) = line.split_once(" out of ")
            && let Some((of, _)) = rest.split_once(" hunk")
        {
            failed.push(match hunks[..] {
                // All of it is there, or all of it the other way round.
                [] => format!("{file} (applied before, or reversed)"),
                [hunk] => format!("{file} (hunk {hunk} of {of})"),
                _ => format!("{file} (hunks {} of {of})", hunks.join(", ")),
            });
        }
    }
    if failed.is_empty() {
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        failed.push(last.unwrap_or("`patch` failed without a word").to_owned());
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    const CREATE: &str = "\
From: A\nSubject: [PATCH] new file\n\nWhy.\n---\n mm/new.c | 1 +\n\n\
diff --git a/mm/new.c b/mm/new.c\nnew file mode 100644\n--- /dev/null\n+++ b/mm/new.c\n\
@@ -0,0 +1 @@\n+new\n-- \n2.39\n";
    const DELETE: &str = "\
diff --git a/mm/old.c b/mm/old.c\ndeleted file mode 100644\n--- a/mm/old.c\n+++ /dev/null\n\
@@ -1 +0,0 @@\n-old\n";
    const CHANGE: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    const AGAIN: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n";
    const LINK: &str = "\
diff --git a/mm/made b/mm/made\nnew file mode 120000\n--- /dev/null\n+++ b/mm/made\n@@ -0,0 +1 @@\n\
+../../..\n\\ No newline at end of file\n";
    const RENAME: &str = "\
diff --git a/mm/a.c b/mm/b.c\nsimilarity index 100%\nrename from mm/a.c\nrename to mm/b.c\n";

    struct World {
        directory: TempDir,
        cache: Cache,
    }

    impl World {
        fn new() -> Self {
            let directory = tempdir().unwrap();
            let tree = directory.path().join("tree/mm");
            fs::create_dir_all(&tree).unwrap();
            fs::write(tree.join("a.c"), "one\ntwo\nthree\n").unwrap();
            fs::write(tree.join("old.c"), "old\n").unwrap();
            let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
            Self { directory, cache }
        }

        fn stage(&self, texts: &[&str]) -> Result<Staged, PatchError> {
            let patch = |(k, text): (usize, &&str)| Patch {
                name: format!("{k}.patch"),
                text: text.as_bytes().to_vec(),
            };
            let patches: Vec<Patch> = texts.iter().enumerate().map(patch).collect();
            stage(&self.directory.path().join("tree"), &patches, &self.cache)
        }

        fn error(&self, text: &str) -> String {
            self.stage(&[text]).unwrap_err().to_string()
        }
    }

    fn file<'a>(staged: &'a Staged, path: &str) -> Option<&'a str> {
        let content = staged.get(Path::new(path)).expect("staged");
        content.as_ref().map(|patched| std::str::from_utf8(&patched.content).unwrap())
    }

    #[test]
    fn patches_follow_one_another_and_leave_the_tree_alone() {
        let world = World::new();
        let staged = world.stage(&[CHANGE, AGAIN, CREATE, DELETE]).unwrap();
        assert_eq!(file(&staged, "mm/a.c"), Some("one\nzwei\nthree\n"));
        assert_eq!(file(&staged, "mm/new.c"), Some("new\n"));
        assert_eq!(file(&staged, "mm/old.c"), None);
        let original = world.directory.path().join("tree/mm/a.c");
        assert_eq!(fs::read_to_string(original).unwrap(), "one\ntwo\nthree\n");
        let renamed = world.stage(&[RENAME]).unwrap();
        assert_eq!(file(&renamed, "mm/a.c"), None);
        assert_eq!(file(&renamed, "mm/b.c"), Some("one\ntwo\nthree\n"));
    }

    #[test]
    fn a_patch_that_does_not_fit_names_itself_the_file_and_the_hunk() {
        let world = World::new();
        let error = world.stage(&[CHANGE, &AGAIN.replace("one", "eins")]).unwrap_err().to_string();
        assert!(error.contains("patch 1.patch does not apply: mm/a.c (hunk 1 of 1)"), "{error}");
        let rejects = world.cache.place("rejects", "last");
        assert!(error.ends_with(&rejects.display().to_string()), "{error}");
        assert!(rejects.join("patch.log").exists() && rejects.join("mm/a.c.rej").exists());
    }

    #[test]
    fn a_patch_that_is_there_already_is_told() {
        let error = World::new().stage(&[CHANGE, CHANGE]).unwrap_err().to_string();
        assert!(error.contains("mm/a.c (applied before, or reversed)"), "{error}");
    }

    #[test]
    fn fuzz_is_not_accepted() {
        let moved = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n ONE\n-two\n+2\n three\n";
        assert!(World::new().error(moved).contains("mm/a.c (hunk 1 of 1)"));
    }

    #[test]
    fn texts_that_are_no_patches_of_this_tree_are_refused() {
        let world = World::new();
        assert!(world.error("hello\n").contains("0.patch: not a patch"));
        let missing = CHANGE.replace("a.c", "none.c");
        assert!(world.error(&missing).contains("the tree has no mm/none.c"));
        for path in ["a/../../x", "x", "a//x"] {
            let text = CHANGE.replace("b/mm/a.c", path);
            assert!(world.error(&text).contains(&format!("`{path}` is no path")), "{path}");
        }
    }

    #[test]
    fn a_patch_goes_through_no_link() {
        let world = World::new();
        let elsewhere = world.directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = world.directory.path().join("tree/link");
        std::os::unix::fs::symlink(&elsewhere, link).unwrap();
        std::os::unix::fs::symlink("a.c", world.directory.path().join("tree/mm/l.c")).unwrap();
        for (text, path) in [
            (CREATE.replace("mm/new.c", "link/new.c"), "link/new.c"),
            (CHANGE.replace("mm/a.c", "mm/l.c"), "mm/l.c"),
            (LINK.to_owned(), "mm/made"),
        ] {
            let error = world.error(&text);
            assert_eq!(
                error,
                format!("patch 0.patch: `{path}` is, or goes through, a symbolic link")
            );
        }
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_none() {
        let text = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,2 +1,1 @@\n x\n--- a/b\n";
        let patch = Patch { name: String::new(), text: text.into() };
        let expected = Touched { path: "mm/a.c".into(), is_new: false };
        assert_eq!(files(&patch).unwrap(), [expected]);
    }
}
