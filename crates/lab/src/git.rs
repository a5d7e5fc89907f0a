//! Git, asked for what repositories and mails have. Nothing in a repository is written.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::child;

/// The reason why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git does not run.
    #[error("cannot run `git {command}`")]
    Run {
        /// The command.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Git failed.
    #[error("`git {command}` in {directory}: {said}")]
    Failed {
        /// The command.
        command: String,
        /// The directory in which the command ran.
        directory: String,
        /// The message of git.
        said: String,
    },
}

/// Variables that name a repository in place of the directory: git sets them for its children.
const REPOSITORY: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"];

/// Returns a git command for a directory. It is independent of the user's terminal and language.
pub(super) fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments);
    REPOSITORY.iter().for_each(|variable| {
        command.env_remove(variable);
    });
    command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs git, and returns what it prints, given this input.
pub(super) fn git(
    directory: &Path,
    arguments: &[&str],
    input: Option<&[u8]>,
) -> Result<Vec<u8>, GitError> {
    run(command(directory, arguments), directory, arguments[0], input)
}

/// Runs git as [`git`] does, but as if the directory were in no repository, and without the
/// settings of the user: in a repository `git apply` passes over files outside of the directory.
pub(super) fn apart(
    directory: &Path,
    arguments: &[&str],
    input: Option<&[u8]>,
) -> Result<Vec<u8>, GitError> {
    let mut command = command(directory, arguments);
    command.env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap_or(directory));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    run(command, directory, arguments[0], input)
}

fn run(
    mut command: Command,
    directory: &Path,
    name: &str,
    input: Option<&[u8]>,
) -> Result<Vec<u8>, GitError> {
    let failed = |source| GitError::Run { command: name.to_owned(), source };
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(failed)?;
    // Git prints far less than a pipe holds before it has read all. If it ends without reading, its
    // message has the reason.
    let fed = match (child.stdin.take(), input) {
        (Some(mut stdin), Some(input)) => stdin.write_all(input),
        _ => Ok(()),
    };
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return fed.map(|()| output.stdout).map_err(failed);
    }
    let said = child::said(&output);
    let said = if said.is_empty() { output.status.to_string() } else { said };
    let (command, directory) = (name.to_owned(), directory.display().to_string());
    Err(GitError::Failed { command, directory, said })
}

/// Runs git as [`git`] does, and returns its answer of one line as text.
pub(super) fn line(directory: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let answer = git(directory, arguments, None)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}
