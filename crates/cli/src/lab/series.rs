//! `lab series`: every patch of a series, built and run with those before it.

use super::args::SeriesArgs;
use super::checks;
use super::ktap::{Subtest, ktap};
use super::progress::ShownProgress;
use super::request::{Request, no_scenario};
use super::tables::of_kernel;
use super::{elapsed, series_schedules, tables};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::Form;
use crate::this_run::this_run;
use crate::{fail_on, output, paths};
use pageout_lab::{Attempted, BASE, Bench, Kernel, LabError, Measured, NotBuilt, Series, Workload};
use pageout_record::compare::{Outcome, Role, compare};
use pageout_record::schema::{Labels, Record, RecordSet};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

/// The maximum number of patches that each have a column in a table. If there are more, only the
/// last one has.
const COLUMNS: usize = 4;
/// The fields that are run if no scenario is given.
const RUN: [&str; 2] = ["order=0,4", "lru=classic,mglru"];

pub(super) fn series(args: &SeriesArgs) -> Result<ExitCode, CliError> {
    let since = Instant::now();
    args.building.check_paths()?;
    args.mbox.as_deref().map_or(Ok(()), |mbox| paths::file("--mbox", mbox, "a file of mails"))?;
    let [text, page] = args.output.paths();
    output::check(&[text, page, args.ktap.as_deref()], &[args.mbox.as_deref()])?;
    let (range, words) = range(args)?;
    if let Some(seeds) = args.schedules {
        let outcome = series_schedules::outcome(args, seeds, range, words)?;
        output::say(&format!("built and searched in {}", elapsed(since)));
        return Ok(fail_on::status(outcome).into());
    }
    let request = Request::parse(words, args.running.workload.as_deref())?;
    if let Some(word) = request.kernels.first() {
        return Err(no_scenario(word));
    }
    let plan = request.plan_or(&RUN)?;
    let costs: BTreeSet<String> = plan.iter().flat_map(Bench::costs).collect();
    let wholes: Vec<&str> = plan.iter().filter_map(Bench::whole).collect();
    let role = |cost: &str| if wholes.contains(&cost) { Role::Whole } else { Role::Count };
    let costs: Vec<(&str, Role)> = costs.iter().map(|cost| (cost.as_str(), role(cost))).collect();
    fail_on::check_names(&args.fail_on, "the scenario", &costs)?;
    args.running.check_is_counted("lab series")?;
    let mut runs = args.running.runs(plan.clone())?;
    runs.plan.extend(checks::runs().into_iter().filter(|run| !plan.contains(run)));
    let kernels = kernels(args, range)?;
    let told = ShownProgress::new();
    let (lab, configs) =
        args.building.open(&told, &kernels, &Bench::needs(&plan), Some(&runs.cpus))?;
    let attempted = lab.attempt(&kernels, &configs, &runs, goes_on(args))?;
    drop(lab);
    super::warn(&attempted.measured);
    let done = Done { args, kernels: &kernels, plan: &plan, attempted: &attempted };
    let outcome = done.tell()?;
    output::say(&format!("built and compared in {}", elapsed(since)));
    Ok(fail_on::status(outcome).into())
}

/// Returns the range of commits, if one is given, and the words behind it.
fn range(args: &SeriesArgs) -> Result<(Option<&str>, &[String]), CliError> {
    let is_range = |word: &&String| word.contains("..") && Kernel::is_name(word);
    let range = args.words.first().filter(is_range).map(String::as_str);
    let words = &args.words[usize::from(range.is_some())..];
    let is_word = |word: &&String| Workload::named(word).is_none() && Kernel::is_name(word);
    match (range, &args.mbox, &args.building.tree, words.first().filter(is_word)) {
        (None, None, _, Some(word)) => Err(no_scenario(word)),
        (Some(range), None, None, _) => Err(CliError::LabSeriesTree(range.to_owned())),
        (Some(_), Some(_), ..) | (None, None, ..) => Err(CliError::LabSeriesOne),
        _ => Ok((range, words)),
    }
}

