//! Steps that recorders have in common: they report their version, and they run while another
//! thread reads their output.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::thread;

use command_fds::{CommandFdExt, FdMapping};
use shared_child::SharedChild;
use tempfile::TempDir;

use super::options::{RecordError, Recorder};

/// The descriptor of a recorder's log: far above the first ones that a program gets.
pub(super) const LOG_FD: i32 = 200;
/// The descriptor that processes inherit to hold a recording of children open.
pub(super) const HOLD_FD: i32 = 201;

/// Makes a directory for the files that a recorder is started with.
pub(super) fn directory() -> Result<TempDir, RecordError> {
    tempfile::Builder::new().prefix("pageout-").tempdir().map_err(RecordError::Temporary)
}

/// Runs a recorder's program and returns its output.
pub(super) fn ask(
    recorder: Recorder,
    program: &Path,
    arguments: &[&str],
) -> Result<Output, RecordError> {
    let run = Command::new(program).args(arguments).output();
    let program = || program.to_owned();
    run.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RecordError::NoRecorder { recorder, program: program() },
        _ => RecordError::Run { program: program(), source },
    })
}

/// Starts a recorder by a command that [`bound`](pageout_experiment::bound::bound) made, with these
/// descriptors under these numbers.
pub(super) fn start(
    mut command: Command,
    descriptors: impl IntoIterator<Item = (OwnedFd, i32)>,
) -> Result<SharedChild, RecordError> {
    // The recorder answered before, so setpriv may be missing.
    let fail = |source| RecordError::Run { program: "setpriv".into(), source };
    let mapped = |(parent_fd, child_fd)| FdMapping { parent_fd, child_fd };
    let mappings = descriptors.into_iter().map(mapped).collect();
    command.fd_mappings(mappings).map_err(|error| fail(io::Error::other(error)))?;
    SharedChild::spawn(&mut command).map_err(fail)
}

/// Reads the log of a child while it runs, and calls `end` to end the log when the child has ended.
pub(super) fn beside(
    child: &SharedChild,
    end: impl FnOnce() + Send,
    read: impl FnOnce() -> Result<(), RecordError>,
) -> Result<ExitStatus, RecordError> {
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let status = child.wait();
            end();
            status
        });
        let read = read();
        if read.is_err() {
            // The waiter returns its result even if the program is gone already.
            let _ = child.kill();
        }
        let waited = waiter.join().unwrap_or_else(|_| Err(io::Error::other("waiting failed")));
        read.and_then(|()| waited.map_err(RecordError::Log))
    })
}
