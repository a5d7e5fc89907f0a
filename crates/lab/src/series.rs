//! Series of patches: commits of a tree, or mails.

use std::io;
use std::path::{Path, PathBuf};

use pageout_experiment::input;
use pageout_experiment::named;

use super::cache::CacheError;
use super::git::{GitError, git, line};
use super::kernel::Kernel;
use super::patch::{Patch, tag};
use super::patches::is_patch;
use super::source::{Commit, Source};
use super::tools::{self, Missing};

/// The kernel before the first patch.
pub const BASE: &str = "base";

/// Patches in their order, and what they are patches of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// What the first patch is a patch of.
    pub base: Source,
    /// One or more, each of which begins with its subject.
    pub patches: Vec<Patch>,
}

/// Why there is no series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// Git is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Git refused.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A text that is no range.
    #[error("`{0}` is no range of commits: expected BASE..HEAD")]
    NotARange(String),
    /// A name of no commit.
    #[error("{directory} has no commit `{name}`")]
    NoCommit {
        /// The name.
        name: String,
        /// The repository.
        directory: String,
    },
    /// A range without patches.
    #[error("there is no patch in {0}: expected BASE..HEAD, with commits that change files")]
    Empty(String),
    /// A range with a merge commit.
    #[error(
        "commit {commit} (`{subject}`) is a merge: a series has one patch after another; rebase it"
    )]
    Merge {
        /// The commit, abbreviated.
        commit: String,
        /// Its subject.
        subject: String,
    },
    /// A range whose end does not have its beginning behind it.
    #[error("{base} is not among the ancestors of {head}: expected {begins}..{head}")]
    NotBehind {
        /// The beginning.
        base: String,
        /// The end.
        head: String,
        /// Where both lines part.
        begins: String,
    },
    /// Mails that cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file without mails, or with a cover letter alone.
    #[error("{}: there is no patch in it", named(.0))]
    NoPatch(PathBuf),
    /// A mail without a patch.
    #[error(
        "{}: mail {number} (`{subject}`) is not a patch: it has no `+++ b/FILE` line",
        named(path)
    )]
    NotAPatch {
        /// The file.
        path: PathBuf,
        /// Which mail, from 1.
        number: usize,
        /// Its subject.
        subject: String,
    },
    /// A patch that does not follow on the one before it.
    #[error(
        "{}: mail {number} is patch {found}, expected patch {expected}: `b4 am` writes the patches \
         in their order",
        named(path)
    )]
    Order {
        /// The file.
        path: PathBuf,
        /// Which mail, from 1.
        number: usize,
        /// What its subject says.
        found: u32,
        /// What the mails before it ask for.
        expected: u32,
    },
    /// A file on the way could not be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Series {
    /// The commits of a range `BASE..HEAD` of the tree's repository. Those that change no file are
    /// passed over: cover letters are kept in such.
    ///
    /// # Errors
    ///
    /// [`SeriesError`]: what is no range, an empty one, one with a merge commit, and what git says.
    pub fn of_range(tree: &Path, range: &str) -> Result<Self, SeriesError> {
        tools::check(&[tools::git()])?;
        let not_a_range = || SeriesError::NotARange(range.to_owned());
        let (base, head) = range.split_once("..").ok_or_else(not_a_range)?;
        let is_name = |name: &str| !name.starts_with(['-', '.']);
        if base.is_empty() || !is_name(base) || !is_name(head) {
            return Err(not_a_range());
        }
        let head = if head.is_empty() { "HEAD" } else { head };
        let (from, to) = (commit(tree, base)?, commit(tree, head)?);
        let commits = commits(tree, &from, &to)?;
        let empty = || SeriesError::Empty(range.to_owned());
        if commits.is_empty() {
            return Err(empty());
        }
        if let Some(Committed { hash, subject, .. }) = commits.iter().find(|of| of.parents > 1) {
            let (commit, subject) = (hash[..12].to_owned(), subject.clone());
            return Err(SeriesError::Merge { commit, subject });
        }
        let begins = line(tree, &["merge-base", &from, &to])?;
        if begins != from {
            let (base, head) = (base.to_owned(), head.to_owned());
            return Err(SeriesError::NotBehind { base, head, begins: begins[..12].to_owned() });
        }
        let mut patches = Vec::new();
        for Committed { hash, subject, .. } in commits {
            let diff = diff(tree, &hash)?;
            if !diff.is_empty() {
                patches.push(patch(patches.len() + 1, &subject, &diff));
            }
        }
        if patches.is_empty() {
            return Err(empty());
        }
        let repository =
            line(tree, &["rev-parse", "--path-format=absolute", "--git-common-dir"])?.into();
        let content = line(tree, &["rev-parse", "--verify", &format!("{from}^{{tree}}")])?;
        let commit = Commit { repository, tree: content, commit: from };
        Ok(Self { base: Source::Commit(commit), patches })
    }

    /// The patches among the mails of a file, as `b4 am` and `git format-patch --stdout` write it.
    /// A cover letter is passed over.
    ///
    /// # Errors
    ///
    /// [`SeriesError`]: a file that cannot be read, mails that are not patches or not in their
    /// order, and what git says.
    pub fn of_mails(path: &Path, base: Source) -> Result<Self, SeriesError> {
        tools::check(&[tools::git()])?;
        let read = |source| SeriesError::Read { path: path.to_owned(), source };
        let mails = input::read(path, input::MAX_PATCH).map_err(read)?;
        let scratch = tempfile::tempdir().map_err(read)?;
        let (split, place) = (scratch.path(), scratch.path().display().to_string());
        let count = git(split, &["mailsplit", "-b", &format!("-o{place}")], Some(&mails))?;
        let count: usize = String::from_utf8_lossy(&count).trim().parse().unwrap_or(0);
        let mut patches: Vec<Patch> = Vec::new();
        for number in 1..=count {
            let name = split.join(format!("{number:04}"));
            let mail = std::fs::read(&name).map_err(CacheError::at(&name))?;
            let Mail { subject, place, text } = mail_of(split, &mail)?;
            if place == Some(0) {
                continue;
            }
            let expected = patches.len() as u32 + 1;
            let one = patch(patches.len() + 1, &subject, &text);
            let path = path.to_owned();
            if !is_patch(&one) {
                return Err(SeriesError::NotAPatch { path, number, subject });
            }
            if let Some(found) = place.filter(|found| *found != expected) {
                return Err(SeriesError::Order { path, number, found, expected });
            }
            patches.push(one);
        }
        if patches.is_empty() {
            return Err(SeriesError::NoPatch(path.to_owned()));
        }
        Ok(Self { base, patches })
    }

    /// The kernel before the first patch, then one for each patch, with all patches before it.
    pub fn kernels(&self) -> Vec<Kernel> {
        let kernel = |patches: usize| {
            let name = if patches == 0 { BASE.to_owned() } else { format!("p{patches}") };
            Kernel {
                build: name.clone(),
                name,
                source: self.base.clone(),
                patches: self.patches[..patches].to_vec(),
                parameters: Vec::new(),
            }
        };
        (0..=self.patches.len()).map(kernel).collect()
    }
}

