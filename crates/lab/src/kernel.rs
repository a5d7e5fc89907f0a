//! Kernels by name: a release as it is, what our patches make of it, or patches of the user's.

use std::path::{Path, PathBuf};

use pageout_refusal::UnknownName;

use super::mails::MailError;
use super::patch::{self, Patch, PatchSet};
use super::release::{Release, STOCK};
use super::source::Source;

/// The name of the kernel with the user's patches, where they are given without one.
pub const PATCHED: &str = "patched";

/// A kernel to build and boot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The name as given: `6.12:s4+young_flush=none`.
    pub name: String,
    /// The source that the kernel is made from.
    pub source: Source,
    /// The name of the kernel's build: `s4`.
    pub build: String,
    /// The patches, in order.
    pub patches: Vec<Patch>,
    /// The parameters that the kernel is booted with.
    pub parameters: Vec<String>,
}

/// The reason why kernels were refused.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No kernel has this name.
    #[error("{}", unknown(found, names, kernels))]
    Unknown {
        /// The name that was given.
        found: String,
        /// The names that kernels have.
        names: Vec<String>,
        /// The same names, abbreviated: `s1 to s4`.
        kernels: String,
    },
    /// The text before a colon is no release.
    #[error("kernel `{kernel}`: {unknown}")]
    Release {
        /// The kernel as given.
        kernel: String,
        /// The text before the colon, and what is accepted.
        unknown: UnknownName,
    },
    /// `patched` without a patch.
    #[error("kernel `{PATCHED}` needs a patch: give --patch FILE")]
    NoPatch,
    /// A kernel given twice.
    #[error("kernel `{0}` is given twice: expected each once")]
    Twice(String),
    /// A patch set with the name of a kernel that there is.
    #[error("--patch {0}=FILE: `{0}` is a kernel already: expected another name")]
    Taken(String),
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
    /// A file without patches that could be taken.
    #[error(transparent)]
    Patch(#[from] MailError),
}

fn unknown(found: &str, names: &[String], kernels: &str) -> UnknownName {
    let unknown = UnknownName::new("kernel", found, names.iter().map(String::as_str));
    let accepted = format!("{kernels}, or one that --patch makes");
    unknown.accepting(accepted).listed_by("pageout lab --help")
}

impl PatchSet {
    /// Returns the file of an argument `FILE` or `NAME=FILE`.
    pub fn file(argument: &Path) -> &Path {
        named(argument).1
    }

    /// Reads the patches of arguments `FILE` or `NAME=FILE`: those of one name make one kernel,
    /// in the order given; those without make [`PATCHED`].
    ///
    /// # Errors
    ///
    /// [`KernelError`] for a file that cannot be read, or a name that another kernel has.
    pub fn read(arguments: &[PathBuf]) -> Result<Vec<Self>, KernelError> {
        let mut sets: Vec<Self> = Vec::new();
        for argument in arguments {
            let (name, path) = named(argument);
            if Release::ALL.iter().any(|release| release.patches(name).is_some()) {
                return Err(KernelError::Taken(name.to_owned()));
            }
            let given = patch::read(path)?;
            let set = match sets.iter_mut().find(|set| set.name == name) {
                Some(set) => set,
                None => sets.push_mut(Self::new(name)),
            };
            set.patches.extend(given.patches);
            set.notes.extend(given.notes);
        }
        Ok(sets)
    }
}

/// Returns the name and the file of `NAME=FILE`. A file with an equals sign in its name needs a
/// path before it: `./a=b.patch`.
fn named(argument: &Path) -> (&str, &Path) {
    let of_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match argument.to_str().and_then(|text| text.split_once('=')) {
        Some((name, file)) if !name.is_empty() && name.chars().all(of_name) => {
            (name, Path::new(file))
        }
        _ => (PATCHED, argument),
    }
}

