//! Paths that options name. Commands check them first.

use crate::error::CliError;
use crate::options::Common;
use crate::output;
use pageout_machine::platform::Platform;
use pageout_run::unread;
use pageout_trace::source::TraceSource;
use std::fs;
use std::io;
use std::path::Path;

/// Checks the files of a command that runs scenarios, with these further outputs.
///
/// # Errors
/// [`CliError`] names the path and its fault.
pub(crate) fn check(common: &Common, further: &[Option<&Path>]) -> Result<(), CliError> {
    if let Some(trace) = &common.trace {
        named("trace", trace, TraceSource::sample_names().into_iter())?;
    }
    if let Some(platform) = &common.machine.platform {
        named("platform", Path::new(platform), Platform::names())?;
    }
    output::check(&[&common.output.paths()[..], further].concat(), &common.inputs())
}

/// Checks that a path is one of the names that come with the program, or exists.
///
/// # Errors
/// [`CliError`] with the names.
pub(crate) fn named<'n>(
    kind: &'static str,
    path: &Path,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Result<(), CliError> {
    if names.clone().any(|name| path == Path::new(name)) {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(unread(kind, path, error, names).into()),
    }
}

/// Checks that the file of an option is there; `expected` describes the file.
///
/// # Errors
/// [`CliError::OptionPath`].
pub(crate) fn file(
    option: &'static str,
    path: &Path,
    expected: &'static str,
) -> Result<(), CliError> {
    let is_directory = || io::Error::from(io::ErrorKind::IsADirectory);
    let found = fs::metadata(path).and_then(|found| match found.is_dir() {
        true => Err(is_directory()),
        false => Ok(()),
    });
    found.map_err(|error| CliError::OptionPath { option, path: path.to_owned(), expected, error })
}

/// Checks that the directory of an option is there; `expected` describes the directory.
///
/// # Errors
/// [`CliError::OptionPath`].
pub(crate) fn directory(
    option: &'static str,
    path: &Path,
    expected: &'static str,
) -> Result<(), CliError> {
    let is_none = || io::Error::from(io::ErrorKind::NotADirectory);
    let found = fs::metadata(path).and_then(|found| match found.is_dir() {
        true => Ok(()),
        false => Err(is_none()),
    });
    found.map_err(|error| CliError::OptionPath { option, path: path.to_owned(), expected, error })
}
