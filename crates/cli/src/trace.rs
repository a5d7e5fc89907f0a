//! `trace`: record, import, info.

use crate::args::{Density, TraceArgs, TraceCommand};
use crate::error::CliError;
use crate::{output, progress};
use pageout_host::residency::ReplayError;
use pageout_trace::source::TraceSource;
use pageout_trace::{
    self, Ending, ImportOptions, Info, RecordOptions, Summary, Totals, TraceError,
};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn trace(args: &TraceArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        TraceCommand::Record { output, density, command } => record(output, density, command),
        TraceCommand::Import { input, output, density } => import(input, output, density),
        TraceCommand::Info { trace } => {
            let text = match trace {
                Some(path) => info(&source_of(Some(path))?, path)?.to_string(),
                None => samples()?,
            };
            output::print_text(&text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The sample or the file of that name, or the default sample. A word that names both is refused:
/// records should not depend on where a command was run.
pub(crate) fn source_of(path: Option<&Path>) -> Result<TraceSource, CliError> {
    let Some(path) = path else {
        return Ok(TraceSource::default());
    };
    if let Some(sample) = path.to_str().and_then(TraceSource::sample) {
        let ambiguous = || CliError::SampleOrFile(name_of(Some(path)));
        return if path.exists() { Err(ambiguous()) } else { Ok(sample) };
    }
    TraceSource::read(path).map_err(|error| match error {
        TraceError::Open { path, source } => CliError::OpenTrace { path, source },
        source => CliError::Trace { name: name_of(Some(path)), source },
    })
}

/// What messages call that trace.
pub(crate) fn name_of(path: Option<&Path>) -> String {
    path.map_or_else(|| "the sample python-table".to_owned(), |path| path.display().to_string())
}

/// Why that trace could not be played.
pub(crate) fn failed(error: ReplayError, path: Option<&Path>) -> CliError {
    match error {
        ReplayError::LruGen(refused) => refused.into(),
        source => CliError::Replay { name: name_of(path), source },
    }
}

fn info(source: &TraceSource, path: &Path) -> Result<Info, CliError> {
    let failed = |source| CliError::Trace { name: name_of(Some(path)), source };
    source.info().map_err(failed)
}

/// The samples, a line each.
fn samples() -> Result<String, CliError> {
    let mut text =
        format!("{:<16}{:>10}{:>10}{:>10}  command\n", "sample", "pages", "epochs", "accesses");
    for (name, sample) in TraceSource::sample_names().iter().zip(TraceSource::samples()) {
        let Info { header, totals, .. } = info(&sample, Path::new(name))?;
        let Totals { distinct_pages, epochs, accesses, .. } = totals;
        let command = header.command.join(" ");
        text += &format!("{name:<16}{distinct_pages:>10}{epochs:>10}{accesses:>10}  {command}\n");
    }
    Ok(text)
}

/// Records; the exit status is 0 however the program ended, which the summary says.
fn record(output: &Path, density: &Density, command: &[OsString]) -> Result<ExitCode, CliError> {
    let mut options = RecordOptions::new(command.to_vec(), output.to_owned());
    (options.epoch_references, options.filter) = (density.references, density.filter);
    let counter = progress::counter("recording");
    let done = pageout_trace::record(&options, &mut progress::references(&counter));
    counter.finish_and_clear();
    output::say(&summary(output, &done?));
    Ok(ExitCode::SUCCESS)
}

fn summary(output: &Path, done: &Summary) -> String {
    let ending = match done.totals.ending {
        Ending::Exited(0) => "exited".to_owned(),
        Ending::Exited(status) => format!("exited with status {status}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::Replaced => "replaced itself with another program, which is not traced".to_owned(),
        Ending::Unknown => "ended".to_owned(),
    };
    let mut text = format!("{}; the program {ending}", written(output, &done.totals));
    for (what, nr) in [
        ("child processes, not traced", done.children),
        ("pages of no known mapping", done.unknown_pages),
        ("lines of Valgrind's not understood", done.skipped_lines),
    ] {
        if nr > 0 {
            text += &format!("; {what}: {nr}");
        }
    }
    text
}

fn written(output: &Path, totals: &Totals) -> String {
    format!(
        "{}: references {}, epochs {}, pages {}",
        output.display(),
        totals.references,
        totals.epochs,
        totals.distinct_pages
    )
}

fn import(input: &Path, output: &Path, density: &Density) -> Result<ExitCode, CliError> {
    let open = |source| CliError::Open { path: input.to_owned(), source };
    let (name, lines): (_, Box<dyn BufRead>) = if input.as_os_str() == "-" {
        ("standard input".to_owned(), Box::new(io::stdin().lock()))
    } else {
        let file = File::open(input).map_err(open)?;
        (input.display().to_string(), Box::new(BufReader::new(file)))
    };
    let is_file = (input.as_os_str() != "-").then_some(input);
    output::check(&[Some(output)], &[is_file])?;
    let &Density { references: epoch_references, filter } = density;
    let options = ImportOptions { epoch_references, filter, ..ImportOptions::default() };
    let counter = progress::counter("importing");
    let done = pageout_trace::import(lines, output, &options, &mut progress::references(&counter));
    counter.finish_and_clear();
    let totals = done.map_err(|source| CliError::Import { input: name, source })?;
    let written = written(output, &totals);
    output::say(&format!("{written}; no mappings, all pages anonymous"));
    Ok(ExitCode::SUCCESS)
}
