//! Time and room that the first build of a configuration takes. Later builds compile only what
//! differs between kernels.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use super::cache::{Cache, CacheError};
use super::kernel::Kernel;
use super::release::Release;
use super::room::{KERNEL, MIB, SOURCE, WORK_TREE};
use super::source::{Source, tarball};
use super::target::Config;

/// The seconds of one CPU for all objects of a kernel, until this machine's own are known: on the
/// fastest and on the slowest machine that it was measured on. The first build of 7.3.4 took 206 s
/// on an idle virtual machine with two CPUs of an AMD EPYC, and 588 s on one with two of a Xeon at
/// 2.5 GHz, the unpacking of its source among them.
const CPU_SECONDS: (u64, u64) = (2 * 206, 2 * 588);
/// The divisor for each other kernel: one that differs in a file took 19 s on that machine. One
/// that differs in a header of many files takes as long as the first.
const OTHER_KERNEL: u64 = 10;
/// The file of the cache with the seconds of one CPU that its latest first build took.
const TOOK: &str = "first-build-took";
/// The bytes of a fetched source as a package.
const PACKAGE: u64 = 160 * MIB;

/// An estimate of a first build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstBuild {
    /// The configurations that no kernel was built for yet.
    pub configs: Vec<Config>,
    /// Seconds on those CPUs: at least, and at most.
    pub seconds: (u64, u64),
    /// The number of CPUs that compile.
    pub cpus: usize,
    /// MiB in the cache.
    pub mib: u64,
}

impl FirstBuild {
    /// Estimates the configurations that no kernel was built for; `None` if there are none.
    pub(super) fn estimate(
        cache: &Cache,
        kernels: &[Kernel],
        configs: &[Config],
        jobs: usize,
    ) -> Option<Self> {
        let was_built = |config: &Config| {
            let builds = fs::read_dir(cache.root().join("builds")).into_iter().flatten().flatten();
            let symbols = |tree: &Path| tree.join(config.name()).join("System.map");
            builds.into_iter().any(|tree| symbols(&tree.path()).is_file())
        };
        let configs: Vec<Config> =
            configs.iter().filter(|config| !was_built(config)).copied().collect();
        if configs.is_empty() {
            return None;
        }
        let took = fs::read_to_string(cache.root().join(TOOK)).ok();
        let took: Option<u64> = took.and_then(|text| text.trim().parse().ok());
        let (least, most) = took.map_or(CPU_SECONDS, |took| (took, took));
        let sources: BTreeSet<&Source> = kernels.iter().map(|kernel| &kernel.source).collect();
        let unpacked = fs::read_dir(cache.root().join("sources")).map_or(0, Iterator::count);
        let to_unpack = sources.iter().filter(|source| !matches!(source, Source::Tree(_))).count();
        let is_there = |release: &Release| tarball(*release, cache).is_some();
        let to_fetch = sources.iter().filter(|source| match source {
            Source::Debian(release) => !is_there(release),
            Source::Tree(_) | Source::Commit(_) => false,
        });
        let bytes = SOURCE * to_unpack.saturating_sub(unpacked) as u64
            + PACKAGE * to_fetch.count() as u64
            + (WORK_TREE + KERNEL * kernels.len() as u64) * configs.len() as u64;
        let cpus = cpus(jobs);
        let others = kernels.len().saturating_sub(1) as u64;
        let of_all = |took| (took + took * others / OTHER_KERNEL) * configs.len() as u64;
        let seconds = (of_all(least) / cpus as u64, of_all(most) / cpus as u64);
        Some(Self { configs, seconds, cpus, mib: bytes / MIB })
    }

    /// Stores the time that a first build took with this number of compilers at once.
    pub(super) fn took(cache: &Cache, seconds: u64, jobs: usize) -> Result<(), CacheError> {
        let place = cache.root().join(TOOK);
        fs::write(&place, (seconds * cpus(jobs) as u64).to_string()).map_err(CacheError::at(&place))
    }
}

/// Returns the number of CPUs that this number of compilers keeps busy.
fn cpus(jobs: usize) -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(jobs).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn what_earlier_builds_took_is_the_estimate_of_the_next() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(directory.path())).unwrap();
        let source = Source::Debian(Release::Linux7_3);
        let kernels = Kernel::resolve(&["stock".to_owned()], &[], &source).unwrap();
        let [x86, arm] = [Config::X86_64, Config::Arm64_4K];
        let estimate =
            |configs: &[Config], jobs| FirstBuild::estimate(&cache, &kernels, configs, jobs);
        let one = estimate(&[x86], 1).unwrap();
        let (least, most) = CPU_SECONDS;
        assert_eq!(one.seconds, CPU_SECONDS);
        assert!(one.mib >= (SOURCE + WORK_TREE) / MIB);
        assert_eq!(estimate(&[x86, arm], 1).unwrap().seconds, (2 * least, 2 * most));
        let names = ["stock", "no-young"].map(str::to_owned);
        let two = Kernel::resolve(&names, &[], &source).unwrap();
        let two = FirstBuild::estimate(&cache, &two, &[x86], 1).unwrap();
        assert_eq!(two.seconds, (least + least / OTHER_KERNEL, most + most / OTHER_KERNEL));
        let many = estimate(&[x86], usize::MAX).unwrap();
        assert_eq!(many.seconds.0, least / many.cpus as u64);
        let built = cache.directory("builds/debian-x/x86-64").unwrap();
        assert!(estimate(&[x86], 1).is_some(), "a build that did not end is none");
        fs::write(built.join("System.map"), "").unwrap();
        cache.directory("sources/debian-x").unwrap();
        FirstBuild::took(&cache, 100, 1).unwrap();
        assert_eq!(estimate(&[x86], 1), None);
        let other = estimate(&[x86, arm], 1).unwrap();
        assert_eq!((other.seconds, &other.configs[..]), ((100, 100), &[arm][..]));
        assert!(other.mib < SOURCE / MIB);
    }
}
