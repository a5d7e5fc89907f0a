//! The directory that keeps sources, builds and kernels between runs.

use pageout_experiment::named;
use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{TempDir, TempPath};

use super::progress::Progress;

/// The cache's directory of work that is not complete.
const UNFINISHED: &str = "tmp";
/// The cache's directory of locks.
const LOCKS: &str = "locks";
/// The cache's directory of results of machines whose run did not come to its end.
const ENDED: &str = "ended";
/// The longest time that work may take. Older unfinished work was left by a process that was ended.
const KEEP_UNFINISHED: Duration = Duration::from_secs(24 * 60 * 60);
/// The cache's directory of machines' logs.
const RUNS: &str = "runs";
/// The time for which a log is kept: a week.
const KEEP_LOGS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The directory that keeps sources, builds and kernels.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// The reason why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither the option nor the environment names a directory.
    #[error("no place for the cache: give --cache DIR, or set XDG_CACHE_HOME or HOME")]
    NoPlace,
    /// There is too little room on its disk.
    #[error(
        "{what} takes about {needed} MiB in {}, which has {free} MiB free: \
         give --cache a directory on another disk",
        named(cache)
    )]
    NoRoom {
        /// The work that needs the room.
        what: String,
        /// The cache's directory.
        cache: PathBuf,
        /// MiB that the work takes.
        needed: u64,
        /// MiB that there are.
        free: u64,
    },
    /// A file or directory in it cannot be used.
    #[error("cannot use the cache (--cache gives another): {}", named(path))]
    Use {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Writes a file at a path below a directory, and makes the folders between them.
pub(super) fn write_below(
    directory: &Path,
    path: &str,
    content: impl AsRef<[u8]>,
) -> Result<(), CacheError> {
    let path = directory.join(path);
    let folder = path.parent().unwrap_or(directory);
    fs::create_dir_all(folder).map_err(CacheError::at(folder))?;
    fs::write(&path, content).map_err(CacheError::at(&path))
}

impl CacheError {
    /// Returns a function for `map_err` of an operation on `path`.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Use { path, source }
    }
}

/// A lock that is held while something in the cache is made: other processes that want it wait.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Cache {
    /// Opens the cache at `directory`, or at the user's own place for caches.
    ///
    /// # Errors
    ///
    /// [`CacheError`] if there is no such place or it cannot be made.
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
        let cache = Self { root };
        sweep(&cache.directory(UNFINISHED)?, KEEP_UNFINISHED);
        sweep(&cache.ended()?, KEEP_UNFINISHED);
        sweep(&cache.directory(RUNS)?, KEEP_LOGS);
        Ok(cache)
    }

    /// Returns the cache's directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a directory in the cache, made if it is not there.
    pub(super) fn directory(&self, path: impl AsRef<Path>) -> Result<PathBuf, CacheError> {
        let path = self.root.join(path);
        fs::create_dir_all(&path).map_err(CacheError::at(&path))?;
        Ok(path)
    }

    /// Returns the directory of results of machines whose run did not come to its end.
    pub(super) fn ended(&self) -> Result<PathBuf, CacheError> {
        self.directory(ENDED)
    }

    /// Makes a directory for work that is not complete, on the same file system.
    pub(super) fn scratch(&self) -> Result<TempDir, CacheError> {
        let directory = self.directory(UNFINISHED)?;
        TempDir::new_in(&directory).map_err(CacheError::at(&directory))
    }

    /// Makes a directory for the time that a machine runs.
    pub(super) fn run(&self) -> Result<TempDir, CacheError> {
        let directory = self.directory(RUNS)?;
        TempDir::new_in(&directory).map_err(CacheError::at(&directory))
    }

    /// Makes a file for a machine's output, with the machine in its name.
    pub(super) fn log(&self, of: &str) -> Result<TempPath, CacheError> {
        let directory = self.directory(RUNS)?;
        let mut file = tempfile::Builder::new();
        let file = file.prefix(&format!("{of}-")).suffix(".log").tempfile_in(&directory);
        Ok(file.map_err(CacheError::at(&directory))?.into_temp_path())
    }

    /// Returns the path at which things of a kind are kept under a key.
    pub(super) fn place(&self, kind: &str, key: &str) -> PathBuf {
        self.root.join(kind).join(key)
    }

    /// Returns the directory that is kept under a key. If there is none, `make` fills a new one
    /// first.
    pub(super) fn made<E: From<CacheError>>(
        &self,
        kind: &str,
        key: &str,
        progress: &dyn Progress,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let place = self.place(kind, key);
        if place.is_dir() {
            return Ok(place);
        }
        let _lock = self.lock(&format!("{kind}-{key}"), progress)?;
        if !place.is_dir() {
            let complete = self.scratch()?;
            make(complete.path())?;
            self.keep(complete, &place)?;
        }
        Ok(place)
    }

    /// Moves a complete directory to its place, and removes what was there.
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

    /// Takes the lock of a name, and waits while another process holds it.
    pub(super) fn lock(&self, name: &str, progress: &dyn Progress) -> Result<Lock, CacheError> {
        let path = self.directory(LOCKS)?.join(name);
        let failed = || CacheError::at(&path);
        let file = File::create(&path).map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let _task = progress.begin(&format!("waiting for another process: {name}"));
                file.lock().map_err(failed())?;
            }
            Err(TryLockError::Error(source)) => return Err(failed()(source)),
        }
        Ok(Lock { _file: file })
    }
}

/// Removes the entries of a directory that have not changed for `unchanged`, if they can be
/// removed.
fn sweep(directory: &Path, unchanged: Duration) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let modified = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age >= unchanged) {
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::progress::Silent;
    use super::*;
    use std::time::SystemTime;
    use tempfile::tempdir;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn what_is_kept_replaces_what_was_there() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        let place = cache.place("kernels", "key");
        for text in ["first", "second"] {
            let complete = cache.scratch().unwrap();
            fs::write(complete.path().join("Image"), text).unwrap();
            cache.keep(complete, &place).unwrap();
            assert_eq!(fs::read_to_string(place.join("Image")).unwrap(), text);
        }
        let made =
            cache.made("kernels", "key", &Silent, |_| -> Result<(), CacheError> { unreachable!() });
        assert_eq!(made.unwrap(), place);
        assert_eq!(names(&cache.directory(UNFINISHED).unwrap()), [""; 0]);
    }

    #[test]
    fn what_was_left_is_cleared_away() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(directory.path())).unwrap();
        let [left, used] = [(); 2].map(|()| cache.scratch().unwrap().keep());
        let [old, new] = ["old", "new"].map(|name| cache.log(name).unwrap().keep().unwrap());
        for (path, age) in [(&left, KEEP_UNFINISHED), (&old, KEEP_LOGS)] {
            let long_ago = SystemTime::now() - age;
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        Cache::open(Some(directory.path())).unwrap();
        assert!(!left.exists() && used.exists() && !old.exists() && new.exists());
    }

    #[test]
    fn a_lock_is_of_one_name() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(directory.path())).unwrap();
        let lock = cache.lock("a", &Silent).unwrap();
        let file = |name| File::open(directory.path().join("locks").join(name)).unwrap();
        assert!(matches!(file("a").try_lock(), Err(TryLockError::WouldBlock)));
        cache.lock("b", &Silent).unwrap();
        drop(lock);
        assert!(file("a").try_lock().is_ok());
    }
}
