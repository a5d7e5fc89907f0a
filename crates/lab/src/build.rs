//! Kernel builds: make, its log, and the files that are kept.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use pageout_experiment::bound::bound;
use pageout_experiment::named;

use super::cache::{Cache, CacheError};
use super::child::{NotRun, version};
use super::digest::Name;
use super::first_build::FirstBuild;
use super::kconfig::{ConfigOption, NotTaken, Wish};
use super::kernel::Kernel;
use super::mirror::{MirrorError, Staged, mirror};
use super::patches::{PatchError, stage};
use super::proc_file::add_proc_file;
use super::progress::{Progress, Task};
use super::schedule::{Points, PointsError};
use super::source::{Pristine, SourceError};
use super::target::{Arch, Config};
use super::tools;
use super::tree::{self, TreeError};

/// The maximum number of lines of a failed build's errors that a message shows.
const SHOWN_ERRORS: usize = 5;
/// The maximum size of ccache's cache for objects.
const OBJECTS_KEPT: &str = "1G";

/// A kernel that can be booted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// The kernel that was built.
    pub kernel: Kernel,
    /// The kernel's configuration.
    pub config: Config,
    /// The source that the kernel was built from: `Linux 7.3.4, Debian's linux-source-7.3`.
    pub source: String,
    /// The compiler that built it.
    pub compiler: String,
    /// The directory with the image, the symbols, the configuration and the log.
    directory: PathBuf,
}

impl Built {
    /// Returns the image that is booted.
    pub fn image(&self) -> PathBuf {
        self.directory.join("Image")
    }

    /// Returns the file with the addresses of its symbols.
    pub fn symbols(&self) -> PathBuf {
        self.directory.join("System.map")
    }

    /// Returns the linked kernel, whose debug information has the source lines of points. Only a
    /// kernel built with points has it.
    pub(super) fn linked(&self) -> PathBuf {
        self.directory.join("vmlinux")
    }

    /// Returns the same image, booted as `kernel`.
    pub(super) fn booted_as(&self, kernel: &Kernel) -> Self {
        Self { kernel: kernel.clone(), ..self.clone() }
    }

    /// Returns true if both are the same image, even if they are booted differently.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.directory == other.directory
    }

    /// Returns true if the kernel was built: it gets its place only once it is complete.
    pub(super) fn is_there(&self) -> bool {
        self.image().is_file()
    }
}

/// The reason why a kernel was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A patch does not apply.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// Points cannot be put in.
    #[error(transparent)]
    Points(#[from] PointsError),
    /// The tree cannot be prepared.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The configuration did not take.
    #[error(transparent)]
    Config(#[from] NotTaken),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A user's tree cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A user's tree was changed while it was built.
    #[error("{}: files changed while they were copied for a build: try again", named(tree))]
    Changed {
        /// The tree.
        tree: PathBuf,
    },
    /// Other work failed, so the kernel is no longer wanted.
    #[error("building kernel {0} was stopped")]
    Stopped(String),
    /// A program does not run.
    #[error(transparent)]
    Run(#[from] NotRun),
    /// Make failed.
    #[error(
        "kernel {kernel}, {config}, does not build; the log is {}:\n{}",
        named(log), errors.join("\n")
    )]
    Make {
        /// The kernel.
        kernel: String,
        /// The kernel's configuration.
        config: Config,
        /// The whole log.
        log: PathBuf,
        /// The first errors of the log.
        errors: Vec<String>,
    },
}

/// A kernel to build, unless it was built before.
pub(super) struct Planned<'a> {
    pub(super) built: Built,
    source: &'a Pristine,
    staged: Staged,
    wish: Wish,
}

impl Planned<'_> {
    /// Returns the directory of the build's objects, below the cache.
    pub(super) fn output(&self) -> PathBuf {
        self.place("builds")
    }

    fn place(&self, what: &str) -> PathBuf {
        Path::new(what).join(&self.source.id).join(self.built.config.name())
    }
}

/// Builds kernels.
pub(super) struct Builder<'a> {
    pub(super) cache: &'a Cache,
    /// The options that the user asks for in every configuration.
    pub(super) options: &'a [ConfigOption],
    /// The places of the points that every kernel gets, if there are any.
    pub(super) points: Option<&'a Points>,
    /// The number of compilers that run at once.
    pub(super) jobs: usize,
    pub(super) progress: &'a dyn Progress,
}

