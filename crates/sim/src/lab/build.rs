//! Building kernels: make, its log, and what is kept of it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::{Cache, CacheError};
use super::digest::Name;
use super::kconfig::NotTaken;
use super::kernel::Kernel;
use super::mirror::{MirrorError, Staged, mirror};
use super::patches::{PatchError, stage};
use super::proc_file::add_proc_file;
use super::progress::Progress;
use super::source::{Pristine, SourceError};
use super::target::{Arch, Config};

/// How many lines of a failed build's errors a message shows.
const SHOWN_ERRORS: usize = 5;

/// A kernel that can be booted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// Which kernel.
    pub kernel: Kernel,
    /// How it was configured.
    pub config: Config,
    /// The compiler that built it.
    pub compiler: String,
    /// The directory with the image, the symbols, the configuration and the log.
    directory: PathBuf,
}

impl Built {
    /// What is booted.
    pub fn image(&self) -> PathBuf {
        self.directory.join("Image")
    }

    /// The addresses of its symbols.
    pub fn symbols(&self) -> PathBuf {
        self.directory.join("System.map")
    }
}

/// Why a kernel was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A patch does not apply.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The tree cannot be prepared.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The configuration did not take.
    #[error(transparent)]
    Config(#[from] NotTaken),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A program does not run.
    #[error("cannot run `{program}`")]
    Run {
        /// Which.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// Make failed.
    #[error(
        "kernel {kernel}, {config}, does not build; the log is {}:\n{}",
        log.display(), errors.join("\n")
    )]
    Make {
        /// Which kernel.
        kernel: String,
        /// How it is configured.
        config: Config,
        /// The whole log.
        log: PathBuf,
        /// Its first errors.
        errors: Vec<String>,
    },
}

/// Builds kernels from one source. The cache is locked.
pub(super) struct Builder<'a> {
    pub(super) cache: &'a Cache,
    pub(super) source: &'a Pristine,
    /// How many compilers run at once.
    pub(super) jobs: usize,
    pub(super) progress: &'a dyn Progress,
}

impl Builder<'_> {
    /// Builds a kernel, unless just this one is there.
    pub(super) fn build(&self, kernel: &Kernel, config: Config) -> Result<Built, BuildError> {
        let source = self.source;
        let mut staged = stage(&source.directory, &kernel.patches, self.cache)?;
        add_proc_file(&source.directory, &mut staged)?;
        let compiler = version(&config.arch().compiler())?;
        let options = config.options();
        let mut key = Name::default().part(&source.id).part(&options).part(&compiler);
        for (path, patched) in &staged {
            let content = patched.as_ref().map_or(&[][..], |patched| &patched.content);
            key = key.part(path.as_os_str().as_encoded_bytes()).part(content);
        }
        let directory = self.cache.place("kernels", &key.finish());
        let (kernel, compiler) = (kernel.clone(), compiler);
        let built = Built { kernel, config, compiler, directory };
        // A user's tree may have changed: whether it has, make finds out.
        if source.is_users || !built.image().is_file() {
            self.make(&built, &staged, &options)?;
        }
        Ok(built)
    }

    fn make(&self, built: &Built, staged: &Staged, options: &str) -> Result<(), BuildError> {
        let place = |what: &str| Path::new(what).join(&self.source.id).join(built.config.name());
        let tree = self.cache.directory(place("trees"))?;
        let output = self.cache.directory(place("builds"))?;
        let task = format!("building {}, {}", built.kernel.build, built.config);
        let run = Make { built, tree: &tree, output: &output, jobs: self.jobs };
        let task = self.progress.begin(&task);
        task.tell(0, None, "preparing the tree");
        mirror(self.source, staged, &tree)?;

        let wanted = output.with_extension("options");
        fs::write(&wanted, options).map_err(CacheError::at(&wanted))?;
        let mut log = Log::create(output.with_extension("log"))?;
        let mut tell = |steps, line: &str| task.tell(steps, None, line);
        run.goal("allnoconfig", Some(&wanted), &mut log, &mut tell)?;
        let config = output.join(".config");
        let made = fs::read_to_string(&config).map_err(CacheError::at(&config))?;
        built.config.check(&made, config.clone())?;
        let arch = built.config.arch();
        run.goal(arch.goal(), None, &mut log, &mut tell)?;

        let complete = self.cache.scratch()?;
        for (from, to) in [
            (output.join(arch.image()), "Image"),
            (output.join("System.map"), "System.map"),
            (config, "config"),
            (log.path, "build.log"),
        ] {
            fs::copy(&from, complete.path().join(to)).map_err(CacheError::at(&from))?;
        }
        Ok(self.cache.keep(complete, &built.directory)?)
    }
}

/// What a program calls itself.
pub(super) fn version(program: &str) -> Result<String, BuildError> {
    let failed = |source| BuildError::Run { program: program.to_owned(), source };
    let output = Command::new(program).arg("--version").output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Make in one output directory.
struct Make<'a> {
    built: &'a Built,
    tree: &'a Path,
    output: &'a Path,
    jobs: usize,
}

