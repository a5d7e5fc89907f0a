//! `trace`: import, export and info. Longer commands have their own files.

pub(crate) mod args;
mod curve;
mod record;

use crate::error::CliError;
use crate::{output, progress, terminal};
use args::{ImportFrom, TraceArgs, TraceCommand};
use pageout_experiment::{named, this_machine};
use pageout_host::residency::ReplayError;
use pageout_record::render::{Align, Grid, exact};
use pageout_run::Trace;
use pageout_trace::decoded::Decoded;
use pageout_trace::oracle_general;
use pageout_trace::source::TraceSource;
use pageout_trace::{self, ImportOptions, Imported, Info, Totals};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn trace(args: &TraceArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        TraceCommand::Record(args) => record::record(args),
        TraceCommand::Import { input, from, pid, output, density } => {
            let options = ImportOptions {
                format: from.map(ImportFrom::format),
                process: *pid,
                epoch_references: density.references,
                filter: density.filter,
                available: this_machine::available_memory(),
                ..ImportOptions::default()
            };
            import(input, output, &options)
        }
        TraceCommand::Export { trace, output } => export(trace, output),
        TraceCommand::Curve(args) => curve::curve(args),
        TraceCommand::Info { trace, json } => {
            let Some(path) = trace else {
                output::print_text(&samples(terminal::columns())?)?;
                return Ok(ExitCode::SUCCESS);
            };
            let trace = Trace::of(Some(path))?;
            let info = trace.source.info().map_err(|error| trace.unreadable(error))?;
            let sha256 = trace.source.sha256();
            if *json {
                output::print(info.to_json(&sha256).as_bytes())?;
            } else {
                output::print_text(&format!("{:<16}{sha256}\n{info}", "sha256"))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Writes the samples, a line each.
fn samples(columns: usize) -> Result<String, CliError> {
    let heads = ["sample", "4K pages", "epochs", "accesses", "program"];
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut grid = Grid::new(heads.into_iter().zip(align));
    for (name, sample) in TraceSource::sample_names().iter().zip(TraceSource::samples()) {
        let Info { header, totals, .. } = sample.info().expect("a sample is whole");
        let Totals { distinct_pages, epochs, accesses, .. } = totals;
        let numbers = [distinct_pages, epochs, accesses].map(|number| exact(number as f64));
        let program = header.command.first().map(Path::new).and_then(Path::file_name);
        let program = program.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        grid.row([(*name).to_owned()].into_iter().chain(numbers).chain([program]));
    }
    let more = "`pageout trace info NAME` has a trace's command, mappings and use of memory.";
    Ok(format!("{}\n{more}\n", grid.text(columns)))
}

fn export(trace: &Path, output: &Path) -> Result<ExitCode, CliError> {
    let named_trace = Trace::of(Some(trace))?;
    output::check(&[Some(output)], &[Some(trace)])?;
    let available = this_machine::available_memory();
    let decoded: Result<_, ReplayError> =
        Decoded::of_trace(&named_trace.source, available, |_, _| Ok(()));
    let decoded = decoded.map_err(|error| named_trace.failed(error))?;
    let records = oracle_general::export(&decoded, output)?;
    let pages = decoded.string().nr_pages();
    output::say(&format!("{}: records {records}, pages {pages}", named(output)));
    Ok(ExitCode::SUCCESS)
}

fn written(output: &Path, totals: &Totals) -> String {
    format!(
        "{}: references {}, epochs {}, pages {}",
        named(output),
        totals.references,
        totals.epochs,
        totals.distinct_pages
    )
}

fn import(input: &Path, output: &Path, options: &ImportOptions) -> Result<ExitCode, CliError> {
    let is_file = (input.as_os_str() != "-").then_some(input);
    let name = is_file.map_or("standard input".to_owned(), named);
    let failed = |source| CliError::Import { input: name.clone(), source: Box::new(source) };
    options.check().map_err(failed)?;
    let bytes: Box<dyn Read> = if let Some(path) = is_file {
        let open = |source| CliError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(open)?;
        if path.is_dir() {
            return Err(open(io::ErrorKind::IsADirectory.into()));
        }
        let length = file.metadata().ok().filter(Metadata::is_file).map(|file| file.len());
        if let Some(length) = length {
            pageout_trace::check_end(&file, length, options.format).map_err(failed)?;
        }
        Box::new(file)
    } else {
        Box::new(io::stdin().lock())
    };
    output::check(&[Some(output)], &[is_file])?;
    let counter = progress::counter("importing");
    let done = pageout_trace::import(bytes, output, options, &mut progress::references(&counter));
    counter.finish_and_clear();
    output::say(&imported(output, options, &done.map_err(failed)?));
    Ok(ExitCode::SUCCESS)
}

/// Returns a line for the trace, and one for each cause of lines or records that are not in it.
fn imported(output: &Path, options: &ImportOptions, done: &Imported) -> String {
    let Imported { format, totals, passed_over } = done;
    let mut text = match format.is_sampled() {
        true => {
            let Totals { accesses, epochs, distinct_pages, .. } = totals;
            let output = named(output);
            format!("{output}: samples {accesses}, epochs {epochs}, pages {distinct_pages}")
        }
        false => written(output, totals),
    };
    text += "; no mappings, all pages anonymous";
    if options.format.is_none() {
        text += &format!("\nrecognized as --from {}", format.option());
    }
    for (cause, count) in passed_over.counts() {
        text += &format!("\npassed over: {} {count}", cause.name());
    }
    text
}
