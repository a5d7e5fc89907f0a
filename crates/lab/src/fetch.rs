//! Kernel source fetched from Debian's archive without root and without changing the system: by
//! apt, which checks the archive's signature, under a configuration of its own in the cache.

use pageout_experiment::named;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::{Cache, CacheError};
use super::progress::Progress;
use super::release::Release;
use super::room;
use super::source::FETCHED;
use super::tools::{self, Missing};

/// The keys whose signatures are accepted, unless the user names another file.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The archive, if the system's own sources name none.
const ARCHIVE: &str = "http://deb.debian.org/debian/";
/// The bytes that the package takes while it is fetched: its own, and those of its files.
const ROOM: u64 = 400 << 20;

/// A release's source to fetch.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The release to fetch.
    pub release: Release,
    /// An address, or a directory with the archive's files under their own paths; the mirror of
    /// the system's sources if none is given.
    pub mirror: Option<String>,
    /// The keys that the archive may be signed with; Debian's if none are given.
    pub keyring: Option<PathBuf>,
}

/// Source that was fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The package and its version: `linux-source-7.3 7.3.4-1~bpo13+1`.
    pub package: String,
    /// The origin: the archive and the suite.
    pub from: String,
    /// The keys that the package's signature was checked with.
    pub keyring: PathBuf,
    /// The file that was kept.
    pub tarball: PathBuf,
}

/// The reason why there is no source.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Programs are missing.
    #[error("{0}\n{1}")]
    Missing(Missing, ByHand),
    /// There are no keys to check signatures with.
    #[error(
        "no keys to check the archive's signature with: {} is missing (package \
         debian-archive-keyring); --keyring names another file",
        named(.0)
    )]
    NoKeys(PathBuf),
    /// The archive is not signed with one of the keys.
    #[error(
        "{from}: the signature is wrong, nothing was kept; {keyring} accepts none of it: {said}"
    )]
    Signature {
        /// The archive and the suite.
        from: String,
        /// The keys.
        keyring: String,
        /// The message of apt.
        said: String,
    },
    /// No file came.
    #[error("cannot fetch {from}: {said}\n{by_hand}")]
    Unreachable {
        /// The archive and the suite.
        from: String,
        /// The message of apt.
        said: String,
        /// The way to fetch by hand.
        by_hand: ByHand,
    },
    /// The package is not what it should be.
    #[error("{package}, from {from}: {said}")]
    Package {
        /// The package's name.
        package: &'static str,
        /// The archive and the suite.
        from: String,
        /// The problem of the package.
        said: String,
    },
    /// A program does not run.
    #[error("cannot run `{program}`")]
    Run {
        /// The program.
        program: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Instructions for a download by hand, if there is no network.
#[derive(Clone, Copy, Debug)]
pub struct ByHand(Release);

impl std::fmt::Display for ByHand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (release, suite, package) = (self.0, self.0.suite(), self.0.package());
        write!(
            f,
            "without a network, download these on another machine into one directory, each under \
             its path from `dists` or `pool` on, and give it with `pageout lab source --kernel \
             {release} --mirror DIRECTORY`:\n  \
             {ARCHIVE}dists/{suite}/InRelease\n  \
             {ARCHIVE}dists/{suite}/main/binary-amd64/Packages.xz\n  \
             {ARCHIVE}pool/main/l/linux/{package}_VERSION_all.deb (Packages.xz has the version)"
        )
    }
}

/// Apt with directories of its own.
struct Apt<'a> {
    fetch: &'a Fetch,
    /// The archive and the suite.
    from: String,
    keyring: PathBuf,
    directory: &'a Path,
}

