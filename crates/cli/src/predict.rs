//! Times of a benchmark, predicted from counts and prices before they are measured.
//!
//! The program runs itself as a child that does each row once; every instruction of the child is
//! counted. Prices come from loops that are no part of the benchmark.

use crate::args::Benchmark;
use crate::error::CliError;
use crate::{progress, tables};
use clap::ValueEnum;
use pageout_calibrate::{Figure, Loop, WorkPrices};
use pageout_experiment::declare::Declared;
use pageout_experiment::metrics::{PER_PAGE, counted};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::variant::Axes;
use pageout_host::bench::figures::Measured;
use pageout_host::bench::{Predictable, Row};
use pageout_record::render::{Align, Grid, estimate, rounded};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record, RecordSet};
use pageout_record::stats::median;
use pageout_steps::{Classes, Regions, StepError};
use std::process::Command;

/// The environment variable of the child: [`LOOPS`], or the benchmark and the seed.
const CHILD: &str = "PAGEOUT_COUNTED";
/// The value for only the priced loops.
const LOOPS: &str = "loops";
/// The number of rounds of the loops that are priced.
const ROUNDS: usize = 101;
/// The factor within which a prediction counts as right.
const WITHIN: f64 = 1.25;
/// The scenario of predictions in records.
const PREDICTION: &str = "prediction";
/// The scenario of prices in records.
const PRICES: &str = "prices of work";
const PREDICTED: &str = "predicted reclaim";

/// Predictions of a benchmark's rows.
pub(crate) struct Prediction {
    prices: WorkPrices,
    seed: u64,
    /// Each row with the classes of its instructions, for all its pages, and the pages.
    rows: Vec<(Row, Classes, u64)>,
}

/// Runs the counted code if this process is the child; returns true if it was.
pub(crate) fn answered() -> Result<bool, CliError> {
    let Ok(asked) = std::env::var(CHILD) else { return Ok(false) };
    let regions = Regions::begin()?;
    for one in Loop::ALL {
        let mut run = one.prepare();
        // The second call is counted: the first one warms what is warm when it is timed.
        run();
        regions.count(run)?;
    }
    if asked == LOOPS {
        return Ok(true);
    }
    let (what, seed) = asked.split_once(' ').expect("the parent names benchmark and seed");
    let seed = seed.parse().expect("the parent gives a number");
    let what = Benchmark::from_str(what, false).expect("the parent knows the benchmark");
    let what = predictable(what).expect("the parent predicts it");
    for row in what.rows() {
        let mut failed = None;
        let pages =
            row.twice(seed, &mut |reclaim| failed = failed.take().or(regions.count(reclaim).err()));
        failed.map_or(Ok(()), Err)?;
        println!("{pages}");
    }
    Ok(true)
}

/// Returns the benchmark's name on the command line.
fn name(what: Benchmark) -> String {
    let value = what.to_possible_value().expect("every benchmark has a name");
    value.get_name().to_owned()
}

fn predictable(what: Benchmark) -> Option<Predictable> {
    match what {
        Benchmark::Reclaim => Some(Predictable::Reclaim),
        Benchmark::Mglru => Some(Predictable::Mglru),
        Benchmark::Young
        | Benchmark::Aging
        | Benchmark::Machine
        | Benchmark::FlushReach
        | Benchmark::Scale => None,
    }
}

/// Measures the prices of this CPU's work.
///
/// # Errors
/// [`StepError`] where instructions cannot be counted.
pub(crate) fn work_prices() -> Result<WorkPrices, StepError> {
    counted_child(LOOPS, 0).map(|(_, classes)| prices_of(&classes))
}

fn prices_of(loops: &[Classes]) -> WorkPrices {
    WorkPrices::measure(loops.try_into().expect("the child runs every loop first"), ROUNDS)
}

/// Runs this program as the child, with `more` regions after the loops.
fn counted_child(asked: &str, more: usize) -> Result<(String, Vec<Classes>), StepError> {
    let program = std::env::current_exe();
    let failed = |source| StepError::System { what: "this program's file", source };
    let mut child = Command::new(program.map_err(failed)?);
    let most = 1 + Loop::ALL.len() + more;
    let bar = progress::bar("counting instructions");
    let mut steps = progress::steps(&bar);
    let counted = pageout_calibrate::count(child.env(CHILD, asked), &mut |done| steps(done, most));
    bar.finish_and_clear();
    counted
}

