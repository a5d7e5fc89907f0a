//! Records under Valgrind's lackey, from the lines that it logs.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

use super::child::beside;
use super::launch::Launch;
use super::options::{RecordError, RecordOptions};
use super::recording::{Recording, begin};
use crate::PROGRESS_REFERENCES;
use crate::lackey::{fatal_signal, is_greeting, is_noise, reference};
use crate::lines::Lines;
use crate::syscall::Calls;

/// The number of bytes of the log that are read at once: as much as a pipe holds.
const LOG_BUFFER: usize = 64 << 10;
/// The time that a pipe is left to fill.
const PATIENCE: Duration = Duration::from_micros(300);
/// A line that no log has. It ends the log when the program has ended, even if a background child
/// still holds the pipe open.
const END: &[u8] = b"\x17end";

/// Runs the command to its end; returns its recording and its end.
pub(super) fn record(
    launch: &Launch,
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<(Recording, ExitStatus), RecordError> {
    let epochs = begin(options, &launch.tool(), &options.output, options.words())?;
    let (log, log_end) = launch.log().map_err(RecordError::Log)?;
    let child = launch.start(&options.command, None)?;
    let mut recording = Recording::new(child.id(), epochs);
    let status = beside(&child, || end(log_end), || read(&mut recording, log, progress))?;
    Ok((recording, status))
}

/// A reader that lets the pipe fill between reads. Valgrind writes line by line, and a write that
/// wakes a reader costs as much as several that do not.
struct Unhurried<R>(R);

impl<R: Read> Read for Unhurried<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(out)?;
        if read < out.len() / 2 {
            thread::sleep(PATIENCE);
        }
        Ok(read)
    }
}

/// Ends a log, so that [`read`] returns.
pub(super) fn end(mut log_end: File) {
    // The end is not needed if no reader is left.
    let _ = log_end.write_all(&[b"\n", END, b"\n"].concat());
}

/// Turns the log into a trace, line by line.
pub(super) fn read(
    recording: &mut Recording,
    log: impl Read,
    progress: &mut dyn FnMut(u64),
) -> Result<(), RecordError> {
    let mut lines = Lines::new(BufReader::with_capacity(LOG_BUFFER, Unhurried(log)));
    let mut calls = Calls::default();
    while let Some(line) = lines.next().map_err(RecordError::Log)? {
        if line == END {
            break;
        }
        if let Some(reference) = reference(line) {
            recording.reference(reference)?;
            if recording.references().is_multiple_of(PROGRESS_REFERENCES) {
                progress(recording.references());
            }
        } else if is_greeting(line) {
            calls = Calls::default();
            recording.begin()?;
        } else if let Some(call) = calls.line(line) {
            recording.call(call)?;
        } else if let Some(signal) = fatal_signal(line) {
            recording.signalled(signal);
        } else if !is_noise(line) {
            recording.skip();
        }
    }
    Ok(())
}
