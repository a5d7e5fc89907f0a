//! `bench`: hot paths beside their floors and goals.

use crate::args::{BenchArgs, Benchmark};
use crate::error::CliError;
use crate::{output, progress, tables};
use pageout_record::compare::compare;
use pageout_record::render::{self, Options};
use pageout_record::schema::RecordSet;
use pageout_sim::bench::{self, GOALS};
use pageout_sim::this_machine::this_run;

pub(crate) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    output::check(&args.output)?;
    let bar = progress::bar("measuring");
    let mut steps = progress::steps(&bar);
    let records = match args.what {
        Benchmark::Young => bench::young(args.measuring.rounds(), args.measuring.seed, &mut steps),
    };
    bar.finish_and_clear();
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.output, &set, young_text)
}

fn young_text(set: &RecordSet) -> Result<String, CliError> {
    let sweeps = tables::only(set, |record| record.scenario == bench::SWEEPS);
    let base = [("young".to_owned(), "per-entry".to_owned())].into();
    let table = render::comparison(&compare(&sweeps, &base)?, Options::default());
    let holds = |what: &str, ratio: f64| {
        GOALS.iter().any(|goal| goal.what == what && goal.bound.holds(ratio))
    };
    Ok(format!("{table}\n{}\n{}", tables::floors(set), tables::goals(set, holds)))
}
