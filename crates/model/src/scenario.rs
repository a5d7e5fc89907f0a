//! Scenarios that only this ground runs: their interface, and their records.

use super::{Model, ModelRun, first_run};
use pageout_experiment::declare::{Checked, read};
use pageout_experiment::fields::FieldError;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::FormatName;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::spread::spread;
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Axes, Variant};
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_record::schema::{Ground, Labels, Metric, Record};
use std::ops::Deref;

/// A scenario on a machine. It dereferences to the scenario.
#[derive(Clone, Debug)]
pub struct OnMachine<S> {
    scenario: S,
    /// The machine.
    pub platform: Platform,
}

impl<S> OnMachine<S> {
    /// Makes a scenario on this machine.
    pub const fn new(scenario: S, platform: Platform) -> Self {
        Self { scenario, platform }
    }
}

/// A declared scenario that modelled machines run.
pub trait Modelled: Checked {
    /// Returns the lists of values when nothing is given.
    fn lists(model: &Model) -> Self::Lists;

    /// Returns the format of the entries of its page tables.
    fn format(&self) -> FormatName;

    /// Returns the machine that the scenario runs on.
    ///
    /// # Errors
    /// [`FieldError`] for a format that does not fit the machine.
    fn platform(&self, model: &Model) -> Result<Platform, FieldError> {
        model.platform_for(self.format())
    }
}

impl<S: Modelled> OnMachine<S> {
    /// Reads scenarios from `FIELD=VALUE` arguments. A field may have several values, separated by
    /// commas; every combination is one scenario.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut lists = S::lists(model);
        read::<S>(arguments, &mut lists)?;
        Self::all(&lists, model)
    }

    /// Returns every combination of `lists`, each on its machine.
    ///
    /// # Errors
    /// [`FieldError`], also for a format that does not fit the machine.
    pub fn all(lists: &S::Lists, model: &Model) -> Result<Vec<Self>, FieldError> {
        let on = |scenario: S| Ok(Self { platform: scenario.platform(model)?, scenario });
        S::combined(lists)?.into_iter().map(on).collect()
    }
}

impl<S> Deref for OnMachine<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.scenario
    }
}

/// A scenario that runs on modelled machines.
pub trait Scenario: Sync {
    /// The outcome of a run.
    type Outcome: Send;
    /// The scenario's name in records.
    const NAME: &'static str;
    /// The metric by which the scenario is judged.
    const WHOLE: MetricSpec;

    /// Returns the scenario's fields as labels of records, with the machine's.
    fn labels(&self, model: &Model) -> Labels;

    /// Returns the machine.
    fn platform(&self) -> &Platform;

    /// Returns the memory that a run of it takes, table by table.
    fn footprint(&self, model: &Model) -> Footprint;

    /// Runs the scenario once.
    fn run(&self, model: &Model, variant: Variant, one: ModelRun) -> Self::Outcome;

    /// Returns the metrics of runs with nominal prices, and of one run for each draw.
    fn metrics(&self, nominal: &[Self::Outcome], drawn: &[Self::Outcome]) -> Vec<Metric>;

    /// Returns [`WHOLE`](Self::WHOLE) of a run, in its unit.
    fn whole(outcome: &Self::Outcome) -> f64;

    /// Returns the machine's report at the end of a run.
    fn report(outcome: &Self::Outcome) -> &Report;

    /// Runs every scenario under every variant, and returns a record for each.
    fn records(
        all: &[Self],
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<Record>
    where
        Self: Sized,
    {
        let runs = model.all_runs();
        let each = all.iter().flat_map(|one| variants.iter().map(move |variant| (one, *variant)));
        let each: Vec<_> = each.collect();
        let outcomes = spread(each.len() * runs.len(), model.threads, progress, |k| {
            let (one, variant) = each[k / runs.len()];
            one.run(model, variant, runs[k % runs.len()])
        });
        let of_each = each.iter().zip(outcomes.chunks(runs.len()));
        let metrics = |one: &Self, nominal: &[Self::Outcome], drawn: &[Self::Outcome]| {
            let mut metrics = one.metrics(nominal, drawn);
            metrics.extend(first_run::metrics(Self::report(&nominal[0])));
            metrics
        };
        let record = |((one, variant), outcomes): (&(&Self, Variant), &[Self::Outcome])| {
            let (nominal, drawn) = outcomes.split_at(model.runs as usize);
            Record {
                scenario: Self::NAME.to_owned(),
                ground: Ground::Model,
                seed: model.seed,
                fields: one.labels(model),
                variant: variant.labels(Axes::Reclaim),
                metrics: metrics(one, nominal, drawn),
            }
        };
        of_each.map(record).collect()
    }

    /// Checks that there is memory for all runs that run at once.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    fn check_memory(all: &[Self], variants: usize, model: &Model) -> Result<(), FieldError>
    where
        Self: Sized,
    {
        let mut all: Vec<u64> = all.iter().map(|one| one.footprint(model).bytes()).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let runs = variants * model.all_runs().len();
        let largest = all.into_iter().flat_map(|bytes| std::iter::repeat_n(bytes, runs));
        let needed = largest.take(model.threads.get()).fold(0, u64::saturating_add);
        this_machine::check_memory(needed)
            .map_err(|problem| FieldError::together(Self::NAME, problem))
    }

    /// Returns where the time of the first run goes, as folded stacks in nanoseconds.
    fn folded(&self, model: &Model, variant: Variant) -> String {
        let outcome = self.run(model, variant, model.all_runs()[0]);
        Self::report(&outcome).folded_lines()
    }
}