/// Reads the series, and returns its kernels: the base, and those with its patches.
pub(super) fn kernels(args: &SeriesArgs, range: Option<&str>) -> Result<Vec<Kernel>, CliError> {
    let prints_records = args.output.json || args.output.csv;
    if prints_records && args.output.output.is_none() && args.ktap.is_none() {
        return Err(CliError::LabKtap);
    }
    let series = match (range, &args.building.tree, &args.mbox) {
        (Some(range), Some(tree), _) => Series::of_range(tree, range)?,
        (_, _, Some(mbox)) => Series::of_mails(mbox, args.building.source())?,
        _ => unreachable!("the words were checked"),
    };
    series.notes.iter().for_each(|note| output::say(note));
    Ok(if args.last { series.ends().to_vec() } else { series.kernels() })
}

/// The results of a series' checks, and the reasons for which kernels have none.
pub(super) struct Results<'a> {
    pub(super) args: &'a SeriesArgs,
    /// The kernels that were not built, or did not run.
    pub(super) failures: Vec<(&'a str, &'a LabError)>,
    pub(super) checks: Vec<Subtest>,
}

impl Results<'_> {
    /// Prints the checks, then the tables, and returns the outcome of the checks. A reader that
    /// closes the pipe early still gets the outcome.
    pub(super) fn tell(
        &self,
        tables: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<Outcome, CliError> {
        let Self { args, failures, checks } = self;
        let judges = args.bisect || !args.fail_on.is_empty();
        let could_not = if judges { Outcome::Undecided } else { Outcome::Failed };
        if let Some((_, error)) = failures.iter().find(|(kernel, _)| *kernel == BASE) {
            // Without conditions to judge, the status is that of every command of the lab.
            let status = match judges {
                true => fail_on::status(Outcome::Undecided),
                false => CliError::status_of_lab(error),
            };
            return Err(CliError::LabSeries { message: format!("the base: {error}"), status });
        }
        let text = ktap(checks);
        let ktap = output::to(args.ktap.as_deref(), output::printable(&text).as_bytes());
        unless_unread(ktap)?;
        let is_ended = |of: &&(&str, &LabError)| !of.1.is_a_wrong_kernel();
        if let (false, Some((_, error))) = (goes_on(args), failures.iter().find(is_ended)) {
            let status = fail_on::status(could_not);
            return Err(CliError::LabSeries { message: error.to_string(), status });
        }
        for (kernel, error) in failures {
            output::say(&format!("failed: {kernel}: {error}"));
        }
        unless_unread(tables())?;
        Ok(match checks.iter().flat_map(Subtest::failed).collect::<Vec<_>>()[..] {
            [] => Outcome::NotShown,
            ref failed if failed.iter().all(|name| checks::MADE.contains(name)) => could_not,
            _ => Outcome::Failed,
        })
    }
}

/// The outcome of a series.
struct Done<'a> {
    args: &'a SeriesArgs,
    /// The kernels, the base first.
    kernels: &'a [Kernel],
    plan: &'a [Bench],
    attempted: &'a Attempted,
}

