//! Constants fitted on figures: what prices would meet them, and what is left of that without each
//! thread. No prediction uses them.

use super::figure::{Figure, Theirs, Thread};
use super::figures::all;
use super::material::Material;
use super::reclaim::Cost;
use super::step::Step;
use pageout_experiment::metrics::{NS_PER_PAGE, labels, measured};
use pageout_machine::platform::{Draw, InvalidationPrices};
use pageout_record::render::{Align, Grid, rounded};
use pageout_record::schema::{Basis, Ground, Labels, Metric, Record, RecordSet};

/// The scenario of the fits' records.
const NAME: &str = "reproduce: fit";
/// What a fit chooses, in nanoseconds.
const CONSTANTS: [&str; 2] = ["instruction", "tlbi_issue"];
/// The threads that were left out in turn; of the others no figure is fitted on.
const LEFT_OUT: [Option<Thread>; 3] = [None, Some(Thread::S0), Some(Thread::S1)];

/// The numbers fitted on: of each figure, before or after. A chain of steps counts each state once.
pub(super) const FITTED_ON: [(&str, End, Step); 5] = [
    ("s0-young-arm64", End::Before, Step::Stock),
    ("s0-young-arm64", End::After, Step::Young),
    ("s0-unmap-arm64", End::After, Step::Unmap),
    ("s1-mglru-arm64", End::Before, Step::MglruUnmap),
    ("s1-mglru-arm64", End::After, Step::Mglru),
];

/// Which number of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Before,
    After,
}

/// A number fitted on: `instruction · a + tlbi_issue · b + rest`, beside what the thread has. The
/// core that reclaims waits for no other there, so that the machine's time is linear in both.
#[derive(Clone, Debug)]
struct Point {
    name: String,
    thread: Thread,
    coefficients: [f64; 2],
    rest: f64,
    theirs: f64,
}

/// The fits: on all figures, and without each thread in turn.
pub(super) fn records(material: &Material) -> Vec<Record> {
    let points: Result<Vec<_>, _> =
        FITTED_ON.into_iter().map(|number| Point::of(number, material)).collect();
    let points = points.expect("the numbers fitted on have costs");
    let fits = LEFT_OUT.into_iter().map(|left_out| record(&points, left_out));
    [theirs(&points)].into_iter().chain(fits).collect()
}

impl Point {
    fn of((id, end, step): (&str, End, Step), material: &Material) -> Result<Self, String> {
        let figure: &Figure = all().find(|figure| figure.id == id).ok_or("an unknown figure")?;
        let Theirs::Costs { before, after, .. } = figure.theirs else {
            return Err(format!("{id} has no costs"));
        };
        let (name, theirs) = match end {
            End::Before => (format!("{id} before"), before),
            End::After => (format!("{id} after"), after),
        };
        let platform = material.platform(figure)?;
        let prices = platform.prices(Draw::Nominal);
        let InvalidationPrices::Broadcast(broadcast) = &prices.invalidation else {
            return Err(format!("{id} is of a machine without TLBI"));
        };
        let Cost { time, instructions, broadcasts } = material.reclaim.cost(figure, step)?;
        let fitted =
            instructions * prices.instruction.ns() + broadcasts * broadcast.tlbi_issue.ns();
        Ok(Self {
            name,
            thread: figure.thread,
            coefficients: [instructions, broadcasts],
            rest: time.0 - fitted,
            theirs,
        })
    }

    fn at(&self, constants: [f64; 2]) -> f64 {
        let [a, b] = self.coefficients;
        a * constants[0] + b * constants[1] + self.rest
    }
}

/// Sum of squared logarithms of ours over theirs.
fn misfit(points: &[&Point], constants: [f64; 2]) -> f64 {
    points.iter().map(|point| (point.at(constants) / point.theirs).ln().powi(2)).sum()
}

