//! The directory that keeps sources, builds and kernels between runs.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::progress::Progress;

/// The directory.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither the option nor the environment says where it is.
    #[error("no place for the cache: give --cache DIR, or set XDG_CACHE_HOME or HOME")]
    NoPlace,
    /// A file or directory in it cannot be used.
    #[error("cannot use the cache: {}", path.display())]
    Use {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl CacheError {
    /// For `map_err` of an operation on `path`.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Use { path, source }
    }
}

/// Held while the cache is changed: another process waits.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Cache {
    /// The cache at `directory`, or at the user's own place for such things.
    ///
    /// # Errors
    ///
    /// [`CacheError`] where there is no such place or it cannot be made.
    pub fn open(directory: Option<&Path>) -> Result<Self, CacheError> {
        let absolute =
            |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let users = || {
            let home = || absolute("HOME").map(|home| home.join(".cache"));
            absolute("XDG_CACHE_HOME").or_else(home).map(|cache| cache.join("pageout/lab"))
        };
        let root = directory.map(Path::to_owned).or_else(users).ok_or(CacheError::NoPlace)?;
        fs::create_dir_all(&root).map_err(CacheError::at(&root))?;
        // Make, QEMU and the compiler get these paths whatever directory they run in.
        let root = fs::canonicalize(&root).map_err(CacheError::at(&root))?;
        Ok(Self { root })
    }

    /// A directory in it, made if it is not there.
    pub(super) fn directory(&self, path: impl AsRef<Path>) -> Result<PathBuf, CacheError> {
        let path = self.root.join(path);
        fs::create_dir_all(&path).map_err(CacheError::at(&path))?;
        Ok(path)
    }

    /// A directory for work that is not complete, on the same file system.
    pub(super) fn scratch(&self) -> Result<TempDir, CacheError> {
        let directory = self.directory("tmp")?;
        TempDir::new_in(&directory).map_err(CacheError::at(&directory))
    }

    /// Where things of a kind are kept under a key.
    pub(super) fn place(&self, kind: &str, key: &str) -> PathBuf {
        self.root.join(kind).join(key)
    }

    /// What is kept there; if nothing is, what `make` puts into a directory. The cache is locked.
    pub(super) fn made<E: From<CacheError>>(
        &self,
        kind: &str,
        key: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let place = self.place(kind, key);
        if !place.is_dir() {
            let complete = self.scratch()?;
            make(complete.path())?;
            self.keep(complete, &place)?;
        }
        Ok(place)
    }

    /// Gives a complete directory its place, instead of what was there.
    pub(super) fn keep(&self, complete: TempDir, place: &Path) -> Result<(), CacheError> {
        let parent = place.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(CacheError::at(parent))?;
        let old = self.scratch()?;
        if place.exists() {
            fs::rename(place, old.path().join("old")).map_err(CacheError::at(place))?;
        }
        fs::rename(complete.path(), place).map_err(CacheError::at(place))?;
        // Its name is taken, so that dropping it has nothing to delete.
        let _ = complete.keep();
        Ok(())
    }

    /// Waits until no other process changes the cache.
    pub(super) fn lock(&self, progress: &dyn Progress) -> Result<Lock, CacheError> {
        let path = self.root.join("lock");
        let failed = || CacheError::at(&path);
        let file = File::create(&path).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let _task = progress.begin("waiting for another process to build");
                file.lock().map_err(failed())?;
            }
            Err(TryLockError::Error(source)) => return Err(failed()(source)),
        }
        Ok(Lock { _file: file })
    }
}
