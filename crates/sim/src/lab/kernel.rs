//! Kernels by name: stock, our series up to one of its patches, or patches of the user's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::assets::SERIES;

/// The name of the kernel with the user's patches.
pub const PATCHED: &str = "patched";

/// A patch to the kernel's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// A kernel to build and boot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// As given: `s4+young_flush=none`.
    pub name: String,
    /// What is built: `s4`.
    pub build: String,
    /// What it is patched with, in order.
    pub patches: Vec<Patch>,
    /// What it is booted with.
    pub parameters: Vec<String>,
}

/// Why kernels were refused.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel is called so.
    #[error(
        "unknown kernel `{found}`: expected stock, s1 to s{} (our series), or patched with --patch",
        SERIES.len()
    )]
    Unknown {
        /// What was given.
        found: String,
    },
    /// `patched` without a patch.
    #[error("kernel `patched` needs a patch: give --patch FILE")]
    NoPatch,
    /// A kernel given twice.
    #[error("kernel `{0}`: given twice")]
    Twice(String),
    /// A boot parameter that cannot be passed on.
    #[error(
        "kernel `{kernel}`: boot parameter `{found}`: expected letters, digits, and any of _.,:=-"
    )]
    Parameter {
        /// The kernel as given.
        kernel: String,
        /// The parameter.
        found: String,
    },
    /// A patch that cannot be read.
    #[error("cannot read patch {}", path.display())]
    Patch {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Patch {
    /// Reads a patch.
    ///
    /// # Errors
    ///
    /// [`KernelError::Patch`].
    pub fn read(path: &Path) -> Result<Self, KernelError> {
        let text = fs::read(path)
            .map_err(|source| KernelError::Patch { path: path.to_owned(), source })?;
        Ok(Self { name: path.display().to_string(), text })
    }

    /// What it says it does, or else its name.
    pub fn subject(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("Subject: "));
        let Some(first) = lines.next().and_then(|line| line.strip_prefix("Subject: ")) else {
            return self.name.clone();
        };
        // Mail folds long subjects; what follows begins with a blank.
        let folded = lines.take_while(|line| line.starts_with(' '));
        let subject = folded.fold(first.to_owned(), |all, line| all + " " + line.trim());
        match subject.split_once("] ") {
            Some((tag, subject)) if tag.starts_with('[') => subject.to_owned(),
            _ => subject,
        }
    }
}

impl Kernel {
    /// The kernels that words name, with the one that `patches` make of the first of them (or of
    /// stock) at the end, unless it is named.
    ///
    /// # Errors
    ///
    /// [`KernelError`] for the first word refused.
    pub fn resolve(words: &[String], patches: &[Patch]) -> Result<Vec<Self>, KernelError> {
        let is_patched = |word: &&String| parts(word).0 == PATCHED;
        let base =
            words.iter().find(|word| !is_patched(word)).map_or("stock", |word| parts(word).0);
        let patched = || -> Result<Vec<Patch>, KernelError> {
            let series = series(base)?;
            Ok(series.into_iter().chain(patches.iter().cloned()).collect())
        };
        let mut kernels: Vec<Self> = Vec::new();
        let implied = !patches.is_empty() && !words.iter().any(|word| is_patched(&word));
        let implied = implied.then(|| PATCHED.to_owned());
        for word in words.iter().chain(&implied) {
            let (build, parameters) = parts(word);
            let patches = match build {
                PATCHED if patches.is_empty() => return Err(KernelError::NoPatch),
                PATCHED => patched()?,
                _ => series(build)?,
            };
            if kernels.iter().any(|kernel| kernel.name == *word) {
                return Err(KernelError::Twice(word.clone()));
            }
            if let Some(bad) = parameters.iter().find(|parameter| !is_parameter(parameter)) {
                let found = (*bad).to_owned();
                return Err(KernelError::Parameter { kernel: word.clone(), found });
            }
            let parameters = parameters.into_iter().map(str::to_owned).collect();
            kernels.push(Self { name: word.clone(), build: build.to_owned(), patches, parameters });
        }
        Ok(kernels)
    }