impl Done<'_> {
    /// Prints all results, and returns the outcome.
    fn tell(&self) -> Result<Outcome, CliError> {
        let Self { args, kernels, plan, attempted } = *self;
        let titles: Vec<String> = kernels.iter().map(title).collect();
        let checks = checks::results(kernels, &titles, plan, attempted)?;
        let results = Results { args, failures: self.failures().collect(), checks };
        let set = RecordSet::new(this_run(), self.rows());
        let base = of_kernel(BASE);
        let of_checks = results.tell(|| self.tables(&set, &base, &titles))?;
        Ok(fail_on::judged(&args.fail_on, &set.into(), &base, None)?.max(of_checks))
    }

    /// Returns the errors of kernels that were not built, or did not run.
    fn failures(&self) -> impl Iterator<Item = (&str, &LabError)> {
        let not_built = not_built(&self.attempted.not_built);
        let not_run = self.attempted.ran.iter().filter_map(|ran| {
            let error = ran.outcome.as_ref().err()?;
            Some((&*ran.kernel, error))
        });
        not_built.chain(not_run)
    }

    /// Returns the records of the scenario, kernel by kernel; an empty one if a kernel gave none.
    fn rows(&self) -> Vec<Record> {
        let all = self.attempted.ran.iter().filter(|ran| self.plan.contains(&ran.bench));
        let all = || all.clone().filter_map(|ran| Some((ran, ran.outcome.as_ref().ok()?)));
        let of = |kernel: &str| -> Vec<&Record> {
            all().filter(|(ran, _)| ran.kernel == kernel).flat_map(|(_, records)| records).collect()
        };
        let places = of(BASE);
        let row = |kernel: &Kernel| {
            let records = of(&kernel.name);
            let row = |place: &&Record| {
                let is_there =
                    |of: &&&Record| of.scenario == place.scenario && of.fields == place.fields;
                let found = records.iter().find(is_there).map(|record| (*record).clone());
                let gap = || Record {
                    variant: of_kernel(&kernel.name),
                    metrics: Vec::new(),
                    ..(*place).clone()
                };
                found.unwrap_or_else(gap)
            };
            places.iter().map(row).collect::<Vec<_>>()
        };
        self.kernels.iter().flat_map(row).collect()
    }

    /// Prints tables or records. Records name the patches' subjects, and include those of the
    /// checks.
    fn tables(&self, set: &RecordSet, base: &Labels, titles: &[String]) -> Result<(), CliError> {
        let Self { args, kernels, plan, attempted } = *self;
        let titled = |record: &Record| {
            let mut record = record.clone();
            let name = record.variant.get("kernel").cloned();
            let kernel = kernels.iter().position(|kernel| Some(&kernel.name) == name.as_ref());
            let title = kernel.map_or_else(String::new, |kernel| titles[kernel].clone());
            record.variant.insert("kernel".to_owned(), title);
            record
        };
        let rows: Vec<Record> = set.records.iter().map(titled).collect();
        let is_other = |record: &Record| {
            let is_same = |row: &Record| {
                (&row.scenario, &row.fields, &row.variant)
                    == (&record.scenario, &record.fields, &record.variant)
            };
            !rows.iter().any(is_same)
        };
        let of_checks = attempted.ran.iter().filter(|ran| !plan.contains(&ran.bench));
        let of_checks = of_checks.filter_map(|ran| ran.outcome.as_ref().ok()).flatten();
        let of_checks: Vec<Record> = of_checks.map(titled).filter(is_other).collect();
        let shown = RecordSet::new(set.run.clone(), rows.clone());
        let all = RecordSet::new(set.run.clone(), [rows, of_checks].concat());
        let Measured { built, emulators, .. } = &attempted.measured;
        let parts = tables::parts_of_series(kernels, built, emulators);
        output::emit(&args.output, &all, &[(&shown, base)], |_, columns| {
            let wide = args.shown.format == Form::Table && kernels.len() > 1 + COLUMNS;
            let text = match wide.then(|| self.first_and_last(set)) {
                Some(ends) => tables::compared(&ends, base, args.shown, &parts, columns)?,
                None => tables::compared(set, base, args.shown, &parts, columns)?,
            };
            let compared = compare(set, base, &DECLARED)?;
            let steps = tables::steps(&compared, &parts, args.shown.format, columns);
            Ok(format!("{text}\n{steps}").trim_end().to_owned() + "\n")
        })
    }

    /// Returns the set with only the base and the last patch that ran.
    fn first_and_last(&self, set: &RecordSet) -> RecordSet {
        let ran = |kernel: &&Kernel| {
            let of = of_kernel(&kernel.name);
            set.records.iter().any(|record| record.variant == of && !record.metrics.is_empty())
        };
        let ends = [self.kernels.iter().find(ran), self.kernels.iter().rfind(ran)];
        let ends = ends.map(|kernel| kernel.map(|kernel| of_kernel(&kernel.name)));
        let mut set = set.clone();
        set.records.retain(|record| ends.contains(&Some(record.variant.clone())));
        set
    }
}

/// Returns the kernels that were not built, with the reasons.
pub(super) fn not_built(all: &[NotBuilt]) -> impl Iterator<Item = (&str, &LabError)> {
    all.iter().flat_map(|of| of.kernels.iter().map(|name| (&**name, &of.error)))
}

/// Returns true if a patch that does not apply, build or boot does not end the command: after the
/// last one, nothing is left to try.
pub(super) const fn goes_on(args: &SeriesArgs) -> bool {
    args.keep_going || args.last
}

/// Returns the name of a kernel in records, with its patch.
pub(super) fn title(kernel: &Kernel) -> String {
    let subject = kernel.patches.last().map(|patch| format!(": {}", patch.subject));
    format!("{}{}", kernel.name, subject.unwrap_or_default())
}

/// Ignores the error of a closed pipe: the reader wants no more output.
fn unless_unread(told: Result<(), CliError>) -> Result<(), CliError> {
    match told {
        Err(error) if !error.is_broken_pipe() => Err(error),
        _ => Ok(()),
    }
}
