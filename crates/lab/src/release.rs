//! The Linux releases that the lab knows: Debian's packages of their source, and the kernels that
//! our patches make of them.

use std::fmt;
use std::path::PathBuf;

use super::assets::{BEFORE_7_3, File, QUESTIONS_7_3, QUEUE_7_3, SERIES};
use super::patch::Patch;

/// The kernels without one of the batches that Linux 7.3 has and kernels before it had not. Their
/// patches make the kernel without any batch in this order.
const BATCHES: [&str; 3] = ["no-young", "no-mglru", "no-unmap"];
/// The kernel without any batch.
const NO_BATCH: &str = "no-batch";
/// The kernel as it is released.
pub(super) const STOCK: &str = "stock";

/// A Linux release with a Debian package of its source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Release {
    /// Linux 7.3, which has the batches.
    Linux7_3,
    /// Linux 6.12, which our series brings them to.
    Linux6_12,
}

impl Release {
    /// Every release, the reference first.
    pub const ALL: [Self; 2] = [Self::Linux7_3, Self::Linux6_12];

    /// Returns the release's number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux7_3 => "7.3",
            Self::Linux6_12 => "6.12",
        }
    }

    /// Returns the release of a number.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|release| release.name() == name)
    }

    /// Returns the Debian package of the release's source.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Linux7_3 => "linux-source-7.3",
            Self::Linux6_12 => "linux-source-6.12",
        }
    }

    /// Returns the name of the file that the package installs.
    pub(super) fn tarball(self) -> String {
        format!("{}.tar.xz", self.package())
    }

    /// Returns the path at which the package installs that file.
    pub(super) fn installed(self) -> PathBuf {
        PathBuf::from("/usr/src").join(self.tarball())
    }

    /// Returns the Debian suite that has the package.
    pub(super) const fn suite(self) -> &'static str {
        match self {
            Self::Linux7_3 => "trixie-backports",
            Self::Linux6_12 => "trixie",
        }
    }

    /// Returns the names of a kernel before the batches and of one after them.
    pub const fn before_and_after(self) -> [&'static str; 2] {
        match self {
            Self::Linux7_3 => [NO_BATCH, STOCK],
            Self::Linux6_12 => [STOCK, "s3"],
        }
    }

    /// Describes its kernels: a heading, then their names, each with what it is.
    pub const fn described(self) -> (&'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Self::Linux7_3 => (
                "Kernels of Linux 7.3, which checks young bits and unmaps in batches",
                &[
                    ("stock", "Debian's linux-source-7.3, or the tree of --tree"),
                    ("no-young", "stock before the young check of the classic LRU was batched"),
                    ("no-mglru", "stock before the young checks of MGLRU were batched"),
                    ("no-unmap", "stock before the unmapping of file folios was batched"),
                    ("no-batch", "stock before all three"),
                    (
                        "young-flush, no-young-tlbi, no-young-flush",
                        "stock with another flush after a young bit is cleared (docs/lab.md)",
                    ),
                    (
                        "no-unmap-defer, clean-entries",
                        "stock with other flushes where reclaim unmaps (docs/lab.md)",
                    ),
                    (
                        "q1 to q24",
                        "stock with the first patches of a queue that makes its reclaim faster",
                    ),
                ],
            ),
            Self::Linux6_12 => (
                "Kernels of Linux 6.12, with --kernel 6.12 or as 6.12:NAME",
                &[
                    ("stock", "Debian's linux-source-6.12"),
                    ("s1", "stock with our backport's batched young check of the classic LRU"),
                    ("s2", "s1 with file folios unmapped in batches"),
                    ("s3", "s2 with MGLRU's young checks in batches"),
                    ("s4", "s3 with the flush after a young clear as a boot parameter"),
                ],
            ),
        }
    }

    /// Returns the patches that make the kernel of a name out of this release; `None` if no kernel
    /// of the release has that name.
    pub(super) fn patches(self, build: &str) -> Option<Vec<Patch>> {
        if build == STOCK {
            return Some(Vec::new());
        }
        match self {
            Self::Linux7_3 if build == NO_BATCH => {
                BATCHES.into_iter().map(|name| named(BEFORE_7_3, name)).collect()
            }
            Self::Linux7_3 => {
                let alone = named(BEFORE_7_3, build).or_else(|| named(QUESTIONS_7_3, build));
                alone.map(|patch| vec![patch]).or_else(|| up_to('q', QUEUE_7_3, build))
            }
            Self::Linux6_12 => up_to('s', SERIES, build),
        }
    }

    /// Returns the names of the release's kernels.
    pub(super) fn names(self) -> Vec<String> {
        let alone: Vec<&str> = match self {
            Self::Linux7_3 => {
                let questions = QUESTIONS_7_3.iter().map(|(file, _)| kernel_of(file));
                BATCHES.into_iter().chain([NO_BATCH]).chain(questions).collect()
            }
            Self::Linux6_12 => Vec::new(),
        };
        let (letter, patches) = match self {
            Self::Linux7_3 => ('q', QUEUE_7_3.len()),
            Self::Linux6_12 => ('s', SERIES.len()),
        };
        let alone = [STOCK].into_iter().chain(alone).map(str::to_owned);
        alone.chain((1..=patches).map(|nr| format!("{letter}{nr}"))).collect()
    }

    /// Returns the names of the release's kernels, abbreviated for messages.
    pub(super) fn kernels(self) -> String {
        let others = match self {
            Self::Linux7_3 => {
                let questions = QUESTIONS_7_3.iter().map(|(file, _)| kernel_of(file));
                let all = BATCHES.into_iter().chain([NO_BATCH]).chain(questions);
                format!("{}, q1 to q{}", all.collect::<Vec<_>>().join(", "), QUEUE_7_3.len())
            }
            Self::Linux6_12 => format!("s1 to s{}", SERIES.len()),
        };
        format!("{STOCK}, {others}")
    }
}

