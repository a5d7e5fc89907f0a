//! Runs, and what records tell of them.

use super::AccessPatterns;
use super::program::{Program, Shared, Tally};
use super::setup::Setup;
use crate::{Kernel, Model, One, Scenario as _, Swap, interval};
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::Use;
use pageout_experiment::scenarios::metrics::access_patterns::{ALL, TIME};
use pageout_experiment::spread::spread;
use pageout_experiment::variant::Variant;
use pageout_host::layout::Arena;
use pageout_machine::platform::Draw;
use pageout_machine::{CoreId, Machine, Report, Task, TaskSpec, Time};
use pageout_paging::Stage;
use pageout_reclaim::{Counter, MemcgId};
use pageout_record::schema::Metric;
use std::cell::Cell;

const PROGRAM: &str = "program";
const RECLAIM: &str = "kswapd";
const FLUSHER: &str = "flusher";
/// The same tasks while memory is filled.
const BEFORE: [&str; 3] = ["warm-up", "kswapd, warm-up", "flusher, warm-up"];

/// What one run came to.
#[derive(Debug)]
pub struct Outcome {
    /// In the order of [`ALL`].
    values: [f64; ALL.len()],
    /// At its end.
    pub(super) report: Report,
}

impl Outcome {
    /// Nanoseconds a use.
    const fn time(&self) -> f64 {
        self.values[0]
    }
}

/// The times of a use of a page in one test under one policy.
#[derive(Clone, Debug)]
pub struct Times {
    /// A value a run, with nominal prices.
    pub nominal: Vec<f64>,
    /// Those of each draw of prices, a value a run.
    pub drawn: Vec<Vec<f64>>,
}

/// Every scenario under every variant, in that order: the runs of the model, and with each of its
/// draws of prices `each` runs, with seeds of their own: what varies from run to run is in what
/// varies from draw to draw.
pub(super) fn times(
    all: &[AccessPatterns],
    variants: &[Variant],
    model: &Model,
    each: u32,
) -> Vec<Times> {
    let seeds = |from: u64, runs: u32| {
        (0..u64::from(runs)).map(move |run| model.seed.wrapping_add(from + run))
    };
    let nominal = seeds(0, model.runs).map(|seed| One { draw: Draw::Nominal, seed });
    let drawn = (0..u64::from(model.draws)).flat_map(|draw| {
        let runs = seeds(draw * u64::from(each), each);
        runs.map(move |seed| One { draw: model.draw(draw), seed })
    });
    let runs: Vec<_> = nominal.chain(drawn).collect();
    let each_one = all.iter().flat_map(|one| variants.iter().map(move |variant| (one, *variant)));
    let each_one: Vec<_> = each_one.collect();
    let all = spread(each_one.len() * runs.len(), model.threads, &mut |_, _| (), |k| {
        let (one, variant) = each_one[k / runs.len()];
        one.run(model, variant, runs[k % runs.len()]).time()
    });
    let times = |of_one: &[f64]| {
        let (nominal, drawn) = of_one.split_at(model.runs as usize);
        let drawn = drawn.chunks(each as usize).map(<[f64]>::to_vec).collect();
        Times { nominal: nominal.to_vec(), drawn }
    };
    all.chunks(runs.len()).map(times).collect()
}

/// The metrics of one scenario under one variant.
pub(super) fn metrics(nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
    let times: Vec<_> = drawn.iter().map(Outcome::time).collect();
    let mut metrics = Vec::new();
    for (k, metric) in ALL.into_iter().enumerate() {
        let values: Vec<_> = nominal.iter().map(|outcome| outcome.values[k]).collect();
        let interval = if metric.drawn { interval(&times) } else { None };
        metrics.push(Metric { interval, ..metric.of(&values) });
    }
    if !times.is_empty() {
        metrics.push(TIME.of_draws(&times));
    }
    metrics
}

impl AccessPatterns {
    pub(super) fn run_as<F: Arch>(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        self.run_on::<F>(&mut self.arena::<F>(), model, variant, one)
    }

