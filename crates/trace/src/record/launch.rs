//! Starts a program under Valgrind so that the programs which replace it run there too.
//!
//! With `--trace-children=yes`, when a process replaces itself (`execve`), Valgrind runs the
//! launcher that its environment names, with Valgrind's arguments before the program's. It does so
//! for children as well. A launcher of ours distinguishes them by the process: the first one
//! continues under Valgrind's tool. Another one runs as it would without Valgrind. If children are
//! recorded, it instead announces itself and continues under the tool with a log of its own.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pageout_experiment::bound::bound;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::process::Pid;
use shared_child::SharedChild;
use tempfile::TempDir;

use super::child::{self, HOLD_FD, LOG_FD};
use super::options::{RecordError, Recorder};
use super::script::{OPTIONS, script};
use super::until::Until;

/// The files that a program is started with; they are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Launch {
    version: String,
    directory: TempDir,
}

/// A line that is no announcement: later announcements are not read.
pub(super) const NO_MORE: &[u8] = b"no more";

impl Launch {
    /// Asks Valgrind for its version, and makes the launcher and a pipe for the log. For children
    /// it makes two more pipes, by which they announce themselves and hold the recording open.
    ///
    /// # Errors
    ///
    /// [`RecordError::NoRecorder`], [`RecordError::Run`], [`RecordError::NoTool`],
    /// [`RecordError::Temporary`].
    pub(super) fn prepare(valgrind: &Path, children: bool) -> Result<Self, RecordError> {
        let (version, tool) = ask(valgrind)?;
        let launch = Self { version, directory: child::directory()? };
        launch.write(&tool, children).map_err(RecordError::Temporary)?;
        Ok(launch)
    }

    /// Returns the tool that the trace names as its maker: Valgrind with its version, and lackey.
    pub(super) fn tool(&self) -> String {
        format!("{} lackey", self.version)
    }

    /// Returns both ends of the log: one to read from, and one to end it with.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn log(&self) -> io::Result<(File, File)> {
        let log = self.open("log")?;
        let end = log.try_clone()?;
        Ok((log, end))
    }

    /// Returns the log of a child that announced itself.
    pub(super) fn log_of(&self, child: Pid) -> io::Result<File> {
        self.open(&log_of(child))
    }

    /// Removes a child's log, so that the next process with this number can announce itself.
    pub(super) fn forget(&self, child: Pid) -> io::Result<()> {
        fs::remove_file(self.path(&log_of(child)))
    }

    /// Returns the announcements, a line with its number for each child, and the file to write
    /// [`NO_MORE`] to. The announcements end when no process holds the recording open any more.
    ///
    /// The first process has to hold it before they are read.
    pub(super) fn announcements(&self) -> io::Result<(Until<OwnedFd>, File)> {
        let pipe = self.open("announce")?;
        let no_more = pipe.try_clone()?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let end = rustix::fs::open(self.path("hold"), flags, Mode::empty())?;
        Ok((Until { pipe, end }, no_more))
    }

    /// Holds the recording open, as every process does that has inherited this from the first one.
    /// Announcements have to be read meanwhile.
    pub(super) fn hold(&self) -> io::Result<File> {
        File::options().write(true).open(self.path("hold"))
    }

    /// Starts a program, which is killed when the thread that starts it ends.
    ///
    /// # Errors
    ///
    /// [`RecordError::Run`].
    pub(super) fn start(
        &self,
        command: &[OsString],
        hold: Option<File>,
    ) -> Result<SharedChild, RecordError> {
        let log = self.open("log").map_err(RecordError::Log)?;
        let mut launcher = bound("KILL", self.path("launcher"));
        launcher.args(OPTIONS).arg(format!("--log-fd={LOG_FD}")).args(command);
        let hold = hold.map(|hold| (OwnedFd::from(hold), HOLD_FD));
        child::start(launcher, [(log.into(), LOG_FD)].into_iter().chain(hold))
    }

    /// Opens a pipe for both, so that neither end waits for the other.
    fn open(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).open(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, tool: &Path, children: bool) -> io::Result<()> {
        let pipes: &[_] = if children { &["log", "announce", "hold"] } else { &["log"] };
        for pipe in pipes {
            mkfifoat(CWD, self.path(pipe), Mode::RUSR | Mode::WUSR)?;
        }
        let launcher = self.path("launcher");
        fs::write(&launcher, script(self.directory.path(), tool, children))?;
        fs::set_permissions(&launcher, Permissions::from_mode(0o755))
    }
}

/// Returns the file name of a child's log.
fn log_of(child: Pid) -> String {
    format!("log.{}", child.as_raw_pid())
}

/// Returns Valgrind's version and the program that is its tool lackey, which Valgrind prints when
/// it is asked to be verbose.
fn ask(valgrind: &Path) -> Result<(String, PathBuf), RecordError> {
    let question = ["-d", "--tool=lackey", "--version"];
    let output = child::ask(Recorder::Valgrind, valgrind, &question)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let tool = said.lines().find_map(|line| Some(line.split_once(":launcher launching ")?.1));
    let tool = tool.ok_or_else(|| RecordError::NoTool { valgrind: valgrind.to_owned() })?;
    Ok((String::from_utf8_lossy(&output.stdout).trim().to_owned(), tool.into()))
}