impl Kernel {
    /// Returns the kernels that words name, made from `source` unless they name a release, and then
    /// those of the patch sets that no word names. Patch sets go on top of the first other kernel.
    ///
    /// # Errors
    ///
    /// [`KernelError`] for the first word refused.
    pub fn resolve(
        words: &[String],
        sets: &[PatchSet],
        source: &Source,
    ) -> Result<Vec<Self>, KernelError> {
        let set = |build: &str| sets.iter().find(|set| set.name == build);
        let parsed: Vec<Word<'_>> = words.iter().map(|word| Word::parse(word)).collect();
        let base = parsed.iter().find(|word| set(word.build).is_none() && word.build != PATCHED);
        let base = base.copied().unwrap_or(Word::STOCK);
        let implied = sets.iter().filter(|set| parsed.iter().all(|word| word.build != set.name));
        let implied = implied.map(|set| Word { text: &set.name, build: &set.name, ..Word::STOCK });
        let mut kernels: Vec<Self> = Vec::new();
        for word in parsed.iter().copied().chain(implied) {
            let kernel = match set(word.build) {
                Some(set) => {
                    let of_release = Word { build: STOCK, ..word };
                    let base = if word.release.is_some() { of_release } else { base };
                    let mut kernel = base.kernel(source)?;
                    kernel.patches.extend(set.patches.iter().cloned());
                    Self { build: set.name.clone(), ..kernel }
                }
                None if word.build == PATCHED => return Err(KernelError::NoPatch),
                None => word.kernel(source)?,
            };
            if kernels.iter().any(|kernel| kernel.name == word.text) {
                return Err(KernelError::Twice(word.text.to_owned()));
            }
            let (name, parameters) = (word.text.to_owned(), word.parameters()?);
            kernels.push(Self { name, parameters, ..kernel });
        }
        Ok(kernels)
    }

    /// Returns true if a word is meant to name a kernel: scenario fields have an equals sign before
    /// any plus, if there is one.
    pub fn is_name(word: &str) -> bool {
        !word.split('+').next().is_some_and(|name| name.contains('='))
    }
}

/// A word that names a kernel: `[RELEASE:]BUILD[+PARAMETER...]`, or only a release.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    release: Option<&'a str>,
    build: &'a str,
    /// The parameters, with plus signs between them; no parameter has one itself.
    parameters: Option<&'a str>,
}

impl<'a> Word<'a> {
    const STOCK: Self = Self { text: STOCK, release: None, build: STOCK, parameters: None };

    fn parse(text: &'a str) -> Self {
        let (name, parameters) = match text.split_once('+') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let (release, build) = match name.split_once(':') {
            Some((release, build)) => (Some(release), build),
            None if Release::named(name).is_some() => (Some(name), STOCK),
            None => (None, name),
        };
        Self { text, release, build, parameters }
    }

    /// Returns the kernel without the word's parameters.
    fn kernel(self, source: &Source) -> Result<Kernel, KernelError> {
        let source = match self.release {
            None => source.clone(),
            Some(release) => {
                let refused = || KernelError::Release {
                    kernel: self.text.to_owned(),
                    unknown: UnknownName::new("release", release, Release::ALL.map(Release::name)),
                };
                Source::Debian(Release::named(release).ok_or_else(refused)?)
            }
        };
        let releases = source.releases();
        let patches = releases.iter().find_map(|release| release.patches(self.build));
        let patches = patches.ok_or_else(|| self.unknown(releases))?;
        let (name, build) = (self.text.to_owned(), self.build.to_owned());
        Ok(Kernel { name, source, build, patches, parameters: Vec::new() })
    }

    /// Returns the error for a word that names no kernel of these releases.
    fn unknown(self, releases: &[Release]) -> KernelError {
        let own = releases.iter().flat_map(|release| release.names());
        let others = Release::ALL.into_iter().filter(|release| !releases.contains(release));
        let with_release = |release: Release| {
            release.names().into_iter().map(move |name| format!("{release}:{name}"))
        };
        let names = own.chain(others.flat_map(with_release)).collect();
        let of = |release: &Release| format!("{} ({release})", release.kernels());
        let kernels = releases.iter().map(of).collect::<Vec<_>>().join(", ");
        KernelError::Unknown { found: self.text.to_owned(), names, kernels }
    }

    fn parameters(self) -> Result<Vec<String>, KernelError> {
        let parameters = self.parameters.into_iter().flat_map(|all| all.split('+'));
        let checked = parameters.map(|parameter| {
            if is_parameter(parameter) {
                return Ok(parameter.to_owned());
            }
            let (kernel, found) = (self.text.to_owned(), parameter.to_owned());
            Err(KernelError::Parameter { kernel, found })
        });
        checked.collect()
    }
}

