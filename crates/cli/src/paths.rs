//! Paths that options name. Commands check them first.

use crate::error::CliError;
use crate::options::Common;
use crate::output;
use pageout_machine::platform::Platform;
use pageout_run::unread;
use pageout_trace::source::TraceSource;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
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

/// Checks that the path of an option is a directory, or not there: the command then makes it.
///
/// # Errors
/// [`CliError::OptionPath`].
pub(crate) fn made_directory(option: &'static str, path: Option<&Path>) -> Result<(), CliError> {
    match path.filter(|path| path.exists()) {
        Some(path) => directory(option, path, "a directory, or a path to make one at"),
        None => Ok(()),
    }
}

/// Checks that a program can be started: by its path, or by a name of the user's PATH.
///
/// # Errors
/// [`CliError::OptionPath`].
pub(crate) fn program(option: &'static str, name: &Path) -> Result<(), CliError> {
    let is_path = name.as_os_str().as_encoded_bytes().contains(&b'/');
    let places = env::var_os("PATH").filter(|_| !is_path).unwrap_or_default();
    let named = env::split_paths(&places).map(|place| place.join(name));
    let own = is_path.then(|| name.to_owned());
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for path in own.into_iter().chain(named) {
        match fs::metadata(&path) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => {
                return Ok(());
            }
            Ok(_) => error = io::ErrorKind::PermissionDenied.into(),
            Err(why) if error.kind() == io::ErrorKind::NotFound => error = why,
            Err(_) => {}
        }
    }
    let (path, expected) = (name.to_owned(), "a program: its path, or a name in PATH");
    Err(CliError::OptionPath { option, path, expected, error })
}
