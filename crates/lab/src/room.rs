//! Room on the cache's disk: stated before anything is built, and refused where there is less.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustix::fs::statvfs;

use super::cache::{Cache, CacheError};
use super::progress::Progress;

pub(super) const MIB: u64 = 1 << 20;
/// What a release's source takes unpacked: 7.3.4 takes 1.8 GB.
pub(super) const SOURCE: u64 = 1800 * MIB;
/// What a work tree and its objects take: links to the source, and what make writes.
pub(super) const WORK_TREE: u64 = 300 * MIB;
/// What is kept of a kernel: its image, symbols, configuration and log.
pub(super) const KERNEL: u64 = 12 * MIB;

/// Says what building so many kernels takes, in these work trees.
pub(super) fn to_build(
    cache: &Cache,
    missing: usize,
    trees: &BTreeSet<PathBuf>,
    progress: &dyn Progress,
) -> Result<(), CacheError> {
    if missing == 0 {
        return Ok(());
    }
    let new_trees = trees.iter().filter(|tree| !cache.root().join(tree).is_dir()).count();
    let needed = KERNEL * missing as u64 + WORK_TREE * new_trees as u64;
    let kernels = if missing == 1 { "kernel" } else { "kernels" };
    check(cache, &format!("building {missing} {kernels}"), needed, progress)
}

/// Says what something takes, and refuses it where there is less.
pub(super) fn check(
    cache: &Cache,
    what: &str,
    needed: u64,
    progress: &dyn Progress,
) -> Result<(), CacheError> {
    let place = cache.root();
    let stat = statvfs(place).map_err(|error| CacheError::at(place)(error.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let (needed_mib, free_mib) = (needed / MIB, free / MIB);
    if free < needed {
        let (what, cache) = (what.to_owned(), place.to_owned());
        return Err(CacheError::NoRoom { what, cache, needed: needed_mib, free: free_mib });
    }
    progress.note(&format!(
        "{what} takes about {needed_mib} MiB in {}, which has {free_mib} MiB free",
        place.display()
    ));
    Ok(())
}
