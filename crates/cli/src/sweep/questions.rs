//! `sweep flush` and `sweep pageout`: one question asked of many modelled machines.

use super::args::QuestionArgs;
use crate::error::CliError;
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::{output, paths, progress};
use pageout_experiment::scenarios::Compared;
use pageout_experiment::spread::host_threads;
use pageout_experiment::variant::Axes;
use pageout_machine::platform::Platform;
use pageout_record::schema::RecordSet;
use pageout_run::{FlushSweep, Swept};
use std::path::Path;

pub(super) fn flush(args: &QuestionArgs) -> Result<(), CliError> {
    ask(Swept::File, 16 << 20, args)
}

pub(super) fn pageout(args: &QuestionArgs) -> Result<(), CliError> {
    ask(Swept::Anon, 1 << 20, args)
}

/// Asks the question; `bytes` is the size of the memory if none is given.
fn ask(swept: Swept, bytes: u64, args: &QuestionArgs) -> Result<(), CliError> {
    for platform in &args.platform {
        paths::named("platform", Path::new(platform), Platform::names())?;
    }
    once("--platform", &args.platform)?;
    once("--cores", &args.cores)?;
    once("--processes", &args.processes)?;
    let inputs: Vec<_> = args.platform.iter().map(|one| Some(Path::new(one))).collect();
    output::check(&args.output.paths(), &inputs)?;
    let platforms = match &args.platform[..] {
        [] => Platform::names().map(str::to_owned).collect(),
        named => named.to_vec(),
    };
    let or = |given: &[u16], default: &[u16]| match given {
        [] => default.to_vec(),
        given => given.to_vec(),
    };
    let processes = match &args.processes[..] {
        [] => FlushSweep::PROCESSES.to_vec(),
        given => given.to_vec(),
    };
    let sweep = FlushSweep {
        swept,
        platforms,
        cores: or(&args.cores, &FlushSweep::CORES),
        processes,
        bytes: args.size.unwrap_or(bytes),
        seed: args.seed,
    };
    let bar = progress::bar("modelling");
    let records = sweep.records(this_run, host_threads(), &mut progress::steps(&bar))?;
    bar.finish_and_clear();
    let set = RecordSet::new(this_run(), records);
    let base = Compared::SHOOTDOWN[0].labels(Axes::Reclaim);
    let compared = [(&set, &base)];
    output::emit(&args.output, &set, &compared, |set, columns| {
        comparison(set, &base, args.shown, &[], columns)
    })
}

/// Checks that an option has no value twice: every value is a row.
fn once<T: PartialEq + ToString>(option: &'static str, values: &[T]) -> Result<(), CliError> {
    let mut later = values.iter().enumerate();
    match later.find(|(place, value)| values[..*place].contains(value)) {
        Some((_, value)) => Err(CliError::ValueTwice { option, value: value.to_string() }),
        None => Ok(()),
    }
}
