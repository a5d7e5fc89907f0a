//! Programs that run to their end, and their messages.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// A program that does not run.
#[derive(Debug, thiserror::Error)]
#[error("cannot run `{program}`")]
pub struct NotRun {
    /// The program.
    program: String,
    /// The error of the system.
    source: io::Error,
}

impl NotRun {
    pub(super) fn new(program: &str, source: io::Error) -> Self {
        Self { program: program.to_owned(), source }
    }
}

/// Runs a program to its end, whatever its status.
pub(super) fn output(command: &mut Command) -> Result<Output, NotRun> {
    command.output().map_err(|source| {
        let program = Path::new(command.get_program());
        let name = program.file_name().unwrap_or(program.as_os_str());
        NotRun::new(&name.to_string_lossy(), source)
    })
}

/// Runs a program to its end, and returns its messages if it fails.
pub(super) fn failure(command: &mut Command) -> Result<Option<String>, NotRun> {
    let output = output(command)?;
    Ok((!output.status.success()).then(|| said(&output)))
}

/// Returns a program's messages on standard error.
pub(super) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Returns the version that a program prints.
pub(super) fn version(program: &str) -> Result<String, NotRun> {
    let output = output(Command::new(program).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_quoted() {
        let shell = |text: &str| failure(Command::new("sh").args(["-c", text]));
        assert_eq!(shell("echo no >&2").unwrap(), None);
        assert_eq!(shell("echo ' no ' >&2; exit 1").unwrap(), Some("no".to_owned()));
    }

    #[test]
    fn a_program_that_does_not_run_is_named_without_its_folder() {
        let error = failure(&mut Command::new("/nowhere/mkfs")).unwrap_err();
        assert_eq!(error.to_string(), "cannot run `mkfs`");
    }
}
