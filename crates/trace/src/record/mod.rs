//! Records a program's trace by running it under a tool that tells every access.

mod child;
mod launch;
mod options;
mod qemu;
mod recording;
mod valgrind;

use std::process::ExitStatus;

use super::PAGE_SHIFT;
use super::epochs::Epochs;
use super::error::WriteError;
use super::header::Header;
use super::output::OutputFile;
use super::write::TraceWriter;
use launch::Launch;
use qemu::Qemu;

pub use options::{RecordError, RecordOptions, Recorder, Summary};

/// Runs a command under a recorder and writes the pages it uses, with their mappings.
///
/// The program keeps its standard streams. Only the process started is traced, not its children.
/// Under Valgrind it is traced also after it replaced itself with another program. If it fails, the
/// trace is complete all the same: [`Totals::ending`](crate::Totals::ending) says how it ended. If
/// the recording process or thread ends before it, the program is killed. `progress` is called now
/// and then with the references so far.
///
/// # Errors
///
/// [`RecordError::NotStarted`] if the command is not found or not executable, [`RecordError::Log`]
/// and [`RecordError::Write`]; others before anything runs. Nothing is at the output path then but
/// what was there before, and the program no longer runs.
pub fn record(
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Summary, RecordError> {
    let first = options.command.first().ok_or(RecordError::NoCommand)?;
    let begin = |version: &str| begin(options, version);
    let (recording, status) = match options.recorder {
        Recorder::Valgrind => {
            valgrind::record(Launch::prepare(&options.program)?, begin, options, progress)?
        }
        Recorder::Qemu => {
            qemu::record(&Qemu::prepare(&options.program)?, begin, options, progress)?
        }
    };
    if recording.references() == 0 {
        let command = first.to_string_lossy().into_owned();
        let (recorder, reason) = (options.recorder, reason(status));
        return Err(RecordError::NotStarted { recorder, command, reason });
    }
    progress(recording.references());
    recording.finish(status)
}

/// Begins the trace, made by a tool of this name and version.
fn begin(options: &RecordOptions, tool: &str) -> Result<Epochs<OutputFile>, WriteError> {
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned());
    let header = Header {
        page_shift: PAGE_SHIFT,
        epoch_references: options.epoch_references,
        filter: options.filter,
        mappings: true,
        sampled: false,
        command: command.collect(),
        architecture: std::env::consts::ARCH.to_owned(),
        tool: format!("pageout {}, {tool}", env!("CARGO_PKG_VERSION")),
    };
    Ok(Epochs::new(TraceWriter::create(&options.output, &header)?, &header))
}

fn reason(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "command not found".to_owned(),
        Some(126) => "it cannot be executed".to_owned(),
        _ => status.to_string(),
    }
}