/// A commit of a range.
struct Committed {
    hash: String,
    parents: usize,
    subject: String,
}

/// The hash of a commit.
fn commit(tree: &Path, name: &str) -> Result<String, SeriesError> {
    // In a repository it fails for a name alone.
    line(tree, &["rev-parse", "--git-dir"])?;
    let found = line(tree, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
    found.map_err(|error| match error {
        GitError::Failed { directory, .. } => {
            SeriesError::NoCommit { name: name.to_owned(), directory }
        }
        error => error.into(),
    })
}

/// The commits of a range, the oldest first.
fn commits(tree: &Path, from: &str, to: &str) -> Result<Vec<Committed>, GitError> {
    let range = format!("{from}..{to}");
    let words = ["rev-list", "--reverse", "--topo-order", "--encoding=UTF-8"];
    let listed = git(tree, &[&words[..], &["--format=%P%n%s", &range]].concat(), None)?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut lines = listed.lines();
    let mut commits = Vec::new();
    while let (Some(hash), Some(parents), Some(subject)) =
        (lines.next(), lines.next(), lines.next())
    {
        let hash = hash.trim_start_matches("commit ").to_owned();
        let parents = parents.split_whitespace().count();
        commits.push(Committed { hash, parents, subject: subject.to_owned() });
    }
    Ok(commits)
}

/// What a commit changes, whatever the user's configuration makes of a diff.
fn diff(tree: &Path, commit: &str) -> Result<Vec<u8>, GitError> {
    let plain = ["--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/", "--no-commit-id"];
    git(tree, &[&["diff-tree", "-p"], &plain[..], &prefixes, &[commit]].concat(), None)
}

/// What a mail has.
struct Mail {
    subject: String,
    /// Of a subject that begins with `[PATCH 2/3]`, the 2.
    place: Option<u32>,
    /// What follows its message.
    text: Vec<u8>,
}

fn mail_of(scratch: &Path, mail: &[u8]) -> Result<Mail, SeriesError> {
    let options = ["mailinfo", "-k", "--encoding=UTF-8", "--no-scissors", "--quoted-cr=strip"];
    let told = git(scratch, &[&options[..], &["message", "patch"]].concat(), Some(mail))?;
    let told = String::from_utf8_lossy(&told).into_owned();
    let subject = told.lines().find_map(|line| line.strip_prefix("Subject: ")).unwrap_or_default();
    let (tag, subject) = tag(subject);
    let number = |word: &str| {
        let (number, of) = word.split_once('/')?;
        of.parse::<u32>().ok()?;
        number.parse().ok()
    };
    let path = scratch.join("patch");
    let text = std::fs::read(&path).map_err(CacheError::at(&path))?;
    let place = tag.split_whitespace().find_map(number);
    Ok(Mail { subject: subject.to_owned(), place, text })
}

/// A patch that begins with its subject, so that it is told as others are.
fn patch(number: usize, subject: &str, diff: &[u8]) -> Patch {
    let subject: String = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let head = format!("Subject: [PATCH] {subject}\n\n");
    let text = [head.as_bytes(), diff].concat();
    Patch { name: format!("{number} (`{subject}`)"), text }
}

#[cfg(test)]
mod tests;
