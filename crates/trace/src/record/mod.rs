//! Records a program's trace by running it under a tool that reports every access.

mod child;
mod children;
mod family;
mod follow;
mod launch;
mod listen;
mod options;
mod qemu;
mod recorded;
mod recording;
mod script;
mod until;
mod valgrind;

use std::process::ExitStatus;

use children::Children;
use launch::Launch;
use qemu::Qemu;
use recording::Recording;

pub use options::{RecordError, RecordOptions, Recorder};
pub use recorded::{Recorded, RecordedChild, Summary};

/// Runs a command under a recorder and writes the pages it uses, with their mappings.
///
/// The program keeps its standard streams. Only the process started is traced, unless the options
/// ask for its children too; the recording then lasts until the last of its processes has ended.
/// Under Valgrind a process is traced also after it replaced itself with another program. If the
/// program fails, the trace is still complete: [`Totals::ending`](crate::Totals::ending) says how
/// it ended. If the recording process or thread ends first, the program is killed. `progress` is
/// called from time to time with the references so far, of all traces together.
///
/// # Errors
///
/// [`RecordError::NotStarted`] if the command is not found or not executable, [`RecordError::Log`],
/// [`RecordError::Child`] and [`RecordError::Write`]; others before anything runs. After an error
/// the output paths are as they were before, and no traced program runs any longer.
pub fn record(
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Recorded, RecordError> {
    let first = options.command.first().ok_or(RecordError::NoCommand)?;
    let (recording, status, children) = run(options, progress)?;
    if recording.references() == 0 {
        let command = first.to_string_lossy().into_owned();
        let (recorder, reason) = (options.recorder, reason(status));
        return Err(RecordError::NotStarted { recorder, command, reason });
    }
    progress(recording.references() + children.references());
    children.commit(recording.finish(Some(status))?)
}

/// Runs the command to its end. Returns the recording of the first process, its end, and the
/// recordings of its children.
fn run(
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<(Recording, ExitStatus, Children), RecordError> {
    let (recorder, program) = (options.recorder, &options.program);
    let (recording, status) = match (recorder, options.children) {
        (Recorder::Valgrind, true) => {
            return family::record(&Launch::prepare(program, true)?, options, progress);
        }
        (Recorder::Qemu, true) => return Err(RecordError::Children { recorder }),
        (Recorder::Valgrind, false) => {
            valgrind::record(&Launch::prepare(program, false)?, options, progress)?
        }
        (Recorder::Qemu, false) => qemu::record(&Qemu::prepare(program)?, options, progress)?,
    };
    Ok((recording, status, Children::default()))
}

fn reason(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "command not found".to_owned(),
        Some(126) => "it cannot be executed".to_owned(),
        _ => status.to_string(),
    }
}