    fn run_on<'a, F: Arch>(
        &self,
        arena: &'a mut Arena,
        model: &Model,
        variant: Variant,
        one: One,
    ) -> Outcome {
        let caps = self.platform.shape().caps::<F>();
        let setup = self.build::<F>(arena, variant, caps);
        let machine = Machine::new(model.setup(&self.platform, one), setup.ground.env.tables());
        let kernel = Kernel::new::<F>(setup.ground.supply, Swap::Device);
        let shared = Shared::new(&setup, &kernel, variant.tuning(F::FLUSH));
        let (order, cores) = (self.order(one.seed), machine.shape().cores);
        let fill = |task: &Task<'_, 'a, F>| {
            Program::warm_up(self, &shared, task, &order.warm_up);
        };
        let before = machine.run(beside(&shared, cores, BEFORE, TaskSpec::new(BEFORE[0], fill)));
        let counted = counted(&setup);
        let tally = Cell::new(Tally::default());
        let uses = |task: &Task<'_, 'a, F>| {
            tally.set(Program::run(self, &shared, task, &order.measured));
        };
        shared.over.set(false);
        let names = [PROGRAM, RECLAIM, FLUSHER];
        let after = machine.run(beside(&shared, cores, names, TaskSpec::new(PROGRAM, uses)));
        let counts = self::counted(&setup);
        let of_pages = std::array::from_fn(|k| counts[k] - counted[k]);
        let values = self.values(tally.get(), &before, &after, of_pages);
        Outcome { values, report: after }
    }

    /// In the order of [`ALL`].
    fn values(&self, of: Tally, before: &Report, after: &Report, pages: Pages) -> [f64; ALL.len()] {
        let (uses, time) = (of.uses as f64, of.time.ns());
        let [refaults, examined, reclaimed, directly] = pages.map(|nr| nr as f64 / uses);
        let share = |of: Time| 100.0 * of.ns() / time;
        let own = |named: &str| ["invalidate", "wait"].contains(&named);
        let hidden = after.hidden.since(&before.hidden);
        let us = |time: Option<Time>| time.unwrap_or(Time::ZERO).ns() / 1000.0;
        let each = |of: fn(&Report) -> u64| (of(after) - of(before)) as f64 / uses;
        let page = f64::from(1_u32 << self.format.page_shift());
        let read = each(|report| report.read) / page;
        let written =
            if self.access == Use::Write { each(|report| report.written) / page } else { 0.0 };
        [
            time / uses,
            time / 1e6,
            share(below(after, RECLAIM, |_| true)),
            share(below(after, RECLAIM, own)),
            share(below(after, PROGRAM, reclaims)),
            share(below(after, FLUSHER, |_| true)),
            share(after.cores[0].stolen.since(before.cores[0].stolen)),
            us(hidden.quantile(0.5)),
            us(hidden.quantile(0.9)),
            us(hidden.quantile(0.99)),
            us(Some(hidden.longest())),
            hidden.ended() as f64,
            hidden.accesses as f64,
            of.mistakes as f64,
            of.faults as f64 / uses,
            read,
            written,
            refaults,
            examined,
            reclaimed,
            directly,
            each(|report| report.counts.broadcasts),
            each(|report| report.counts.overflows),
            each(|report| report.counts.barriers),
            each(|report| report.counts.interrupts),
            of.throttled as f64,
            of.stalls as f64,
        ]
    }
}

/// Pages that came back, were examined, were reclaimed, and of these directly.
type Pages = [u64; 4];

fn counted<F>(setup: &Setup<'_, F>) -> Pages {
    let vmstat = setup.ground.maps.memcg(MemcgId::ROOT).vmstat();
    let sum = |counters: &[Counter]| counters.iter().map(|counter| vmstat.get(*counter)).sum();
    [
        sum(&[Counter::WorkingsetRefaultFile]),
        sum(&[Counter::PgscanDirect, Counter::PgscanKswapd]),
        sum(&[Counter::PgstealDirect, Counter::PgstealKswapd]),
        sum(&[Counter::PgstealDirect]),
    ]
}

/// The program on the first core, and what runs beside it on the next two, if there are as many.
fn beside<'x, 'a, F: Arch>(
    shared: &'x Shared<'_, 'a, F>,
    cores: u16,
    names: [&str; 3],
    program: TaskSpec<'x, 'a, F>,
) -> Vec<TaskSpec<'x, 'a, F>> {
    let last = |wanted: u16| CoreId(wanted.min(cores - 1));
    vec![
        program.on(CoreId(0)),
        TaskSpec::new(names[1], |task: &Task<'_, 'a, F>| shared.reclaims(task)).on(last(1)),
        TaskSpec::new(names[2], |task: &Task<'_, 'a, F>| shared.flushes(task)).on(last(2)),
    ]
}

/// The time of a task in frames of which one, below the task, is wanted.
fn below(report: &Report, task: &str, wanted: impl Fn(&str) -> bool) -> Time {
    let of = |path: &[&str]| {
        let below = &path[1..];
        below.is_empty() && wanted("") || below.iter().any(|frame| wanted(frame))
    };
    report.task(task).map_or(Time::ZERO, |task| task.at(&of))
}

/// Whether a frame is a stage of reclaim: within the program, what it reclaims itself.
fn reclaims(frame: &str) -> bool {
    Stage::ALL.iter().any(|stage| *stage != Stage::Other && stage.name() == frame)
}