/// Returns the name of the kernel that a patch makes, from the patch's file name.
fn kernel_of(file: &str) -> &str {
    file.strip_suffix(".patch").unwrap_or(file)
}

fn named(files: &[File], kernel: &str) -> Option<Patch> {
    files.iter().find(|(file, _)| kernel_of(file) == kernel).map(patch)
}

/// Returns the first patches of a series. The kernel's name has their number after its letter:
/// `s3`.
fn up_to(letter: char, series: &[File], kernel: &str) -> Option<Vec<Patch>> {
    let last = (1..=series.len()).find(|n| kernel == format!("{letter}{n}"))?;
    Some(series[..last].iter().map(patch).collect())
}

fn patch((name, text): &File) -> Patch {
    Patch::shipped(name, text)
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(release: Release, build: &str) -> Option<Vec<String>> {
        let patches = release.patches(build)?;
        Some(patches.into_iter().map(|patch| patch.name).collect())
    }

    #[test]
    fn a_kernel_without_a_batch_is_one_patch_away() {
        for name in BATCHES {
            assert_eq!(patches(Release::Linux7_3, name), Some(vec![format!("{name}.patch")]));
        }
        let all = ["no-young.patch", "no-mglru.patch", "no-unmap.patch"].map(str::to_owned);
        assert_eq!(patches(Release::Linux7_3, NO_BATCH), Some(all.into()));
        assert_eq!(patches(Release::Linux7_3, "s1"), None);
    }

    #[test]
    fn a_kernel_of_the_series_has_its_first_patches() {
        assert_eq!(patches(Release::Linux6_12, "stock"), Some(vec![]));
        assert_eq!(patches(Release::Linux6_12, "s3").unwrap().len(), 3);
        for unknown in ["s0", "s9", "s", "s01", "q1", "no-batch", ""] {
            assert_eq!(patches(Release::Linux6_12, unknown), None, "{unknown}");
        }
        assert_eq!(patches(Release::Linux7_3, "q2").unwrap().len(), 2);
        assert_eq!(patches(Release::Linux7_3, "q0"), None);
    }

    #[test]
    fn messages_name_every_kernel() {
        for release in Release::ALL {
            assert!(release.kernels().starts_with("stock, "));
            assert_eq!(Release::named(release.name()), Some(release));
            let known = |name: &&str| release.patches(name).is_some();
            assert!(release.before_and_after().iter().all(known));
            let (_, described) = release.described();
            let words = described.iter().flat_map(|(names, _)| names.split([',', ' ']));
            let described: Vec<&str> = words.filter(|word| !["", "to"].contains(word)).collect();
            assert!(described.iter().all(known), "{described:?}");
            assert_eq!(described.last(), release.names().last().map(|last| &**last).as_ref());
        }
        assert!(Release::Linux7_3.kernels().contains("no-unmap, no-batch"));
    }
}
