//! Patches applied, by `git apply`, to copies of the files they touch.

use pageout_experiment::{named, shown};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::cache::{Cache, CacheError};
use super::git::{GitError, apart};
use super::mirror::{Patched, Staged};
use super::patch::Patch;

/// The reason why a patch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The patch changes no file.
    #[error("patch {patch}: not a patch: it has no diff")]
    NotAPatch {
        /// The patch.
        patch: String,
    },
    /// A diff that cannot be read, for example because it was cut off.
    #[error("patch {patch}: {said}")]
    Malformed {
        /// The patch.
        patch: String,
        /// The message of git.
        said: String,
    },
    /// The patch says that a binary file differs, but does not have its content.
    #[error(
        "patch {patch}: no content of the binary file `{file}`: expected it as `git \
        format-patch` or `git diff --binary` writes it"
    )]
    Binary {
        /// The patch.
        patch: String,
        /// The path.
        file: String,
    },
    /// The patch names a file outside the tree.
    #[error("patch {patch}: `{file}` is not a path in a kernel tree")]
    Outside {
        /// The patch.
        patch: String,
        /// The path.
        file: String,
    },
    /// The patch names a symbolic link, or a path behind one: its target may be anywhere.
    #[error("patch {patch}: `{file}` is, or goes through, a symbolic link")]
    Link {
        /// The patch.
        patch: String,
        /// The path.
        file: String,
    },
    /// Some hunks do not fit.
    #[error("patch {patch} does not apply: {}; log and rejects are in {}",
        failed.join(", "), named(rejects))]
    Failed {
        /// The patch.
        patch: String,
        /// The hunks that do not fit, by file: `mm/rmap.c (hunks 1 and 3 of 4)`.
        failed: Vec<String>,
        /// The directory with `patch.log` and the rejects.
        rejects: PathBuf,
    },
    /// Git does not run.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl PatchError {
    /// Returns true if the patch is at fault, and not the lab.
    pub(super) const fn is_of_the_patch(&self) -> bool {
        !matches!(self, Self::Git(_) | Self::Cache(_))
    }
}

/// Returns the tree's files after the patches, applied one after another.
pub(super) fn stage(tree: &Path, patches: &[Patch], cache: &Cache) -> Result<Staged, PatchError> {
    let scratch = cache.scratch()?;
    let mut touched = BTreeSet::new();
    for patch in patches {
        let files = files(patch, scratch.path())?;
        refuse_links(patch, &files, tree)?;
        for file in &files {
            if touched.insert(file.clone()) {
                copy(&tree.join(file), &scratch.path().join(file))?;
            }
        }
        if let Some(log) = apply(patch, scratch.path())? {
            return Err(failure(patch, &log, scratch, cache)?);
        }
        refuse_links(patch, &files, scratch.path())?;
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

/// Returns the files that a patch reads or writes: their names after it, and the earlier names of
/// renames and copies.
fn files(patch: &Patch, scratch: &Path) -> Result<BTreeSet<PathBuf>, PatchError> {
    let name = || patch.name.clone();
    let mut files = BTreeSet::new();
    for direction in [&[][..], &["--reverse"]] {
        let counted = git_apply(patch, scratch, &[&["--numstat", "-z"], direction].concat());
        let counted = counted.map_err(|error| match error {
            GitError::Failed { said, .. } if said.contains("No valid patches in input") => {
                match binary_of_diff(&patch.diff) {
                    Some(file) => PatchError::Binary { patch: name(), file },
                    None => PatchError::NotAPatch { patch: name() },
                }
            }
            GitError::Failed { said, .. } => {
                let said = said.trim_start_matches("error: ").to_owned();
                PatchError::Malformed { patch: name(), said }
            }
            error => error.into(),
        })?;
        for line in counted.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            // The path follows the numbers of lines that are added and removed.
            let path = line.splitn(3, |byte| *byte == b'\t').nth(2).unwrap_or_default();
            let path = Path::new(OsStr::from_bytes(path));
            let file = named(path);
            if !path.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(PatchError::Outside { patch: name(), file });
            }
            files.insert(path.to_owned());
        }
    }
    match binary_of_diff(&patch.diff) {
        Some(file) => Err(PatchError::Binary { patch: name(), file }),
        None => Ok(files),
    }
}

