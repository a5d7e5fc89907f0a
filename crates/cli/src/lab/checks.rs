//! Checks of each patch of a series, and their outcomes.

use super::ktap::{Outcome, Point, Subtest};
use super::tables::of_kernel;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::this_run::this_run;
use pageout_lab::{
    Attempted, BASE, Bench, BootError, BuildError, Fault, Kernel, LabError, MachineError, NotBuilt,
    Ran, SearchError, Workload,
};
use pageout_record::compare::{Comparison, Row, Summary, compare};
use pageout_record::render::{Labelling, exact};
use pageout_record::schema::{Better, Record, RecordSet};

/// Scenarios that every kernel of a series runs besides the one asked for.
const CHECKS: [(&str, &[&str]); 2] =
    [(HELPER_CALLS, &[]), (MIXED_MAPPINGS, &["lru=classic,mglru"])];
const HELPER_CALLS: &str = "helper-calls";
const MIXED_MAPPINGS: &str = "mixed-mappings";

/// The points before a kernel runs anything.
pub(super) const MADE: [&str; 3] = ["applies", "builds", "boots"];

/// The helpers that `helper-calls` counts. A patch may add a helper, and thereby call another less
/// often.
const HELPERS: [&str; 4] = [
    "clear_flush_young_ptes",
    "test_and_clear_young_ptes",
    "ptep_clear_flush_young",
    "ptep_test_and_clear_young",
];

/// Returns the runs of the checks.
pub(super) fn runs() -> Vec<Bench> {
    let of = |(scenario, fields): (&str, &[&str])| {
        let workload = Workload::named(scenario).expect("a scenario of the lab's");
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        Bench::parse(workload, &fields).expect("the fields are the scenario's")
    };
    CHECKS.into_iter().flat_map(of).collect()
}

/// Returns the results of each kernel under its title, except the first, which is the base.
pub(super) fn results(
    kernels: &[Kernel],
    titles: &[String],
    plan: &[Bench],
    attempted: &Attempted,
) -> Result<Vec<Subtest>, CliError> {
    let of = |name| runs().into_iter().filter(|run| run.workload.name() == name).collect();
    let groups = [
        ("helper calls", of(HELPER_CALLS)),
        ("mixed mappings", of(MIXED_MAPPINGS)),
        ("counters of the scenario", plan.to_vec()),
    ];
    let groups: Vec<Group<'_>> = groups
        .into_iter()
        .map(|(name, runs)| Group::new(name, &runs, attempted))
        .collect::<Result<_, _>>()?;
    let of_kernel = |(kernel, title): (&Kernel, &String)| {
        let ran = attempted.ran.iter().filter(|ran| ran.kernel == kernel.name);
        let ran = ran.map(|ran| ran.outcome.as_ref().err()).collect();
        let of = OfKernel { name: &kernel.name, kernels, not_built: &attempted.not_built, ran };
        of.subtest(title, |boots| {
            groups.iter().map(|group| (group.name, group.outcome(&kernel.name, boots))).collect()
        })
    };
    Ok(kernels.iter().zip(titles).skip(1).map(of_kernel).collect())
}

/// A kernel of a series, and its runs.
pub(super) struct OfKernel<'a> {
    pub(super) name: &'a str,
    /// All kernels of the series.
    pub(super) kernels: &'a [Kernel],
    pub(super) not_built: &'a [NotBuilt],
    /// The errors of those of its runs that failed.
    pub(super) ran: Vec<Option<&'a LabError>>,
}

impl OfKernel<'_> {
    /// Returns the points of being made, and those that follow from its runs: `found` gets the
    /// outcome of booting.
    pub(super) fn subtest(
        &self,
        title: &str,
        found: impl FnOnce(&Outcome) -> Vec<(&'static str, Outcome)>,
    ) -> Subtest {
        let boots = self.boots();
        let found = found(&boots);
        let made = MADE.into_iter().zip([self.applies(), self.builds(), boots]);
        let points = made.chain(found).map(|(name, outcome)| Point { name, outcome }).collect();
        Subtest { title: title.to_owned(), points }
    }

    /// Returns the error of a kernel that was not built.
    fn failure(&self, name: &str) -> Option<&LabError> {
        let is_of = |names: &Vec<String>| names.iter().any(|one| one == name);
        let found = self.not_built.iter().find(|of| is_of(&of.kernels));
        found.map(|of| &of.error)
    }

    /// Returns the first kernel whose patches do not apply, if this one has them too.
    fn misfit(&self) -> Option<&str> {
        let place = |name: &str| self.kernels.iter().position(|kernel| kernel.name == name);
        let names = self.kernels.iter().map(|kernel| kernel.name.as_str());
        let mut misfits = names.filter(|name| self.failure(name).is_some_and(is_misfit));
        misfits.next().filter(|first| place(first) <= place(self.name))
    }

    fn applies(&self) -> Outcome {
        match (self.misfit(), self.failure(self.name)) {
            (Some(first), Some(error)) if first == self.name => not_ok(error),
            (Some(first), _) => Outcome::Skipped(format!("{first} does not apply")),
            (None, _) => Outcome::Ok,
        }
    }

    fn builds(&self) -> Outcome {
        match (self.misfit(), self.failure(self.name), self.ran.first()) {
            (Some(_), ..) => Outcome::Skipped("it does not apply".to_owned()),
            (None, Some(error), _) => not_ok(error),
            (None, None, Some(_)) => Outcome::Ok,
            (None, None, None) => not_run(),
        }
    }

    fn boots(&self) -> Outcome {
        let is_built = self.misfit().or(self.failure(self.name).map(|_| self.name)).is_none();
        let is_up = |error: &Option<&LabError>| error.is_none_or(|error| !is_down(error));
        match (self.ran.iter().any(is_up), self.ran.first().copied().flatten()) {
            (true, _) => Outcome::Ok,
            (false, Some(error)) => not_ok(error),
            (false, None) if is_built => not_run(),
            (false, None) => Outcome::Skipped("it is not built".to_owned()),
        }
    }
}

