//! `lab series --schedules`: every patch of a series, searched for races.

use super::args::SeriesArgs;
use super::checks::{self, OfKernel};
use super::ktap::{Outcome as Checked, Subtest};
use super::progress::ShownProgress;
use super::schedule_args::{self, LIMIT, RUNS};
use super::series::{Results, goes_on, kernels, not_built, title};
use super::{schedule, schedule_text as text};
use crate::error::CliError;
use crate::output;
use crate::this_run::this_run;
use pageout_lab::{
    BASE, Kernel, LabError, Program, Search, Searched, SearchedSeries, kind_of_failure,
};
use pageout_record::compare::Outcome;
use pageout_record::schema::RecordSet;
use std::collections::BTreeSet;
use std::time::Duration;

/// The workload if none is named: random operations, which find a race anywhere in `mm`.
const WORKLOAD: &str = "register-check";

/// Searches the kernels of a series, prints the results, and returns the outcome.
pub(super) fn outcome(
    args: &SeriesArgs,
    seeds: u64,
    range: Option<&str>,
    words: &[String],
) -> Result<Outcome, CliError> {
    text::Form::of(args.shown.format, 0)?;
    let points = args.searching.points()?;
    schedule::check_config(&args.building)?;
    let limit = args.running.limit().unwrap_or(Duration::from_secs(LIMIT.into()));
    let search = args.searching.search(workload(args, words)?, 0..=seeds - 1, RUNS.into(), limit);
    let kernels = kernels(args, range)?;
    let told = ShownProgress::new();
    let (lab, config) = schedule::open(&args.building, points, &told, &kernels, &search.workload)?;
    let searched = lab.attempt_schedules(&kernels, config, &search, goes_on(args))?;
    drop(lab);
    drop(told);
    let titles = kernels.iter().map(title).collect();
    Series { args, kernels: &kernels, titles, search: &search, searched: &searched }.tell()
}

/// Returns the workload: that of the words behind the range, or that of `--workload`.
fn workload(args: &SeriesArgs, words: &[String]) -> Result<Program, CliError> {
    let given = args.running.workload.as_deref().map(|path| path.to_string_lossy());
    let text = match (given, words) {
        (Some(_), [first, ..]) => {
            return Err(CliError::LabTwoWorkloads { scenario: first.clone() });
        }
        (Some(given), []) => given.into_owned(),
        (None, []) => WORKLOAD.to_owned(),
        (None, words) => words.join(" "),
    };
    schedule_args::workload(&text).map_err(CliError::ScheduleWorkload)
}

/// A series that was searched.
struct Series<'a> {
    args: &'a SeriesArgs,
    /// The kernels, the base first.
    kernels: &'a [Kernel],
    titles: Vec<String>,
    search: &'a Search,
    searched: &'a SearchedSeries,
}

impl Series<'_> {
    fn tell(&self) -> Result<Outcome, CliError> {
        let Self { args, searched, .. } = self;
        let of_kernels = self.kernels.iter().zip(&self.titles).skip(1);
        let checks = of_kernels.map(|(kernel, title)| self.check(&kernel.name, title)).collect();
        let not_tried = searched.tried.iter();
        let not_tried = not_tried
            .filter_map(|tried| Some((tried.kernel.as_str(), tried.outcome.as_ref().err()?)));
        let failures: Vec<(&str, &LabError)> =
            not_built(&searched.not_built).chain(not_tried).collect();
        Results { args, failures, checks }.tell(|| {
            if let Some(directory) = &args.searching.save {
                schedule::save(directory, self.all())?;
            }
            self.print()
        })
    }

    /// Returns the searches, in the order of their kernels.
    fn all(&self) -> impl Iterator<Item = &Searched> {
        self.searched.tried.iter().filter_map(|tried| tried.outcome.as_ref().ok())
    }

    fn of(&self, kernel: &str) -> Option<&Searched> {
        self.all().find(|searched| searched.kernel == kernel)
    }

    /// Returns the points of a kernel.
    fn check(&self, kernel: &str, title: &str) -> Subtest {
        let Self { kernels, searched, .. } = self;
        let tried = searched.tried.iter().filter(|tried| tried.kernel == kernel);
        let ran = tried.map(|tried| tried.outcome.as_ref().err()).collect();
        let of = OfKernel { name: kernel, kernels, not_built: &searched.not_built, ran };
        let points = |boots: &Checked| match (checks::unless_booted(boots), self.of(kernel)) {
            (None, Some(searched)) if searched.control.is_some() => {
                let skipped = Checked::Skipped("it fails without turns".to_owned());
                [self.control(searched), skipped]
            }
            (None, Some(searched)) => [self.control(searched), self.seeds(searched)],
            (Some(skipped), _) => [skipped.clone(), skipped],
            (None, None) => [checks::not_run(), checks::not_run()],
        };
        of.subtest(title, |boots| {
            ["without turns", "seeds"].into_iter().zip(points(boots)).collect()
        })
    }

    fn control(&self, of: &Searched) -> Checked {
        self.judged(of.control.iter().map(String::as_str), Vec::clone)
    }

    fn seeds(&self, of: &Searched) -> Checked {
        self.judged(of.failures(), |whys| {
            let mut lines = vec![format!("{} seeds tried, {} failed", of.tried, of.failed.len())];
            let seeds = of.failed.iter().map(|of| format!("seed {}: {}", of.seed, of.failure));
            lines.extend(seeds.filter(|line| whys.iter().any(|why| line.ends_with(why.as_str()))));
            lines.extend(text::elsewhere(self.searched, &of.kernel));
            lines
        })
    }

    /// Judges failures: those of a kind that the base has too are expected.
    fn judged<'f>(
        &self,
        failures: impl Iterator<Item = &'f str>,
        lines: impl FnOnce(&Vec<String>) -> Vec<String>,
    ) -> Checked {
        let base = self.of(BASE).map(kinds).unwrap_or_default();
        let failures: Vec<&str> = failures.collect();
        let own: Vec<String> = failures
            .iter()
            .filter(|how| !base.contains(&kind_of_failure(how)))
            .map(|how| (*how).to_owned())
            .collect();
        match (own.is_empty(), failures.is_empty()) {
            (true, true) => Checked::Ok,
            (true, false) => Checked::Expected("the base fails so too".to_owned()),
            (false, _) => Checked::NotOk(lines(&own)),
        }
    }

    fn print(&self) -> Result<(), CliError> {
        let Self { args, kernels, titles, search, searched } = self;
        let record = |searched: &Searched| {
            let mut record = searched.record(search);
            let place = kernels.iter().position(|kernel| kernel.name == searched.kernel);
            let title = place.map(|place| titles[place].clone()).unwrap_or_default();
            record.variant.insert("kernel".to_owned(), title);
            record
        };
        let set = RecordSet::new(this_run(), self.all().map(record).collect());
        output::emit(&args.output, &set, &[], |_, columns| {
            let form = text::Form::of(args.shown.format, columns)?;
            Ok(text::series(kernels, searched, search, form))
        })
    }
}

/// Returns the kinds of a kernel's failures.
fn kinds(of: &Searched) -> BTreeSet<String> {
    of.control.iter().map(String::as_str).chain(of.failures()).map(kind_of_failure).collect()
}