/// Returns the file that `diff` names in place of a change: `Binary files a/x and b/x differ`. Git
/// ignores such lines that it did not write itself.
fn binary_of_diff(diff: &[u8]) -> Option<String> {
    let lines = diff.split(|byte| *byte == b'\n');
    let names = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (old, new) =
            line.strip_prefix("Binary files ")?.strip_suffix(" differ")?.split_once(" and ")?;
        Some(shown(if new == "/dev/null" { old } else { new }).into_owned())
    };
    lines.filter(|line| line.starts_with(b"Binary files ")).find_map(names)
}

fn git_apply(patch: &Patch, scratch: &Path, options: &[&str]) -> Result<Vec<u8>, GitError> {
    apart(scratch, &[&["apply", "--whitespace=nowarn"], options].concat(), Some(&patch.diff))
}

fn refuse_links(
    patch: &Patch,
    files: &BTreeSet<PathBuf>,
    directory: &Path,
) -> Result<(), PatchError> {
    match files.iter().find(|file| goes_through_link(directory, file)) {
        None => Ok(()),
        Some(file) => {
            let (patch, file) = (patch.name.clone(), named(file));
            Err(PatchError::Link { patch, file })
        }
    }
}

/// Returns true if a path below the directory is a symbolic link, or has one among its directories.
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

/// Applies a patch, and returns git's log if it does not fit. Context must match: the kernel that
/// is measured is the one that the patch describes.
fn apply(patch: &Patch, directory: &Path) -> Result<Option<String>, PatchError> {
    match git_apply(patch, directory, &["--reject", "--verbose"]) {
        Ok(_) => Ok(None),
        Err(GitError::Failed { said, .. }) => Ok(Some(said)),
        Err(error) => Err(error.into()),
    }
}

/// Keeps the rejects of a patch that failed.
fn failure(
    patch: &Patch,
    log: &str,
    scratch: TempDir,
    cache: &Cache,
) -> Result<PatchError, PatchError> {
    let failed = match git_apply(patch, scratch.path(), &["--reverse", "--check"]) {
        Ok(_) => vec!["all of it is there already".to_owned()],
        Err(_) => misfits(log),
    };
    let place = scratch.path().join("patch.log");
    fs::write(&place, log).map_err(CacheError::at(&place))?;
    let rejects = cache.place("rejects", "last");
    cache.keep(scratch, &rejects)?;
    Ok(PatchError::Failed { patch: patch.name.clone(), failed, rejects })
}

/// Returns each file with its rejected hunks, or with git's message about it.
fn misfits(log: &str) -> Vec<String> {
    let mut failed: Vec<String> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(said) = line.strip_prefix("error: ") {
            let is_of_hunk = said == "while searching for:" || said.starts_with("patch failed: ");
            failed.extend((!is_of_hunk).then(|| said.to_owned()));
        } else if let Some(of_file) = line.strip_prefix("Applying patch ")
            && let Some((file, _)) = of_file.split_once(" with ")
        {
            let mut hunks = 0;
            let mut rejected = Vec::new();
            while let Some(hunk) = lines.next_if(|line| line.contains("unk #")) {
                hunks += 1;
                rejected.extend(hunk.strip_prefix("Rejected hunk #"));
            }
            let numbers: Vec<&str> = rejected.iter().map(|hunk| hunk.trim_matches('.')).collect();
            let noun = if numbers.len() == 1 { "hunk" } else { "hunks" };
            failed.push(format!("{file} ({noun} {} of {hunks})", numbers.join(", ")));
        }
    }
    failed
}

#[cfg(test)]
mod tests;