impl Builder<'_> {
    /// Collects the source, patches and options of a kernel, and names its place in the cache by
    /// them and the compiler: a kernel that is there was built from the same.
    pub(super) fn plan<'s>(
        &self,
        source: &'s Pristine,
        kernel: &Kernel,
        config: Config,
    ) -> Result<Planned<'s>, BuildError> {
        let mut staged = stage(&source.directory, &kernel.patches, self.cache)?;
        add_proc_file(&source.directory, &mut staged)?;
        if let Some(points) = self.points {
            points.add(&source.directory, &mut staged)?;
        }
        let compiler = version(&config.arch().compiler())?;
        let wish = Wish::new(config, self.options);
        let mut key = Name::default().part(&source.content).part(wish.key()).part(&compiler);
        for (path, patched) in &staged {
            let content = patched.as_ref().map_or(&[][..], |patched| &patched.content);
            key = key.part(path.as_os_str().as_encoded_bytes()).part(content);
            if patched.as_ref().is_some_and(|patched| patched.mode & 0o111 != 0) {
                key = key.part("executable");
            }
        }
        let directory = self.cache.place("kernels", &key.finish());
        let (kernel, title) = (kernel.clone(), source.title.clone());
        let built = Built { kernel, config, source: title, compiler, directory };
        Ok(Planned { built, source, staged, wish })
    }

    /// Makes the kernel, unless another process just did.
    pub(super) fn make(&self, planned: &Planned<'_>, stop: &AtomicBool) -> Result<(), BuildError> {
        let Planned { built, source, staged, wish } = planned;
        let (id, config) = (&source.id, built.config);
        let _lock = self.cache.lock(&format!("{id}-{config}"), self.progress)?;
        if built.is_there() {
            return Ok(());
        }
        let tree = self.cache.directory(planned.place("trees"))?;
        let is_first = !self.cache.root().join(planned.output()).is_dir();
        let output = self.cache.directory(planned.output())?;
        let since = Instant::now();
        let task = self.progress.begin_piece(&format!("building {}, {config}", built.kernel.name));
        task.tell(0, None, "preparing the tree");
        mirror(source, staged, &tree)?;
        if source.is_users
            && tree::content(&source.directory, self.cache, self.progress)? != source.content
        {
            return Err(BuildError::Changed { tree: source.directory.clone() });
        }
        let log = Log::create(output.with_extension("log"))?;
        let (tree, output) = (&*tree, &*output);
        let mut run = Make { by: self, built, tree, output, log, task: &*task, stop };
        run.configure(wish.clone())?;
        run.goal(config.arch().goal(), None)?;
        if is_first {
            FirstBuild::took(self.cache, since.elapsed().as_secs(), self.jobs)?;
        }
        let complete = self.cache.scratch()?;
        // The lines of points are read from the linked kernel.
        let linked = self.points.map(|_| (output.join("vmlinux"), "vmlinux"));
        let kept = [
            (output.join(config.arch().image()), "Image"),
            (output.join("System.map"), "System.map"),
            (output.join(".config"), "config"),
            (run.log.path, "build.log"),
        ];
        for (from, to) in kept.into_iter().chain(linked) {
            fs::copy(&from, complete.path().join(to)).map_err(CacheError::at(&from))?;
        }
        Ok(self.cache.keep(complete, &built.directory)?)
    }
}

/// Make in one output directory.
struct Make<'a> {
    by: &'a Builder<'a>,
    built: &'a Built,
    tree: &'a Path,
    output: &'a Path,
    log: Log,
    task: &'a dyn Task,
    /// Set when the kernel is no longer wanted.
    stop: &'a AtomicBool,
}

