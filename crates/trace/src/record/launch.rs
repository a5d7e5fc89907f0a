//! Starts a program under Valgrind so that the programs which replace it run there too.
//!
//! With `--trace-children=yes` Valgrind, where a process replaces itself (`execve`), runs what its
//! environment calls the launcher, with Valgrind's arguments before the program's. It does so for
//! children as well. A launcher of ours tells them apart by the process: the traced one goes on
//! under Valgrind's tool, another one runs as it would without Valgrind.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pageout_experiment::bound::bound;
use rustix::fs::{CWD, Mode, mkfifoat};
use shared_child::SharedChild;
use tempfile::TempDir;

use super::child::{self, LOG_FD};
use super::options::{RecordError, Recorder};

/// Valgrind's options but for where it logs to. `--trace-children` is about replacing too.
const OPTIONS: [&str; 9] = [
    "--tool=lackey",
    "--command-line-only=yes",
    "--basic-counts=no",
    "--trace-mem=yes",
    "--trace-syscalls=yes",
    "--trace-children=yes",
    "--child-silent-after-fork=yes",
    "--vgdb=no",
    "--run-libc-freeres=no",
];

/// What a program is started with; its files go when this is dropped.
#[derive(Debug)]
pub(super) struct Launch {
    version: String,
    directory: TempDir,
}

impl Launch {
    /// Asks Valgrind who it is, and makes the launcher and a pipe for the log.
    ///
    /// # Errors
    ///
    /// [`RecordError::NoRecorder`], [`RecordError::Run`], [`RecordError::NoTool`],
    /// [`RecordError::Temporary`].
    pub(super) fn prepare(valgrind: &Path) -> Result<Self, RecordError> {
        let (version, tool) = ask(valgrind)?;
        let launch = Self { version, directory: child::directory()? };
        launch.write(&tool).map_err(RecordError::Temporary)?;
        Ok(launch)
    }

    /// Valgrind's version, with its name.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Both ends of the log: to be read, and to be ended.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(super) fn log(&self) -> io::Result<(File, File)> {
        // Opened for both, so that neither waits for the other.
        let log = File::options().read(true).write(true).open(self.path("log"))?;
        let end = log.try_clone()?;
        Ok((log, end))
    }

    /// Starts a program, which is killed when the thread that starts it ends.
    ///
    /// # Errors
    ///
    /// [`RecordError::Run`].
    pub(super) fn start(&self, command: &[OsString]) -> Result<SharedChild, RecordError> {
        let log = File::options().write(true).read(true).open(self.path("log"));
        let log = log.map_err(RecordError::Log)?;
        let mut launcher = bound("KILL", self.path("launcher"));
        launcher.args(OPTIONS).arg(format!("--log-fd={LOG_FD}")).args(command);
        child::start(launcher, log.into())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, tool: &Path) -> io::Result<()> {
        mkfifoat(CWD, self.path("log"), Mode::RUSR | Mode::WUSR)?;
        let launcher = self.path("launcher");
        fs::write(&launcher, script(self.directory.path(), tool))?;
        fs::set_permissions(&launcher, Permissions::from_mode(0o755))
    }
}

/// Valgrind's version and the program that is its tool lackey, which it tells when it is asked to
/// tell what it does.
fn ask(valgrind: &Path) -> Result<(String, PathBuf), RecordError> {
    let question = ["-d", "--tool=lackey", "--version"];
    let output = child::ask(Recorder::Valgrind, valgrind, &question)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let tool = said.lines().find_map(|line| Some(line.split_once(":launcher launching ")?.1));
    let tool = tool.ok_or_else(|| RecordError::NoTool { valgrind: valgrind.to_owned() })?;
    Ok((String::from_utf8_lossy(&output.stdout).trim().to_owned(), tool.into()))
}

/// What runs in the place of Valgrind's own launcher. Of the first process that it is, it makes a
/// note. The log is opened by name where the program closed it.
fn script(directory: &Path, tool: &Path) -> Vec<u8> {
    let [directory, tool] = [directory, tool].map(|path| quoted(path.as_os_str().as_bytes()));
    let options = OPTIONS.join(" ");
    let count = OPTIONS.len() + 1;
    let before = format!(
        "#!/bin/sh
[ -e \"$directory/pid\" ] || echo $$ >\"$directory/pid\"
read -r traced <\"$directory/pid\"
if [ $$ = \"$traced\" ]; then
	export VALGRIND_LAUNCHER=\"$directory/launcher\"
	[ -e /proc/self/fd/{LOG_FD} ] && exec \"$tool\" \"$@\"
	shift {count}
	exec \"$tool\" {options} --log-file=\"$directory/log\" \"$@\"
fi
unset VALGRIND_LIB
shift {count}
case $1 in
*/*) program=$1 ;;
*) program=./$1 ;;
esac
shift
exec \"$program\" \"$@\"
"
    );
    let set = [&b"directory="[..], &directory, b" tool=", &tool, b"\n"].concat();
    let (first, rest) = before.split_once('\n').expect("it has lines");
    [first.as_bytes(), b"\n", &set, rest.as_bytes()].concat()
}

/// A word of the shell, whatever is in it.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}