impl Fetch {
    /// Fetches the source into the cache, in place of what was fetched before.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. After an error no file is kept.
    pub fn run(&self, cache: &Cache, progress: &dyn Progress) -> Result<Fetched, FetchError> {
        let package = self.release.package();
        tools::check(&tools::to_fetch())
            .map_err(|missing| FetchError::Missing(missing, ByHand(self.release)))?;
        let keyring = self.keyring.clone().unwrap_or_else(|| KEYRING.into());
        let keyring = fs::canonicalize(&keyring).map_err(|_| FetchError::NoKeys(keyring))?;
        room::check(cache, &format!("fetching {package}"), ROOM, progress)?;
        let _lock = cache.lock(&format!("{FETCHED}-{package}"), progress)?;
        let scratch = cache.scratch()?;
        let mirror = self.mirror_address()?;
        let from = format!("{mirror} {}", self.release.suite());
        let apt = Apt { fetch: self, from, keyring, directory: scratch.path() };
        apt.configure(&mirror).map_err(CacheError::at(scratch.path()))?;
        {
            let _task = progress.begin(&format!("fetching the index of {}", apt.from));
            apt.run(&["update"])?;
        }
        let _task = progress.begin(&format!("fetching {package}"));
        apt.run(&["download", package])?;
        let (deb, version) = apt.downloaded()?;
        apt.unpack(&deb)?;
        let complete = cache.scratch()?;
        let tarball = complete.path().join(self.release.tarball());
        let unpacked = scratch.path().join("usr/src").join(self.release.tarball());
        fs::rename(&unpacked, &tarball)
            .map_err(|_| apt.bad(format!("it has no /usr/src/{}", self.release.tarball())))?;
        let place = cache.place(FETCHED, package);
        cache.keep(complete, &place)?;
        Ok(Fetched {
            package: format!("{package} {version}"),
            from: apt.from,
            keyring: apt.keyring,
            tarball: place.join(self.release.tarball()),
        })
    }

    /// Returns the archive's address in apt's form.
    fn mirror_address(&self) -> Result<String, FetchError> {
        let Some(mirror) = &self.mirror else { return systems_mirror() };
        if mirror.contains("://") || mirror.starts_with("file:") || mirror.starts_with("copy:") {
            return Ok(mirror.clone());
        }
        let directory = fs::canonicalize(mirror).map_err(CacheError::at(Path::new(mirror)))?;
        Ok(format!("copy:{}", directory.display()))
    }
}

/// Returns the mirror of Debian's archive that the system's own sources name.
fn systems_mirror() -> Result<String, FetchError> {
    let failed = |source| FetchError::Run { program: "apt-get", source };
    let mut command = Command::new("apt-get");
    let output = command.args(["indextargets", "--format", "$(REPO_URI)"]).output();
    let output = output.map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mirror = text.lines().find(|line| line.ends_with("/debian/"));
    Ok(mirror.unwrap_or(ARCHIVE).to_owned())
}