fn is_parameter(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.,:=-".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, patches: usize) -> PatchSet {
        let [name_of, subject] = ["my.patch"; 2].map(str::to_owned);
        let patch = Patch { name: name_of, subject, diff: Vec::new(), file: None };
        PatchSet { patches: vec![patch; patches], ..PatchSet::new(name) }
    }

    fn resolve(words: &str, sets: &[PatchSet], release: Release) -> Result<Vec<Kernel>, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Kernel::resolve(&words, sets, &Source::Debian(release)).map_err(|e| e.to_string())
    }

    /// Names and numbers of patches of 6.12's kernels.
    fn names(words: &str, sets: &[PatchSet]) -> Result<Vec<(String, usize)>, String> {
        let kernels = resolve(words, sets, Release::Linux6_12)?;
        Ok(kernels.into_iter().map(|kernel| (kernel.name, kernel.patches.len())).collect())
    }

    fn pairs<const N: usize>(all: [(&str, usize); N]) -> Result<Vec<(String, usize)>, String> {
        Ok(all.map(|(name, patches)| (name.to_owned(), patches)).into())
    }

    #[test]
    fn a_series_kernel_has_the_first_patches() {
        assert_eq!(names("stock s1 s3", &[]), pairs([("stock", 0), ("s1", 1), ("s3", 3)]));
    }

    #[test]
    fn the_users_patches_go_on_top_of_the_first_kernel() {
        let patched = [set(PATCHED, 2)];
        assert_eq!(names("", &patched), pairs([("patched", 2)]));
        assert_eq!(
            names("s2 s3", &[set(PATCHED, 1)]),
            pairs([("s2", 2), ("s3", 3), ("patched", 3)])
        );
        assert_eq!(names("patched+a=1 s2", &patched[..]), pairs([("patched+a=1", 4), ("s2", 2)]));
    }

    #[test]
    fn each_patch_set_is_a_kernel_of_its_own() {
        let sets = [set("mine", 1), set("theirs", 2)];
        let all = pairs([("s1", 1), ("mine", 2), ("theirs", 3)]);
        assert_eq!(names("s1", &sets), all);
        assert_eq!(names("theirs s1 mine", &sets), pairs([("theirs", 3), ("s1", 1), ("mine", 2)]));
    }

    #[test]
    fn a_word_may_name_its_release() {
        let kernels = resolve("7.3 7.3:no-batch 6.12:s3+a stock", &[], Release::Linux7_3).unwrap();
        let found: Vec<_> = kernels.iter().map(|k| (k.source.clone(), k.build.as_str())).collect();
        let [new, old] = [Release::Linux7_3, Release::Linux6_12].map(Source::Debian);
        let expected =
            [(new.clone(), "stock"), (new.clone(), "no-batch"), (old, "s3"), (new, "stock")];
        assert_eq!(found, expected);
        let error = |words| resolve(words, &[], Release::Linux7_3).unwrap_err();
        assert!(error("5.4:stock").contains("unknown release `5.4`; accepted: 7.3 or 6.12"));
        assert!(error("s1").contains("did you mean `6.12:s1`?"), "{}", error("s1"));
        assert!(error("s1").contains("no-batch") && error("s1").contains("(7.3)"));
        assert!(error("stok").contains("did you mean `stock`?"), "{}", error("stok"));
        assert!(error("6.12:no-batch").contains("s1 to s4 (6.12)"));
    }

    #[test]
    fn a_users_tree_takes_what_any_release_takes() {
        let tree = Source::Tree("/linux".into());
        for word in ["stock", "s4", "no-young"] {
            let kernels = Kernel::resolve(&[word.to_owned()], &[], &tree).unwrap();
            assert_eq!(kernels[0].source, tree);
        }
    }

    #[test]
    fn boot_parameters_follow_a_plus() {
        let kernels = resolve("s4+young_flush=none+a", &[], Release::Linux6_12).unwrap();
        assert_eq!(kernels[0].build, "s4");
        assert_eq!(kernels[0].parameters, ["young_flush=none", "a"]);
        assert!(Kernel::is_name("s4+young_flush=none") && !Kernel::is_name("order=4"));
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["s0", "s9", "s", "s01", "s+1", "stock2", "linux"] {
            assert!(names(word, &[]).is_err(), "{word}");
        }
        assert!(names("stock stock", &[]).unwrap_err().contains("twice"));
        assert!(names("patched", &[]).unwrap_err().contains("--patch FILE"));
        assert!(names("stock+a\"b", &[]).unwrap_err().contains("`a\"b`"));
        assert!(names("stock+", &[]).unwrap_err().contains("boot parameter ``"));
    }

    #[test]
    fn a_patch_may_be_given_a_kernels_name() {
        let parts = |text| {
            let (name, path) = named(Path::new(text));
            (name.to_owned(), path.to_owned())
        };
        assert_eq!(parts("x=a.patch"), ("x".into(), "a.patch".into()));
        assert_eq!(parts("a.patch"), (PATCHED.into(), "a.patch".into()));
        assert_eq!(parts("./a=b.patch"), (PATCHED.into(), "./a=b.patch".into()));
        let taken = PatchSet::read(&["stock=a.patch".into()]).unwrap_err().to_string();
        assert!(taken.contains("`stock` is a kernel already"), "{taken}");
    }
}