impl Make<'_> {
    /// Makes a goal.
    fn goal(
        &self,
        goal: &str,
        options: Option<&Path>,
        log: &mut Log,
        tell: &mut dyn FnMut(u64, &str),
    ) -> Result<(), BuildError> {
        let failed = |source| BuildError::Run { program: "make".to_owned(), source };
        let arch = self.built.config.arch();
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = self.command(arch);
        if let Some(options) = options {
            command.env("KCONFIG_ALLCONFIG", options);
        }
        command.arg(goal).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut make = command.spawn().map_err(failed)?;
        // Make alone holds the other end now: the pipe ends when it does.
        drop(command);
        log.take(BufReader::new(reader), tell)?;
        if make.wait().map_err(failed)?.success() {
            return Ok(());
        }
        Err(BuildError::Make {
            kernel: self.built.kernel.build.clone(),
            config: self.built.config,
            errors: log.errors()?,
            log: log.path.clone(),
        })
    }

    fn command(&self, arch: Arch) -> Command {
        let mut command = Command::new("setpriv");
        // If this process is killed, make is told to stop.
        command.args(["--pdeathsig", "TERM", "--", "make", "--directory"]).arg(self.tree);
        command.arg(format!("--jobs={}", self.jobs));
        let set = |name: &str, value: &std::ffi::OsStr| {
            let mut argument = std::ffi::OsString::from(name);
            argument.push(value);
            argument
        };
        command.arg(set("O=", self.output.as_os_str()));
        command.arg(set("ARCH=", arch.name().as_ref()));
        command.arg(set("CROSS_COMPILE=", arch.tool_prefix().as_ref()));
        for inherited in ["MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "KCFLAGS", "LOCALVERSION"] {
            command.env_remove(inherited);
        }
        // The image is the same whoever builds it, and when.
        command
            .env("LC_ALL", "C")
            .env("KBUILD_BUILD_TIMESTAMP", "2020-01-01")
            .env("KBUILD_BUILD_VERSION", "1")
            .env("KBUILD_BUILD_USER", "pageout")
            .env("KBUILD_BUILD_HOST", "lab")
            .stdin(Stdio::null());
        command
    }
}

/// The log of a build.
struct Log {
    path: PathBuf,
    file: File,
    steps: u64,
}

impl Log {
    fn create(path: PathBuf) -> Result<Self, CacheError> {
        let file = File::create(&path).map_err(CacheError::at(&path))?;
        Ok(Self { path, file, steps: 0 })
    }

    /// Writes down all of what make says, telling what it works on.
    fn take(
        &mut self,
        mut said: impl BufRead,
        tell: &mut dyn FnMut(u64, &str),
    ) -> Result<(), CacheError> {
        let mut line = Vec::new();
        let failed = || CacheError::at(&self.path);
        while said.read_until(b'\n', &mut line).map_err(failed())? > 0 {
            self.file.write_all(&line).map_err(failed())?;
            // Steps are told as `  CC      mm/vmscan.o`.
            if line.starts_with(b"  ") {
                self.steps += 1;
                tell(self.steps, String::from_utf8_lossy(&line).trim());
            }
            line.clear();
        }
        Ok(())
    }

    fn errors(&self) -> Result<Vec<String>, CacheError> {
        let text = fs::read(&self.path).map_err(CacheError::at(&self.path))?;
        Ok(first_errors(&String::from_utf8_lossy(&text)))
    }
}

/// The first errors of a log; its last lines, if none looks like one.
fn first_errors(log: &str) -> Vec<String> {
    let marks = ["error:", "undefined reference", "*** ", "No rule to make"];
    let is_error = |line: &&str| marks.iter().any(|mark| line.contains(mark));
    let shown = |line: &str| format!("  {}", line.trim());
    let errors: Vec<String> = log.lines().filter(is_error).take(SHOWN_ERRORS).map(shown).collect();
    if !errors.is_empty() {
        return errors;
    }
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_ERRORS)..].iter().map(|line| shown(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn the_first_errors_of_a_log_are_shown() {
        let log = "  CC      mm/rmap.o\n../mm/rmap.c:9:3: error: 'x' undeclared\n  9 | x;\n\
                   make[3]: *** [scripts/Makefile.build:1: mm/rmap.o] Error 1\n";
        let errors = first_errors(log);
        assert_eq!(errors[0], "  ../mm/rmap.c:9:3: error: 'x' undeclared");
        assert_eq!(errors.len(), 2);
        assert_eq!(first_errors("a\nb\n"), ["  a", "  b"]);
        assert_eq!(first_errors(&"x.c:1: error: y\n".repeat(50)).len(), SHOWN_ERRORS);
    }

    #[test]
    fn a_log_counts_steps_and_keeps_every_line() {
        let directory = tempdir().unwrap();
        let mut log = Log::create(directory.path().join("x.log")).unwrap();
        let mut told = Vec::new();
        let said = "make[1]: Entering\n  CC      mm/a.o\nwarning\n  LD      vmlinux";
        log.take(said.as_bytes(), &mut |steps, line| told.push((steps, line.to_owned()))).unwrap();
        let expected = [(1, "CC      mm/a.o"), (2, "LD      vmlinux")];
        assert_eq!(told, expected.map(|(steps, line)| (steps, line.to_owned())));
        assert_eq!(fs::read_to_string(&log.path).unwrap(), said);
    }
}
