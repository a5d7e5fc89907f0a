//! `bench`: hot paths beside their lower bounds and goals.

use crate::args::{BenchArgs, Benchmark};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::predict::Prediction;
use crate::this_run::this_run;
use crate::{help, output, progress, tables, terminal};
use pageout_experiment::declare::Declared;
use pageout_experiment::metrics::labels;
use pageout_experiment::rounds::Rounds;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::variant::{Axes, Variant};
use pageout_host::bench;
use pageout_host::scenario::HostScenario;
use pageout_model::bench as model;
use pageout_record::compare::compare;
use pageout_record::render::{self, Options};
use pageout_record::schema::{Labels, RecordSet};

pub(crate) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    output::check(&args.output.paths(), &[])?;
    let rounds = args.measuring.rounds_or(match args.what {
        Benchmark::Scale => bench::SCALE_ROUNDS,
        Benchmark::Mglru => bench::MGLRU_ROUNDS,
        Benchmark::Aging => bench::AGING_ROUNDS,
        Benchmark::Young | Benchmark::Reclaim | Benchmark::Machine | Benchmark::FlushReach => {
            Rounds::DEFAULT
        }
    });
    let seed = args.measuring.seed;
    let prediction = args.predict.then(|| predict(args)).transpose()?;
    let bar = progress::bar("measuring");
    let mut steps = progress::steps(&bar);
    let records = match args.what {
        Benchmark::Young => bench::young(rounds, seed, &mut steps),
        Benchmark::Reclaim => bench::reclaim(rounds, seed, &mut steps),
        Benchmark::Mglru => bench::mglru(rounds, seed, &mut steps),
        Benchmark::Aging => bench::aging(rounds, seed, &mut steps),
        Benchmark::Machine => model::machine(rounds, args.measuring.runs, seed, &mut steps),
        Benchmark::FlushReach => model::flush_reach(),
        Benchmark::Scale => bench::scale(rounds, seed, &mut steps)?,
    };
    bar.finish_and_clear();
    let mut set = RecordSet::new(this_run(), records);
    set.records.extend(prediction.iter().flat_map(Prediction::records));
    let base = labels([(model::FLUSH, model::FLUSH_OF_ENTRY.to_owned())]);
    let compared = [(&set, &base)];
    let compared = if matches!(args.what, Benchmark::FlushReach) { &compared[..] } else { &[] };
    output::emit(&args.output, &set, compared, |set, width| {
        let options = Options { width, full: args.rows.full, ..Options::default() };
        let table = match args.what {
            Benchmark::Young => young_text(set, options),
            Benchmark::Reclaim => reclaim_text(set, options),
            Benchmark::Mglru => mglru_text(set, options),
            Benchmark::Aging => Ok(aging_text(set, width)),
            Benchmark::Machine => Ok(machine_text(set, width)),
            Benchmark::FlushReach => Ok(flush_reach_text(set, width)),
            Benchmark::Scale => Ok(scale_text(set, width)),
        };
        let score = prediction.as_ref().map(|prediction| prediction.score(set, width));
        Ok(table? + &score.map_or_else(String::new, |score| format!("\n{score}")))
    })
}

/// Predicts the rows of a benchmark, and prints the prediction if text is asked for.
fn predict(args: &BenchArgs) -> Result<Prediction, CliError> {
    let prediction = Prediction::of(args.what, args.measuring.seed)?;
    if args.output.is_text() {
        output::print_text(&prediction.text(terminal::columns()))?;
    }
    Ok(prediction)
}

fn young_text(set: &RecordSet, options: Options<'_>) -> Result<String, CliError> {
    let sweeps = tables::only(set, |record| record.scenario == bench::SWEEPS);
    let base = [("young".to_owned(), "per-entry".to_owned())].into();
    let table = render::comparison(&compare(&sweeps, &base, &DECLARED)?, options);
    Ok(format!(
        "{table}\n{}\n{}",
        tables::floors(set, options.width),
        tables::goals(set, options.width)
    ))
}

fn reclaim_text(set: &RecordSet, options: Options<'_>) -> Result<String, CliError> {
    let runs = tables::only(set, |record| record.scenario == ReclaimFile::NAME);
    let table = compare(&runs, &Variant::BEFORE.labels(Axes::Reclaim), &DECLARED)?;
    let fixed =
        tables::fixed(&table, WHOLE.name, &bench::FIXED.map(|stage| stage.name()), options.width);
    let table = render::comparison(&table, options);
    Ok(format!("{table}\n{fixed}{}", tables::goals(set, options.width)))
}

fn mglru_text(set: &RecordSet, options: Options<'_>) -> Result<String, CliError> {
    let runs = tables::only(set, |record| record.scenario == ReclaimFile::NAME);
    let table = compare(&runs, &Variant::MGLRU_BEFORE.labels(Axes::Reclaim), &DECLARED)?;
    let table = render::comparison(&table, options);
    Ok(format!(
        "{table}\n{}\n{}",
        tables::floors(set, options.width),
        tables::goals(set, options.width)
    ))
}

fn aging_text(set: &RecordSet, columns: usize) -> String {
    let powers = bench::GROWS_WITH.map(|with| format!("power of {with}"));
    let metrics = [bench::WALK, "entries visited", "leaf entries seen", "tables entered"];
    let walks = tables::figures(set, bench::WALKS, &metrics, columns);
    let powers = powers.each_ref().map(String::as_str);
    let powers = tables::figures(set, bench::WALKS, &powers, columns);
    let goals = tables::goals(set, columns);
    format!(
        "one aging walk, us, and what it counted\n\n{walks}\npowers of size by which its time \
         grows\n\n{powers}\n{goals}"
    )
}

fn machine_text(set: &RecordSet, columns: usize) -> String {
    let accesses = tables::figures(set, model::ACCESSES, &model::ACCESS_COLUMNS, columns);
    let programs = tables::figures(set, model::PROGRAMS, &model::PROGRAM_COLUMNS, columns);
    let goals = tables::goals(set, columns);
    let about = "\
        real programs in half of their memory, faults and reclaim included; rates are of this \
        CPU, by the accesses that the program made, and by those that were simulated: the trace \
        leaves out what hits";
    format!(
        "one access on one modelled core, ns of this CPU\n\n{accesses}\n{}\n{programs}\n{goals}",
        help::wrapped(about, "", columns)
    )
}

fn flush_reach_text(set: &RecordSet, columns: usize) -> String {
    let names = model::FLUSH_REACH_COLUMNS.map(|(name, _)| name);
    let table = tables::figures(set, model::FLUSH_REACH, &names, columns);
    let about = "\
        a run of four entries, one of them young, is checked and flushed (arm64), while programs \
        on other cores access it before each TLBI: what the TLBIs evict, at most, over all \
        schedules; valid entries are those whose page was accessed since it was made old";
    format!("{}\n{table}", help::wrapped(about, "", columns))
}

fn scale_text(set: &RecordSet, columns: usize) -> String {
    let memory = |fields: &Labels| {
        let scenarios = bench::scale_scenarios();
        let found = scenarios.iter().find(|one| one.labels() == *fields);
        found.map(|one| one.footprint().bytes())
    };
    let runs = tables::only(set, |record| record.scenario == ReclaimFile::NAME);
    let sizes = tables::sizes(&runs, WHOLE.name, memory, columns);
    format!("{sizes}\n{}", tables::goals(set, columns))
}