impl Apt<'_> {
    fn configure(&self, mirror: &str) -> io::Result<()> {
        for directory in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(self.directory.join(directory))?;
        }
        let (keyring, suite) = (self.keyring.display(), self.fetch.release.suite());
        let line = format!("deb [arch=amd64 signed-by={keyring}] {mirror} {suite} main\n");
        fs::write(self.directory.join("sources.list"), line)
    }

    fn run(&self, words: &[&str]) -> Result<(), FetchError> {
        let place = |path: &str| self.directory.join(path).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", place("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("Dir::State={}", place("")),
            format!("Dir::State::lists={}", place("lists")),
            "Dir::State::status=/dev/null".to_owned(),
            format!("Dir::Cache={}", place("")),
            format!("Dir::Cache::archives={}", place("archives")),
            "APT::Update::Error-Mode=any".to_owned(),
            // This only affects root: apt would run as another user, who cannot write into the
            // cache.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::http::Timeout=30".to_owned(),
        ];
        let mut command = Command::new("apt-get");
        command.env("LC_ALL", "C").current_dir(self.directory).arg("--quiet");
        for setting in &settings {
            command.args(["-o", setting]);
        }
        let output = command.args(words).output();
        let output = output.map_err(|source| FetchError::Run { program: "apt-get", source })?;
        if output.status.success() {
            return Ok(());
        }
        Err(self.failure(&String::from_utf8_lossy(&output.stderr)))
    }

    /// Returns the error that apt's messages stand for.
    fn failure(&self, stderr: &str) -> FetchError {
        let lines = stderr
            .lines()
            .filter_map(|line| ["E: ", "W: "].iter().find_map(|mark| line.strip_prefix(mark)));
        let said: Vec<&str> = lines.filter(|line| !line.starts_with("Some index files")).collect();
        let said = said.join("; ");
        let from = self.from.clone();
        let signature =
            ["signature", "is not signed", "NO_PUBKEY", "GPG error", "Hash Sum mismatch"];
        if signature.iter().any(|mark| said.contains(mark)) {
            let keyring = self.keyring.display().to_string();
            return FetchError::Signature { from, keyring, said };
        }
        FetchError::Unreachable { from, said, by_hand: ByHand(self.fetch.release) }
    }

    fn bad(&self, said: String) -> FetchError {
        FetchError::Package { package: self.fetch.release.package(), from: self.from.clone(), said }
    }

    /// Returns the package that apt downloaded, and its version.
    fn downloaded(&self) -> Result<(PathBuf, String), FetchError> {
        let entries = fs::read_dir(self.directory).map_err(CacheError::at(self.directory))?;
        let mut paths = entries.flatten().map(|entry| entry.path());
        let deb = paths.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let deb = deb.ok_or_else(|| self.bad("apt-get downloaded no package".to_owned()))?;
        let output = self.dpkg(&["--field"], &[deb.as_os_str(), "Version".as_ref()])?;
        Ok((deb, String::from_utf8_lossy(&output).trim().to_owned()))
    }

    fn unpack(&self, deb: &Path) -> Result<(), FetchError> {
        self.dpkg(&["--extract"], &[deb.as_os_str(), self.directory.as_os_str()]).map(drop)
    }

    fn dpkg(&self, words: &[&str], files: &[&std::ffi::OsStr]) -> Result<Vec<u8>, FetchError> {
        let output = Command::new("dpkg-deb").env("LC_ALL", "C").args(words).args(files).output();
        let output = output.map_err(|source| FetchError::Run { program: "dpkg-deb", source })?;
        if !output.status.success() {
            return Err(self.bad(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(output.stdout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(stderr: &str) -> FetchError {
        let fetch = Fetch { release: Release::Linux7_3, mirror: None, keyring: None };
        let (from, keyring) = ("http://x trixie-backports".to_owned(), "/keys".into());
        Apt { fetch: &fetch, from, keyring, directory: Path::new("/") }.failure(stderr)
    }

    #[test]
    fn a_wrong_signature_is_told_from_a_network_that_is_not_there() {
        for stderr in [
            "W: GPG error: copy:/x trixie-backports InRelease: The following signatures were \
             invalid: BADSIG 6ED0E7B82643E131\nE: The repository 'copy:/x' is not signed.\n",
            "E: Failed to fetch copy:/x/linux-source-7.3.deb  Hash Sum mismatch\n",
        ] {
            let error = failure(stderr);
            assert!(matches!(error, FetchError::Signature { .. }), "{error}");
            assert!(error.to_string().contains("nothing was kept"), "{error}");
        }
        let error = failure(
            "E: Failed to fetch http://x/InRelease  Could not resolve 'x'\n\
             E: Some index files failed to download. They have been ignored.\n",
        );
        let message = error.to_string();
        assert!(matches!(error, FetchError::Unreachable { .. }), "{message}");
        for part in ["Could not resolve", "--mirror DIRECTORY", "trixie-backports/InRelease"] {
            assert!(message.contains(part), "no `{part}` in {message}");
        }
        assert!(!message.contains("Some index files"), "{message}");
    }

    #[test]
    fn a_directory_becomes_an_address() {
        let fetch = |mirror: &str| Fetch {
            release: Release::Linux7_3,
            mirror: Some(mirror.to_owned()),
            keyring: None,
        };
        assert_eq!(fetch("http://x/debian").mirror_address().unwrap(), "http://x/debian");
        assert_eq!(fetch("/usr/../usr").mirror_address().unwrap(), "copy:/usr");
        assert!(fetch("/no/such/directory").mirror_address().is_err());
    }
}