/// The constants of the least misfit, by a search that steps in their logarithms and halves its
/// steps where none helps.
fn fit(points: &[&Point]) -> [f64; 2] {
    let mut best = [0.28, 20.0];
    let mut step = 1.0_f64;
    while step > 1e-6 {
        let tries =
            [[step, 0.0], [-step, 0.0], [0.0, step], [0.0, -step], [step, -step], [-step, step]];
        let moved = tries.map(|[x, y]: [f64; 2]| {
            [(best[0] * x.exp()).clamp(1e-3, 1e2), (best[1] * y.exp()).clamp(1e-3, 1e5)]
        });
        let least =
            moved.into_iter().min_by(|a, b| misfit(points, *a).total_cmp(&misfit(points, *b)));
        match least.filter(|least| misfit(points, *least) < misfit(points, best)) {
            Some(least) => best = least,
            None => step /= 2.0,
        }
    }
    best
}

fn record(points: &[Point], left_out: Option<Thread>) -> Record {
    let is_used = |point: &Point| Some(point.thread) != left_out;
    let used: Vec<_> = points.iter().filter(|point| is_used(point)).collect();
    let constants = fit(&used);
    let metric =
        |name: &str, unit: &str, basis, value| Metric { basis, ..measured(name, unit, &[value]) };
    let mut metrics: Vec<_> = CONSTANTS
        .into_iter()
        .zip(constants)
        .map(|(name, value)| metric(name, "ns", Basis::Fitted, value))
        .collect();
    for point in points {
        let basis = if is_used(point) { Basis::Fitted } else { Basis::Modelled };
        metrics.push(metric(&point.name, NS_PER_PAGE, basis, point.at(constants)));
    }
    let on =
        left_out.map_or_else(|| "all".to_owned(), |thread| format!("without {}", thread.name()));
    Record {
        scenario: NAME.to_owned(),
        ground: Ground::Model,
        seed: 0,
        fields: labels([("fitted on", on)]),
        variant: Labels::new(),
        metrics,
    }
}

/// What the threads have of the points.
fn theirs(points: &[Point]) -> Record {
    let metric = |point: &Point| Metric {
        basis: Basis::Published,
        source: Some(point.thread.about().to_owned()),
        ..measured(&point.name, NS_PER_PAGE, &[point.theirs])
    };
    Record {
        scenario: NAME.to_owned(),
        ground: Ground::Published,
        seed: 0,
        fields: Labels::new(),
        variant: Labels::new(),
        metrics: points.iter().map(metric).collect(),
    }
}

/// The fits of a record set, or nothing.
pub(super) fn table(set: &RecordSet, columns: usize) -> String {
    let on = |wanted: Ground| {
        let these = move |record: &&Record| record.scenario == NAME && record.ground == wanted;
        set.records.iter().filter(these)
    };
    let fits = || on(Ground::Model);
    if fits().next().is_none() {
        return String::new();
    }
    let right = |header: &str| (header.to_owned(), Align::Right);
    let fitted = fits().map(|fit| right(&fit.fields["fitted on"]));
    let head = ["constant or figure", "unit"].map(|header| (header.to_owned(), Align::Left));
    let mut grid = Grid::new(head.into_iter().chain([right("theirs")]).chain(fitted));
    let names = fits().flat_map(|fit| &fit.metrics).map(|metric| &metric.name);
    let mut seen: Vec<&String> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let of = |fit: &Record, name: &str| {
            fit.metrics.iter().find(|metric| metric.name == name).cloned()
        };
        let theirs = on(Ground::Published).find_map(|theirs| of(theirs, name));
        let ours = fits().map(|fit| of(fit, name).map_or_else(|| "-".to_owned(), cell));
        let unit = fits().find_map(|fit| of(fit, name)).map_or(String::new(), |metric| metric.unit);
        let theirs = theirs.map_or_else(|| "-".to_owned(), |metric| rounded(metric.values[0]));
        grid.row([name.clone(), unit, theirs].into_iter().chain(ours));
    }
    format!(
        "fitted: two constants of the arm64 platform on the times of S0 and S1 ({} of the numbers; \
         no other thread's)\n\n{}*: not fitted on\n\n",
        FITTED_ON.len(),
        grid.text(columns)
    )
}

/// A number of a fit, marked where it was left out.
fn cell(metric: Metric) -> String {
    let mark = if metric.basis == Basis::Modelled { "*" } else { "" };
    format!("{mark}{}", rounded(metric.values[0]))
}
