//! Records a program's trace by running it under Valgrind.

use std::ffi::OsString;
use std::io::{self, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use shared_child::SharedChild;

use pageout_experiment::bound::bound;

use super::epochs::Epochs;
use super::error::WriteError;
use super::filter::FilterShape;
use super::header::{DEFAULT_EPOCH_REFERENCES, Ending, Header, Totals};
use super::lackey::{Reference, is_noise};
use super::lines::Lines;
use super::output::OutputFile;
use super::process::ProcFs;
use super::space::Space;
use super::syscall::{Call, Calls};
use super::write::TraceWriter;
use super::{PAGE_SHIFT, PROGRESS_REFERENCES};

/// The descriptor Valgrind logs to: far from those that a program gets first.
const LOG_FD: i32 = 200;
/// How much of the log is read at once, in bytes: as much as a pipe holds.
const LOG_BUFFER: usize = 64 << 10;
/// How long a pipe that is not full is left to fill.
const PATIENCE: Duration = Duration::from_micros(300);
/// A line that no log has. It ends the log when the program has ended, though a background child
/// may still hold the pipe open.
const END: &[u8] = b"\x17end";

/// What to record, and where.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordOptions {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The trace to write.
    pub output: PathBuf,
    /// The epoch length, in references.
    pub epoch_references: u64,
    /// Which references may be left out.
    pub filter: FilterShape,
    /// The Valgrind to run.
    pub valgrind: PathBuf,
}

impl RecordOptions {
    /// Records `command` into `output` with the default epoch length and filter.
    pub fn new(command: Vec<OsString>, output: PathBuf) -> Self {
        Self {
            command,
            output,
            epoch_references: DEFAULT_EPOCH_REFERENCES,
            filter: FilterShape::DEFAULT,
            valgrind: PathBuf::from("valgrind"),
        }
    }
}

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The trace's totals; how the program ended is among them.
    pub totals: Totals,
    /// Pages used that nothing was seen to map; [`Kind::Unknown`](super::Kind::Unknown) in the
    /// trace.
    pub unknown_pages: u64,
    /// Child processes begun. They are not in the trace.
    pub children: u64,
    /// Lines of Valgrind's log that were not understood.
    pub skipped_lines: u64,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No command was given.
    #[error("no command to record")]
    NoCommand,
    /// Valgrind is not there.
    #[error("cannot find `{}`: install the package `valgrind`", valgrind.display())]
    NoValgrind {
        /// What was looked for.
        valgrind: PathBuf,
    },
    /// Valgrind does not run.
    #[error("cannot run `{}`", valgrind.display())]
    Valgrind {
        /// What was run.
        valgrind: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Valgrind ran, but the program did not.
    #[error("`{command}` did not start under Valgrind: {reason}")]
    NotStarted {
        /// The command's first word.
        command: String,
        /// What its exit status means.
        reason: String,
    },
    /// Valgrind's log cannot be read.
    #[error("reading Valgrind's log failed")]
    Log(#[source] io::Error),
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Runs a command under Valgrind's lackey and writes the pages it uses, with their mappings.
///
/// The program keeps its standard streams. Only the process started is traced, not its children,
/// and it only until it replaces itself. If it fails, the trace is complete all the same:
/// [`Totals::ending`] says how it ended. If the recording process or thread ends before it, the
/// program is killed. `progress` is called now and then with the references so far.
///
/// # Errors
///
/// [`RecordError::NoCommand`], [`RecordError::NoValgrind`] and [`RecordError::Valgrind`] before
/// anything runs, [`RecordError::NotStarted`] if the command is not found or not executable,
/// [`RecordError::Log`], [`RecordError::Write`]. Nothing is at the output path then but what was
/// there before, and the program no longer runs.
pub fn record(
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Summary, RecordError> {
    let program = options.command.first().ok_or(RecordError::NoCommand)?;
    let header = header(options, &version(&options.valgrind)?);
    let writer = TraceWriter::create(&options.output, &header)?;
    let epochs = Epochs::new(writer, &header);
    let (log, log_end) = io::pipe().map_err(RecordError::Log)?;
    let child = start(options, &log_end)?;
    let mut recorder = Recorder::new(child.id(), epochs);
    let status = thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(&child, log_end));
        let read = recorder.read(log, progress);
        if read.is_err() {
            // The waiter gives its result though the program is gone already.
            let _ = child.kill();
        }
        let waited = waiter.join().unwrap_or_else(|_| Err(io::Error::other("waiting failed")));
        read.and_then(|()| waited.map_err(RecordError::Log))
    })?;
    if recorder.epochs.references() == 0 {
        let command = program.to_string_lossy().into_owned();
        return Err(RecordError::NotStarted { command, reason: reason(status) });
    }
    progress(recorder.epochs.references());
    recorder.finish(status)
}

