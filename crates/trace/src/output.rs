//! A file that gets its name only when it is complete.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::error::WriteError;

/// A file without a name, which appears under its path with [`OutputFile::commit`]. If the process
/// ends before, for whatever reason, nothing is left of it.
#[derive(Debug)]
pub struct OutputFile {
    unnamed: File,
    place: Place,
}

/// The place for a file.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    path: PathBuf,
    /// The permissions of the file that is replaced, or the default ones after the umask.
    permissions: Option<Permissions>,
}

/// A complete file beside its place, under a temporary name that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Staged {
    beside: TempPath,
    path: PathBuf,
}

impl OutputFile {
    /// Prepares to write `path`; an existing file stays until the new one is complete.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotAFile`] for directories, also those that do not exist yet, and devices;
    /// [`WriteError::DanglingLink`]; [`WriteError::NoDirectory`]; [`WriteError::Create`] if the
    /// directory cannot be written.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let fail = |source| WriteError::Create { path: path.to_owned(), source };
        let not_a_file = || WriteError::NotAFile { path: path.to_owned() };
        let (path, permissions) = match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Err(not_a_file()),
            // A symbolic link stays one: its target is replaced.
            Ok(metadata) => (fs::canonicalize(path).map_err(fail)?, Some(metadata.permissions())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(WriteError::DanglingLink { path: path.to_owned() });
                }
                // `new/` and `new/.` name a directory.
                if path.file_name().is_none_or(|name| !ends_with(path, name)) {
                    return Err(not_a_file());
                }
                (path.to_owned(), None)
            }
            Err(error) => return Err(fail(error)),
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new(".")).to_owned();
        if !directory.exists() {
            return Err(WriteError::NoDirectory { path, directory });
        }
        let unnamed = tempfile::tempfile_in(&directory).map_err(fail)?;
        Ok(Self { unnamed, place: Place { directory, path, permissions } })
    }

    /// Gives the file its name, and replaces any file of that name.
    ///
    /// # Errors
    ///
    /// The system's error from the copy to a temporary name beside it, or from the rename.
    pub fn commit(self) -> Result<(), WriteError> {
        self.stage()?.persist()
    }

    /// Copies the file beside its place, which takes all but the rename.
    pub(crate) fn stage(self) -> Result<Staged, WriteError> {
        let (mut content, place) = self.into_parts()?;
        place.stage(&mut content)
    }

    /// Returns the written file, rewound to its beginning, and its place.
    pub(crate) fn into_parts(mut self) -> Result<(File, Place), WriteError> {
        self.unnamed.rewind()?;
        Ok((self.unnamed, self.place))
    }
}

impl Place {
    pub(crate) fn stage(&self, content: &mut impl Read) -> Result<Staged, WriteError> {
        let mut named = tempfile::Builder::new()
            .prefix(".")
            .suffix(".partial")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&self.directory)?;
        if let Some(permissions) = &self.permissions {
            named.as_file().set_permissions(permissions.clone())?;
        }
        io::copy(content, named.as_file_mut())?;
        named.as_file().sync_all()?;
        Ok(Staged { beside: named.into_temp_path(), path: self.path.clone() })
    }
}

impl Staged {
    pub(crate) fn persist(self) -> Result<(), WriteError> {
        self.beside.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Returns true if a path ends with this name and nothing after it.
fn ends_with(path: &Path, name: &OsStr) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(name.as_encoded_bytes())
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unnamed.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unnamed.flush()
    }
}