/// Returns the outcome of a point of a kernel's runs, unless the kernel boots.
pub(super) fn unless_booted(boots: &Outcome) -> Option<Outcome> {
    match boots {
        Outcome::Ok | Outcome::Expected(_) => None,
        Outcome::NotOk(_) => Some(Outcome::Skipped("it does not boot".to_owned())),
        Outcome::Skipped(why) => Some(Outcome::Skipped(why.clone())),
    }
}

/// Returns true if the error is that patches do not apply.
fn is_misfit(error: &LabError) -> bool {
    matches!(error, LabError::Build(BuildError::Patch(_)))
}

/// Returns true if the machine did not start the workload, or did not finish the benchmark.
fn is_down(error: &LabError) -> bool {
    match error {
        LabError::Boot(BootError::Failed(failed)) => matches!(
            failed.fault,
            Fault::Panic(_)
                | Fault::Init(_)
                | Fault::Early { .. }
                | Fault::TimeLimit { .. }
                | Fault::Output { .. }
                | Fault::Silent { .. }
        ),
        LabError::Search(SearchError::Machine(MachineError::NeverBegins { .. })) => true,
        _ => false,
    }
}

fn not_ok(error: &LabError) -> Outcome {
    Outcome::NotOk(vec![error.to_string()])
}

pub(super) fn not_run() -> Outcome {
    Outcome::Skipped("the command ended before".to_owned())
}

/// The runs whose outcome is one point.
struct Group<'a> {
    name: &'static str,
    ran: Vec<&'a Ran>,
    /// The number of runs that each kernel must have.
    wanted: usize,
    /// The comparison of the kernels with the base, if the base's run ended.
    compared: Option<Comparison>,
}

impl<'a> Group<'a> {
    fn new(name: &'static str, runs: &[Bench], attempted: &'a Attempted) -> Result<Self, CliError> {
        let ran = attempted.ran.iter().filter(|ran| runs.contains(&ran.bench));
        let ran: Vec<&Ran> = ran.collect();
        let of_base = || ran.iter().filter(|ran| ran.kernel == BASE);
        let wanted = of_base().count();
        let is_whole = of_base().all(|ran| ran.outcome.is_ok()) && wanted > 0;
        let counts = |record: &Record| {
            let is_count =
                |name: &str, better| better == Better::Neither && !HELPERS.contains(&name);
            let mut record = record.clone();
            record.metrics.retain(|metric| is_count(&metric.name, metric.better));
            record
        };
        let records = ran.iter().filter_map(|ran| ran.outcome.as_ref().ok()).flatten();
        let set = RecordSet::new(this_run(), records.map(counts).collect());
        let compared =
            if is_whole { Some(compare(&set, &of_kernel(BASE), &DECLARED)?) } else { None };
        Ok(Self { name, ran, wanted, compared })
    }

    fn outcome(&self, kernel: &str, boots: &Outcome) -> Outcome {
        if let Some(outcome) = unless_booted(boots) {
            return outcome;
        }
        let ran: Vec<&&Ran> = self.ran.iter().filter(|ran| ran.kernel == kernel).collect();
        let errors = ran.iter().filter_map(|ran| ran.outcome.as_ref().err());
        let errors = errors.map(LabError::to_string);
        let why: Vec<String> = errors.chain(self.differences(kernel)).collect();
        match why.is_empty() {
            false => Outcome::NotOk(why),
            true if ran.len() < self.wanted || self.compared.is_none() => not_run(),
            true => Outcome::Ok,
        }
    }

    /// Returns a line for each count that differs from the base's.
    fn differences(&self, kernel: &str) -> Vec<String> {
        let Some(compared) = &self.compared else { return Vec::new() };
        let Some(column) = compared.others.iter().position(|other| other == kernel) else {
            return Vec::new();
        };
        let labels = Labelling::of(&compared.rows);
        let line = |row: &Row| {
            let change = row.others[column];
            let differs = match (&row.base, &change) {
                (Some(_), Some(change)) => change.verdict.is_difference(),
                // A machine that failed has reported the reason.
                (_, None) => self.has_record(kernel, row),
                (None, Some(_)) => true,
            };
            let place = labels.titled(&row.metric, row);
            let [base, found] = [row.base, change.map(|change| change.summary)].map(figure);
            differs.then(|| format!("{place}: {base} of the base, {found} here"))
        };
        compared.rows.iter().filter_map(line).collect()
    }

    /// Returns true if a kernel has a record with the row's scenario and fields.
    fn has_record(&self, kernel: &str, row: &Row) -> bool {
        let ran = self.ran.iter().filter(|ran| ran.kernel == kernel);
        let mut records = ran.filter_map(|ran| ran.outcome.as_ref().ok()).flatten();
        records.any(|record| record.scenario == row.scenario && record.fields == row.fields)
    }
}

fn figure(of: Option<Summary>) -> String {
    match of {
        None => "none".to_owned(),
        Some(of) if of.is_constant() => exact(of.median),
        Some(of) => format!("{} to {}", exact(of.least), exact(of.most)),
    }
}