/// Asks Valgrind for its version, and so whether it is there.
fn version(valgrind: &Path) -> Result<String, RecordError> {
    let run = Command::new(valgrind).arg("--version").output();
    let output = run.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RecordError::NoValgrind { valgrind: valgrind.to_owned() },
        _ => RecordError::Valgrind { valgrind: valgrind.to_owned(), source },
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn header(options: &RecordOptions, version: &str) -> Header {
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    Header {
        page_shift: PAGE_SHIFT,
        epoch_references: options.epoch_references,
        filter: options.filter,
        mappings: true,
        command: command.collect(),
        architecture: std::env::consts::ARCH.to_owned(),
        tool: format!("pageout {}, {version} lackey", env!("CARGO_PKG_VERSION")),
    }
}

fn start(options: &RecordOptions, log_end: &PipeWriter) -> Result<SharedChild, RecordError> {
    // Valgrind was there when it was asked for its version: what may be missing is setpriv.
    let fail = |source| RecordError::Valgrind { valgrind: "setpriv".into(), source };
    let parent_fd = log_end.try_clone().map_err(RecordError::Log)?.into();
    let mut command = bound("KILL", &options.valgrind);
    command
        .args(["--command-line-only=yes", "--tool=lackey", "--basic-counts=no", "--trace-mem=yes"])
        .args(["--trace-syscalls=yes", "--trace-children=no", "--child-silent-after-fork=yes"])
        .args(["--vgdb=no", "--run-libc-freeres=no"])
        .arg(format!("--log-fd={LOG_FD}"))
        .arg("--")
        .args(&options.command);
    let mapping = FdMapping { parent_fd, child_fd: LOG_FD };
    command.fd_mappings(vec![mapping]).map_err(|error| fail(io::Error::other(error)))?;
    SharedChild::spawn(&mut command).map_err(fail)
}

/// Lets the pipe fill between reads. Valgrind writes line by line, and a write that wakes a
/// reader costs several that do not.
struct Unhurried(PipeReader);

impl Read for Unhurried {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(out)?;
        if read < out.len() / 2 {
            thread::sleep(PATIENCE);
        }
        Ok(read)
    }
}

/// Waits for the program's end and then ends the log.
fn wait(child: &SharedChild, mut log_end: PipeWriter) -> io::Result<ExitStatus> {
    let status = child.wait();
    // Where nobody reads any more, nobody needs the end.
    let _ = log_end.write_all(&[b"\n", END, b"\n"].concat());
    status
}

fn reason(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "command not found".to_owned(),
        Some(126) => "it cannot be executed".to_owned(),
        _ => status.to_string(),
    }
}

/// Turns the log into a trace, line by line.
struct Recorder {
    epochs: Epochs<OutputFile>,
    space: Space<ProcFs>,
    calls: Calls,
    children: u64,
    skipped_lines: u64,
    /// The last thing seen was a request to be replaced.
    replaced: bool,
}

impl Recorder {
    fn new(pid: u32, epochs: Epochs<OutputFile>) -> Self {
        Self {
            epochs,
            space: Space::new(ProcFs::new(pid)),
            calls: Calls::default(),
            children: 0,
            skipped_lines: 0,
            replaced: false,
        }
    }

    fn read(&mut self, log: PipeReader, progress: &mut dyn FnMut(u64)) -> Result<(), RecordError> {
        let mut lines = Lines::new(BufReader::with_capacity(LOG_BUFFER, Unhurried(log)));
        while let Some(line) = lines.next().map_err(RecordError::Log)? {
            if line == END {
                break;
            }
            if let Some(reference) = Reference::parse(line) {
                self.reference(reference)?;
                if self.epochs.references().is_multiple_of(PROGRESS_REFERENCES) {
                    progress(self.epochs.references());
                }
            } else {
                self.other(line)?;
            }
            if lines.number() == 1 {
                // Valgrind's greeting: the program is loaded and has not run yet.
                self.space.begin(&mut self.epochs)?;
            }
        }
        Ok(())
    }

    fn reference(&mut self, reference: Reference) -> Result<(), WriteError> {
        let (first, last) = reference.pages(PAGE_SHIFT);
        for page in [Some(first), last].into_iter().flatten() {
            if !self.epochs.drops(page, reference.store) {
                self.space.fault(page, reference.fetch, &mut self.epochs)?;
                self.epochs.access(page, reference.store)?;
            }
        }
        self.replaced = false;
        self.epochs.count()
    }

    fn other(&mut self, line: &[u8]) -> Result<(), WriteError> {
        match self.calls.line(line) {
            Some(Call::Child) => self.children += 1,
            Some(Call::Replace) => self.replaced = true,
            Some(call) => return self.space.call(call, &mut self.epochs),
            None => self.skipped_lines += u64::from(!is_noise(line)),
        }
        Ok(())
    }

    fn finish(self, status: ExitStatus) -> Result<Summary, RecordError> {
        use std::os::unix::process::ExitStatusExt;
        let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        let ending = match (status.code(), status.signal()) {
            _ if self.replaced => Ending::Replaced,
            (Some(code), _) => Ending::Exited(byte(code)),
            (None, Some(signal)) => Ending::Signalled(byte(signal)),
            (None, None) => Ending::Unknown,
        };
        let totals = self.epochs.into_writer()?.commit(ending)?;
        let Self { children, skipped_lines, .. } = self;
        Ok(Summary { totals, unknown_pages: self.space.unknown_pages(), children, skipped_lines })
    }
}
