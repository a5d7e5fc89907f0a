//! `trace`: record, import, info.

use crate::args::{TraceArgs, TraceCommand};
use crate::error::CliError;
use crate::progress;
use pageout_sim::trace::{self, Ending, ImportOptions, Info, RecordOptions, Summary};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn trace(args: &TraceArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        TraceCommand::Record { output, epoch, command } => {
            record(output, epoch.references, command)
        }
        TraceCommand::Import { input, output, epoch } => import(input, output, epoch.references),
        TraceCommand::Info { trace } => {
            let error = |error| CliError::Trace { name: trace.display().to_string(), error };
            println!("{}", Info::of(trace).map_err(error)?);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Records; the exit status is 0 however the program ended, which the summary says.
fn record(output: &Path, references: u64, command: &[OsString]) -> Result<ExitCode, CliError> {
    let mut options = RecordOptions::new(command.to_vec(), output.to_owned());
    options.epoch_references = references;
    let counter = progress::counter("recording");
    let done = trace::record(&options, &mut |references| counter.set_position(references));
    counter.finish_and_clear();
    eprintln!("{}", summary(output, &done?));
    Ok(ExitCode::SUCCESS)
}

fn summary(output: &Path, done: &Summary) -> String {
    let totals = &done.totals;
    let ending = match totals.ending {
        Ending::Exited(0) => "exited".to_owned(),
        Ending::Exited(status) => format!("exited with status {status}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::Replaced => "replaced itself with another program, which is not traced".to_owned(),
        Ending::Unknown => "ended".to_owned(),
    };
    let mut text = format!(
        "{}: {} references, {} epochs, {} pages; the program {ending}",
        output.display(),
        totals.references,
        totals.epochs,
        totals.distinct_pages
    );
    if done.children > 0 {
        text += &format!("; its {} child processes are not traced", done.children);
    }
    if done.unknown_pages > 0 {
        text += &format!("; {} pages of no known mapping", done.unknown_pages);
    }
    if done.skipped_lines > 0 {
        text += &format!("; {} lines of Valgrind's not understood", done.skipped_lines);
    }
    text
}

fn import(input: &PathBuf, output: &Path, references: u64) -> Result<ExitCode, CliError> {
    let open = |error| CliError::Open { path: input.clone(), error };
    let lines: Box<dyn BufRead> = if input.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(input).map_err(open)?))
    };
    let options = ImportOptions { epoch_references: references, ..ImportOptions::default() };
    let counter = progress::counter("importing");
    let done = trace::import(lines, output, &options, &mut |now| counter.set_position(now));
    counter.finish_and_clear();
    let totals = done.map_err(|error| CliError::Import { path: input.clone(), error })?;
    eprintln!(
        "{}: {} references, {} epochs, {} pages; no mappings, all pages anonymous",
        output.display(),
        totals.references,
        totals.epochs,
        totals.distinct_pages
    );
    Ok(ExitCode::SUCCESS)
}
