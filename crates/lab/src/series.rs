//! Series of patches: commits of a tree, or mails.

use std::path::Path;

use super::git::{GitError, git, line};
use super::kernel::Kernel;
use super::mails::MailError;
use super::patch::{self, Given, Patch};
use super::source::{Commit, Source};
use super::subject::one_line;
use super::tools::{self, Missing};

/// The kernel before the first patch.
pub const BASE: &str = "base";

/// Patches in their order, and the source that they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// The source that the first patch changes.
    pub base: Source,
    /// The patches, one or more.
    pub patches: Vec<Patch>,
    /// Lines that say which mails were taken.
    pub notes: Vec<String>,
}

/// The reason why there is no series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// Git is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A text that is no range.
    #[error("`{0}` is not a range of commits: expected BASE..HEAD")]
    NotARange(String),
    /// A directory that is not in a repository.
    #[error("{0}: it is not a git repository; expected one that has the commits")]
    NoRepository(String),
    /// A name that is not a commit's.
    #[error("{directory} has no commit `{name}`: expected a branch, a tag or a hash of it")]
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
        /// The commit's subject.
        subject: String,
    },
    /// A range whose beginning is no ancestor of its end.
    #[error("{base} is not among the ancestors of {head}: expected {begins}..{head}")]
    NotBehind {
        /// The beginning.
        base: String,
        /// The end.
        head: String,
        /// The commit at which both lines part.
        begins: String,
    },
    /// A file without patches that could be taken.
    #[error(transparent)]
    Mails(#[from] MailError),
}

impl Series {
    /// Reads the commits of a range `BASE..HEAD` of the tree's repository. Commits that change no
    /// file are skipped: some developers keep cover letters in them.
    ///
    /// # Errors
    ///
    /// [`SeriesError`] for a text that is no range, for a range that is empty, has a merge commit
    /// or does not begin at an ancestor of its end, and for failures of git.
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
                let (name, subject) = (String::new(), one_line(&subject));
                let patch = Patch { name, subject, diff, file: None };
                patches.push(patch.numbered(patches.len() + 1));
            }
        }
        if patches.is_empty() {
            return Err(empty());
        }
        let repository =
            line(tree, &["rev-parse", "--path-format=absolute", "--git-common-dir"])?.into();
        let content = line(tree, &["rev-parse", "--verify", &format!("{from}^{{tree}}")])?;
        let commit = Commit { repository, tree: content, commit: from };
        Ok(Self { base: Source::Commit(commit), patches, notes: Vec::new() })
    }

    /// Reads the patches of a file of mails: a thread as lore has it, or the output of `b4 am` or
    /// `git format-patch --stdout`.
    ///
    /// # Errors
    ///
    /// [`SeriesError`] for a file that cannot be read, mails that are no series, and failures of
    /// git.
    pub fn of_mails(path: &Path, base: Source) -> Result<Self, SeriesError> {
        tools::check(&[tools::git()])?;
        let Given { patches, notes } = patch::read(path)?;
        let numbered = patches.into_iter().zip(1..);
        let patches = numbered.map(|(patch, number)| patch.numbered(number)).collect();
        Ok(Self { base, patches, notes })
    }

    /// Returns the kernel before the first patch, then one for each patch, with all patches up to
    /// it.
    pub fn kernels(&self) -> Vec<Kernel> {
        (0..=self.patches.len()).map(|patches| self.kernel(patches)).collect()
    }

    /// Returns the kernel before the first patch, and the one with all patches.
    pub fn ends(&self) -> [Kernel; 2] {
        [0, self.patches.len()].map(|patches| self.kernel(patches))
    }

    fn kernel(&self, patches: usize) -> Kernel {
        let name = if patches == 0 { BASE.to_owned() } else { format!("p{patches}") };
        Kernel {
            build: name.clone(),
            name,
            source: self.base.clone(),
            patches: self.patches[..patches].to_vec(),
            parameters: Vec::new(),
        }
    }
}

/// A commit of a range.
struct Committed {
    hash: String,
    parents: usize,
    subject: String,
}

/// Returns the hash of a commit.
fn commit(tree: &Path, name: &str) -> Result<String, SeriesError> {
    // After this check the next command can fail only because of the name.
    line(tree, &["rev-parse", "--git-dir"]).map_err(|error| match error {
        GitError::Failed { directory, said, .. } if said.contains("not a git repository") => {
            SeriesError::NoRepository(directory)
        }
        error => error.into(),
    })?;
    let found = line(tree, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
    found.map_err(|error| match error {
        GitError::Failed { directory, .. } => {
            SeriesError::NoCommit { name: name.to_owned(), directory }
        }
        error => error.into(),
    })
}

/// Returns the commits of a range, the oldest first.
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

/// Returns the diff of a commit, independent of the user's settings for diffs.
fn diff(tree: &Path, commit: &str) -> Result<Vec<u8>, GitError> {
    let plain = ["--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/", "--no-commit-id"];
    git(tree, &[&["diff-tree", "-p"], &plain[..], &prefixes, &[commit]].concat(), None)
}

#[cfg(test)]
mod tests;
