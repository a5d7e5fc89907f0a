//! Follows a child that has announced itself, to its end.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::Pid;

use super::launch::Launch;
use super::options::{RecordError, RecordOptions};
use super::recorded::RecordedChild;
use super::recording::{Finished, Recording, begin};
use super::script::program_in;
use super::until::Until;
use super::valgrind::read;
use crate::limits::MAX_ARGUMENTS;

/// A child that waits until its log is opened.
pub(super) struct Child {
    pub(super) number: u64,
    pub(super) pid: Pid,
    pub(super) process: Arc<OwnedFd>,
    /// A descriptor that holds the recording open.
    pub(super) hold: File,
}

impl Child {
    /// Records the child to its end.
    pub(super) fn follow(
        self,
        launch: &Launch,
        options: &RecordOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(RecordedChild, Finished), RecordError> {
        let Self { number, pid, process, hold } = self;
        let raw = pid.as_raw_pid().cast_unsigned();
        let fail = |source| RecordError::Child { pid: raw.into(), source };
        let log = Until { pipe: launch.log_of(pid).map_err(fail)?, end: process };
        // While a process turns into the tool, its command cannot be read; the process that logs is
        // the tool.
        log.wait().map_err(fail)?;
        let command = command(pid);
        let program = command.first().cloned().unwrap_or_default();
        let output = options.child_output(number);
        let epochs = begin(options, &launch.tool(), &output, command)?;
        let mut recording = Recording::new(raw, epochs);
        let read = read(&mut recording, log, progress);
        launch.forget(pid).map_err(fail)?;
        read?;
        progress(recording.references());
        let finished = recording.finish(None)?;
        drop(hold);
        let summary = finished.summary;
        Ok((RecordedChild { number, pid: raw.into(), program, output, summary }, finished))
    }
}

/// Returns the command that a process runs under Valgrind, as far as a trace can have it; empty if
/// the process is gone.
fn command(pid: Pid) -> Vec<String> {
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).unwrap_or_default();
    let words: Vec<&[u8]> = line.strip_suffix(b"\0").unwrap_or(&line).split(|b| *b == 0).collect();
    let words = program_in(&words).iter().take(MAX_ARGUMENTS as usize);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