impl Make<'_> {
    /// Makes the wished configuration: tries choices until the kernel takes all of them.
    fn configure(&mut self, mut wish: Wish) -> Result<(), BuildError> {
        let wanted = self.output.with_extension("options");
        let config = self.output.join(".config");
        loop {
            fs::write(&wanted, wish.options()).map_err(CacheError::at(&wanted))?;
            self.goal("allnoconfig", Some(&wanted))?;
            let made = fs::read_to_string(&config).map_err(CacheError::at(&config))?;
            if wish.took(&made, &config, self.tree)? {
                return Ok(());
            }
        }
    }

    /// Makes a goal.
    fn goal(&mut self, goal: &str, options: Option<&Path>) -> Result<(), BuildError> {
        let failed = |source| NotRun::new("make", source);
        let arch = self.built.config.arch();
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut command = self.command(arch);
        if let Some(options) = options {
            command.env("KCONFIG_ALLCONFIG", options);
        }
        command.arg(goal).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut make = command.spawn().map_err(failed)?;
        // Now only make holds the other end: the pipe ends when make ends.
        drop(command);
        let goes_on = self.log.take(BufReader::new(reader), &mut |steps, line| {
            self.task.tell(steps, None, line);
            !self.stop.load(Ordering::Relaxed)
        });
        if !goes_on? {
            terminate(&make);
            make.wait().map_err(failed)?;
            return Err(BuildError::Stopped(self.built.kernel.name.clone()));
        }
        if make.wait().map_err(failed)?.success() {
            return Ok(());
        }
        Err(BuildError::Make {
            kernel: self.built.kernel.name.clone(),
            config: self.built.config,
            errors: self.log.errors()?,
            log: self.kept_log()?,
        })
    }

    /// Copies the log to where no other build writes over it, and returns the path.
    fn kept_log(&self) -> Result<PathBuf, CacheError> {
        let Built { kernel, config, .. } = self.built;
        let kept = self.by.cache.log(&format!("{}-{config}-build", kernel.build))?;
        fs::copy(&self.log.path, &kept).map_err(CacheError::at(&kept))?;
        let place = kept.to_path_buf();
        kept.keep().map_err(|error| CacheError::at(&place)(error.error))
    }

    fn command(&self, arch: Arch) -> Command {
        // If this process is killed, the system signals make to stop.
        let mut command = bound("TERM", "make");
        command.arg("--directory").arg(self.tree);
        command.arg(format!("--jobs={}", self.by.jobs));
        let set = |name: &str, value: &std::ffi::OsStr| {
            let mut argument = std::ffi::OsString::from(name);
            argument.push(value);
            argument
        };
        command.arg(set("O=", self.output.as_os_str()));
        command.arg(set("ARCH=", arch.name().as_ref()));
        command.arg(set("CROSS_COMPILE=", arch.tool_prefix().as_ref()));
        if tools::find("ccache").is_some() {
            through_ccache(&mut command, arch, self.by.cache);
        }
        for inherited in ["MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "KCFLAGS", "LOCALVERSION"] {
            command.env_remove(inherited);
        }
        // The image does not depend on the user that builds it, nor on the time.
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

/// Has make call the compilers through ccache, which keeps objects by the content that they are
/// compiled from: after a header changed back, its objects need no compiler.
fn through_ccache(make: &mut Command, arch: Arch, cache: &Cache) {
    make.arg(format!("CC=ccache {}", arch.compiler())).arg("HOSTCC=ccache gcc");
    make.env("CCACHE_DIR", cache.root().join("ccache")).env("CCACHE_MAXSIZE", OBJECTS_KEPT);
}

/// Signals make to stop; make stops the compilers.
fn terminate(make: &Child) {
    let pid = i32::try_from(make.id()).ok().and_then(Pid::from_raw);
    // It may have ended by itself.
    let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
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

    /// Writes make's output to the log, and calls `goes_on` with each step. Returns false as soon
    /// as
    /// `goes_on` does, and true at the end of the output.
    fn take(
        &mut self,
        mut said: impl BufRead,
        goes_on: &mut dyn FnMut(u64, &str) -> bool,
    ) -> Result<bool, CacheError> {
        let mut line = Vec::new();
        let failed = || CacheError::at(&self.path);
        while said.read_until(b'\n', &mut line).map_err(failed())? > 0 {
            self.file.write_all(&line).map_err(failed())?;
            // A step's line is `  CC      mm/vmscan.o`.
            let is_step = line.starts_with(b"  ");
            self.steps += u64::from(is_step);
            if is_step && !goes_on(self.steps, String::from_utf8_lossy(&line).trim()) {
                return Ok(false);
            }
            line.clear();
        }
        Ok(true)
    }

    fn errors(&self) -> Result<Vec<String>, CacheError> {
        let text = fs::read(&self.path).map_err(CacheError::at(&self.path))?;
        Ok(first_errors(&String::from_utf8_lossy(&text)))
    }
}

/// Returns the first errors of a log, or its last lines if no line looks like an error.
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
    fn ccache_keeps_its_objects_in_the_labs_cache() {
        let directory = tempdir().unwrap();
        let cache = Cache::open(Some(directory.path())).unwrap();
        let mut make = Command::new("make");
        through_ccache(&mut make, Arch::Arm64, &cache);
        let compiler = format!("CC=ccache {}", Arch::Arm64.compiler());
        assert_eq!(make.get_args().collect::<Vec<_>>(), [&*compiler, "HOSTCC=ccache gcc"]);
        let place = cache.root().join("ccache");
        assert!(make.get_envs().any(|set| set == ("CCACHE_DIR".as_ref(), Some(place.as_ref()))));
    }

    #[test]
    fn a_log_counts_steps_and_keeps_every_line() {
        let directory = tempdir().unwrap();
        let mut log = Log::create(directory.path().join("x.log")).unwrap();
        let mut told = Vec::new();
        let said = "make[1]: Entering\n  CC      mm/a.o\nwarning\n  LD      vmlinux";
        let mut tell = |steps, line: &str| {
            told.push((steps, line.to_owned()));
            true
        };
        assert!(log.take(said.as_bytes(), &mut tell).unwrap());
        let expected = [(1, "CC      mm/a.o"), (2, "LD      vmlinux")];
        assert_eq!(told, expected.map(|(steps, line)| (steps, line.to_owned())));
        assert_eq!(fs::read_to_string(&log.path).unwrap(), said);
        assert!(!log.take(said.as_bytes(), &mut |_, _| false).unwrap());
    }
}