    /// Whether a word is meant to name a kernel: scenario fields have an equals sign before any
    /// plus, if there is one.
    pub fn is_name(word: &str) -> bool {
        !parts(word).0.contains('=')
    }
}

/// A kernel's word: what is built, and the boot parameters.
fn parts(word: &str) -> (&str, Vec<&str>) {
    let mut parts = word.split('+');
    (parts.next().unwrap_or_default(), parts.collect())
}

fn is_parameter(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.,:=-".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

/// The patches of `stock`, or of `sN`: the first N of the series.
fn series(name: &str) -> Result<Vec<Patch>, KernelError> {
    let unknown = || KernelError::Unknown { found: name.to_owned() };
    let patches = match name.strip_prefix('s') {
        _ if name == "stock" => 0,
        Some(digits) if digits.len() == 1 => digits.parse::<usize>().map_err(|_| unknown())?,
        _ => return Err(unknown()),
    };
    if name != "stock" && !(1..=SERIES.len()).contains(&patches) {
        return Err(unknown());
    }
    let patch =
        |(name, text): &(&str, &str)| Patch { name: (*name).to_owned(), text: (*text).into() };
    Ok(SERIES[..patches].iter().map(patch).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &str, patches: usize) -> Result<Vec<(String, usize)>, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let patch = Patch { name: "my.patch".to_owned(), text: Vec::new() };
        let kernels = Kernel::resolve(&words, &vec![patch; patches]).map_err(|e| e.to_string())?;
        Ok(kernels.into_iter().map(|kernel| (kernel.name, kernel.patches.len())).collect())
    }

    fn pairs<const N: usize>(all: [(&str, usize); N]) -> Result<Vec<(String, usize)>, String> {
        Ok(all.map(|(name, patches)| (name.to_owned(), patches)).into())
    }

    #[test]
    fn a_series_kernel_has_the_first_patches() {
        assert_eq!(names("stock s1 s3", 0), pairs([("stock", 0), ("s1", 1), ("s3", 3)]));
    }

    #[test]
    fn the_users_patches_go_on_top_of_the_first_kernel() {
        assert_eq!(names("", 2), pairs([("patched", 2)]));
        assert_eq!(names("s2 s3", 1), pairs([("s2", 2), ("s3", 3), ("patched", 3)]));
        assert_eq!(names("patched+a=1 s2", 1), pairs([("patched+a=1", 3), ("s2", 2)]));
    }

    #[test]
    fn boot_parameters_follow_a_plus() {
        let words = ["s4+young_flush=none+a".to_owned()];
        let kernels = Kernel::resolve(&words, &[]).unwrap();
        assert_eq!(kernels[0].build, "s4");
        assert_eq!(kernels[0].parameters, ["young_flush=none", "a"]);
        assert!(Kernel::is_name("s4+young_flush=none") && !Kernel::is_name("order=4"));
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["s0", "s9", "s", "s01", "s+1", "stock2", "linux", ""] {
            let words = [word.to_owned()];
            assert!(Kernel::resolve(&words, &[]).is_err(), "{word}");
        }
        assert!(names("stock stock", 0).unwrap_err().contains("twice"));
        assert!(names("patched", 0).unwrap_err().contains("--patch FILE"));
        assert!(names("stock+a\"b", 0).unwrap_err().contains("`a\"b`"));
        assert!(names("stock+", 0).unwrap_err().contains("boot parameter ``"));
    }

    #[test]
    fn a_subject_is_unfolded_and_loses_its_tag() {
        let patch = |text: &str| Patch { name: "x.patch".to_owned(), text: text.into() };
        let folded =
            "From: a\nSubject: [PATCH 1/4] mm/rmap: check\n young bits in batches\n\nWhy.\n";
        assert_eq!(patch(folded).subject(), "mm/rmap: check young bits in batches");
        assert_eq!(patch("--- a/b\n+++ b/b\n").subject(), "x.patch");
    }
}