impl Prediction {
    /// Counts every row's instructions and measures the prices.
    ///
    /// # Errors
    /// [`CliError::NotPredicted`] for another benchmark, [`StepError`] where instructions cannot be
    /// counted.
    pub(crate) fn of(what: Benchmark, seed: u64) -> Result<Self, CliError> {
        let name = name(what);
        let asked = format!("{name} {seed}");
        let rows = predictable(what).ok_or(CliError::NotPredicted(name))?.rows();
        let (pages, classes) = counted_child(&asked, 2 * rows.len())?;
        let (loops, of_rows) = classes.split_at(Loop::ALL.len());
        let pages = pages.lines().map(|line| line.parse().expect("the child prints numbers"));
        assert_eq!(of_rows.len(), 2 * rows.len(), "two regions for each row");
        let more = of_rows.chunks_exact(2).map(|two| two[1] - two[0]);
        let rows: Vec<_> =
            rows.into_iter().zip(more).zip(pages).map(|((row, of), n)| (row, of, n)).collect();
        Ok(Self { prices: prices_of(loops), seed, rows })
    }

    /// Prices, and the prediction of each row.
    pub(crate) fn text(&self, columns: usize) -> String {
        let heads = [("price of", Align::Left), ("ns", Align::Right), ("range", Align::Right)];
        let mut grid = Grid::new(heads);
        for (what, figure) in self.prices.named() {
            let [median, low, high] = estimate(figure.median, [figure.low, figure.high]);
            grid.row([what.to_owned(), median, format!("{low} to {high}")]);
        }
        let set = RecordSet::new(crate::this_run::this_run(), self.records());
        let metrics = ["instructions", "atomics", "lines touched first", PREDICTED];
        format!(
            "prices of this CPU, from loops that are not in the benchmark\n\n{}\npredicted before \
             it is measured, per 4K page; {PREDICTED} in ns\n\n{}\n",
            grid.text(columns),
            tables::figures(&set, PREDICTION, &metrics, columns)
        )
    }

    /// Predictions beside measurements, and how many are within [`WITHIN`].
    pub(crate) fn score(&self, measured: &RecordSet, columns: usize) -> String {
        let figures = Measured { records: &measured.records };
        let mut right = 0;
        let mut records = Vec::new();
        for (row, classes, pages) in &self.rows {
            let times = figures.metric(&row.scenario, row.variant, WHOLE.name);
            let Some(found) = median(&times) else { continue };
            let predicted = self.ns(*classes, *pages);
            let factor = predicted / found;
            right += usize::from((1.0 / WITHIN..=WITHIN).contains(&factor));
            let of = |name: &str, unit: &str, basis, value| {
                Metric::new(name, unit, basis, Better::Lower, vec![value])
            };
            let metrics = vec![
                of("predicted", WHOLE.unit, Basis::Modelled, predicted),
                of("measured", WHOLE.unit, Basis::Measured, found),
                of("predicted / measured", "times", Basis::Modelled, factor),
            ];
            records.push(self.record(row, metrics));
        }
        let all = records.len();
        let set = RecordSet::new(measured.run.clone(), records);
        let metrics = ["predicted", "measured", "predicted / measured"];
        format!(
            "{right} of {all} predictions within {} times; whole reclaim, ns per 4K page\n\n{}",
            rounded(WITHIN),
            tables::figures(&set, PREDICTION, &metrics, columns)
        )
    }

    /// Returns the prices and predictions as records.
    pub(crate) fn records(&self) -> Vec<Record> {
        let price = |(what, figure): (&str, Figure)| {
            Metric::new(what, "ns", Basis::Measured, Better::Lower, vec![figure.median])
        };
        let prices = Record {
            scenario: PRICES.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: Labels::new(),
            variant: Labels::new(),
            metrics: self.prices.named().map(price).into(),
        };
        let predictions = self.rows.iter().map(|(row, classes, pages)| {
            let each = |name: &str, count| {
                counted(name, PER_PAGE, count as f64 / *pages as f64, Better::Lower)
            };
            let ns = vec![self.ns(*classes, *pages)];
            let metrics = vec![
                each("instructions", classes.instructions),
                each("atomics", classes.atomics),
                each("lines touched first", classes.lines),
                Metric::new(PREDICTED, WHOLE.unit, Basis::Modelled, Better::Lower, ns),
            ];
            self.record(row, metrics)
        });
        std::iter::once(prices).chain(predictions).collect()
    }

    /// Returns the predicted nanoseconds for each page.
    fn ns(&self, classes: Classes, pages: u64) -> f64 {
        self.prices.ns(classes) / pages as f64
    }

    fn record(&self, row: &Row, metrics: Vec<Metric>) -> Record {
        Record {
            scenario: PREDICTION.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: row.scenario.labels(),
            variant: row.variant.labels(Axes::Reclaim),
            metrics,
        }
    }
}
