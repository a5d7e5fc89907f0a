//! `trace record`.

use super::args::RecordArgs;
use super::written;
use crate::error::CliError;
use crate::{output, paths, progress};
use pageout_experiment::shown;
use pageout_trace::{Ending, RecordOptions, Recorded, Summary};
use std::path::Path;
use std::process::ExitCode;

/// Records a program. The exit status is 0 even if the program failed; the summary has its status.
pub(super) fn record(args: &RecordArgs) -> Result<ExitCode, CliError> {
    let RecordArgs { output, children, recorder, density, command } = args;
    output::check(&[Some(output)], &[])?;
    command.first().map_or(Ok(()), |name| paths::program("command", Path::new(name)))?;
    let mut options = RecordOptions::new(recorder.recorder(), command.clone(), output.clone());
    options.children = *children;
    options.epoch_references = density.references();
    options.filter = density.filter.unwrap_or(options.filter);
    let counter = progress::counter("recording");
    let done = pageout_trace::record(&options, &mut progress::references(&counter));
    counter.finish_and_clear();
    output::say(&told(&options, &done?));
    Ok(ExitCode::SUCCESS)
}

/// Returns a line for the program, and one for each child that was recorded.
fn told(options: &RecordOptions, done: &Recorded) -> String {
    let mut text = format!(
        "{}; the program {}",
        written(&options.output, &done.first.totals),
        summary(&done.first)
    );
    let untraced = match options.children {
        true => "child processes that executed no program, not traced",
        false => "child processes, not traced",
    };
    if done.untraced_children > 0 {
        text += &format!("; {untraced}: {}", done.untraced_children);
    }
    for child in &done.children {
        text += &format!(
            "\n{}; the child process {} ({}) {}",
            written(&child.output, &child.summary.totals),
            child.pid,
            shown(&child.program),
            summary(&child.summary)
        );
    }
    text
}

fn summary(done: &Summary) -> String {
    let mut text = match done.totals.ending {
        Ending::Exited(0) => "exited".to_owned(),
        Ending::Exited(status) => format!("exited with status {status}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::Replaced => "replaced itself with another program, not traced".to_owned(),
        Ending::Unknown => "ended".to_owned(),
    };
    for (what, nr) in [
        ("replaced by another program, which is traced", done.replacements),
        ("pages of no known mapping", done.unknown_pages),
        ("lines of the recorder's not understood", done.skipped_lines),
    ] {
        if nr > 0 {
            text += &format!("; {what}: {nr}");
        }
    }
    text
}
