//! `check`: searches of small worlds for a wrong schedule, and of the bugs that must be found.

mod tables;

use crate::args::CheckArgs;
use crate::error::CliError;
use crate::this_run::this_run;
use crate::{output, progress, terminal};
use indicatif::ProgressBar;
use pageout_check::check::{Report, Task};
use pageout_check::counterexample::parse_choices;
use pageout_check::engine::ENGINE;
use pageout_check::exhibit::{EXHIBITS, Exhibit};
use pageout_check::property::Property;
use pageout_check::records;
use pageout_check::scenarios::SCENARIOS;
use pageout_check::search::Bounds;
use pageout_record::schema::{Record, RecordSet};
use pageout_refusal::UnknownName;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The maximum number of executions of one search, unless a bound is given: all searches together
/// take half a minute.
const EXECUTIONS: u64 = 6_000;

/// A task and its report.
type Done = (Task, Report);

pub(crate) fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    if args.list {
        output::print_text(&tables::list(terminal::columns()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::check(&args.output.paths(), &[])?;
    let format = args.format.as_deref().map(known_format).transpose()?;
    let of_format = |task: &Task| format.is_none_or(|format| task.format == format);
    let bounds = match args.bound {
        Some(deviations) => Bounds { deviations, executions: u64::MAX },
        None => Bounds { deviations: usize::MAX, executions: EXECUTIONS },
    };
    if let Some(name) = &args.exhibit {
        let exhibit = exhibit(name)?;
        let tasks: Vec<_> = Task::of_exhibit(exhibit).into_iter().filter(of_format).collect();
        return show(args, exhibit, tasks, bounds);
    }
    let tasks: Vec<_> = match &args.what {
        Some(what) => engine_tasks(what)?,
        None => Task::of_engine(),
    };
    let tasks: Vec<_> = tasks.into_iter().filter(of_format).collect();
    if let Some(choices) = &args.replay {
        return replay(args, None, &tasks, choices);
    }
    let catalog = args.what.is_none();
    let exhibits: Vec<_> = if catalog { EXHIBITS.iter().collect() } else { Vec::new() };
    let shown: Vec<Vec<Task>> = exhibits
        .iter()
        .map(|exhibit| Task::of_exhibit(exhibit).into_iter().filter(of_format).collect())
        .collect();
    let all = tasks.len() + shown.iter().map(Vec::len).sum::<usize>();
    let bar = progress::bar("searching");
    bar.set_length(all as u64);
    let engine = run(tasks, bounds, &bar);
    let shown: Vec<(&Exhibit, Vec<Done>)> =
        exhibits.into_iter().zip(shown).map(|(e, tasks)| (e, run(tasks, bounds, &bar))).collect();
    bar.finish_and_clear();
    let of_engine = engine.iter().map(|(task, report)| records::search(task, None, report));
    let of_exhibits = shown.iter().flat_map(|(exhibit, done)| found(exhibit, done));
    emit(args, of_engine.chain(of_exhibits).collect(), |columns| {
        tables::all(&engine, &shown, columns)
    })?;
    let holds = engine.iter().all(|(_, report)| report.failure.is_none());
    let are_found = |(_, done): &(_, Vec<Done>)| done.iter().all(|(_, r)| r.failure.is_some());
    Ok(status(holds && shown.iter().all(are_found)))
}

/// Searches for an injected bug, or replays it, and shows its counterexamples.
fn show(
    args: &CheckArgs,
    exhibit: &Exhibit,
    tasks: Vec<Task>,
    bounds: Bounds,
) -> Result<ExitCode, CliError> {
    if tasks.is_empty() {
        let known: Vec<_> = Task::of_exhibit(exhibit).iter().map(|task| task.format).collect();
        let (name, known) = (exhibit.name, known.join(", "));
        return Err(CliError::CheckNothing { name, known });
    }
    if let Some(choices) = &args.replay {
        return replay(args, Some(exhibit), &tasks, choices);
    }
    let done = run(tasks, bounds, &ProgressBar::hidden());
    emit(args, found(exhibit, &done).collect(), |_| tables::exhibit(exhibit, &done))?;
    Ok(status(done.iter().all(|(_, report)| report.failure.is_some())))
}

/// Executes given choices. The exit status is 1 if a property failed.
fn replay(
    args: &CheckArgs,
    exhibit: Option<&Exhibit>,
    tasks: &[Task],
    choices: &str,
) -> Result<ExitCode, CliError> {
    let choices = parse_choices(choices)?;
    let [task] = tasks else {
        return Err(CliError::CheckReplays(tasks.len()));
    };
    if !task.has_schedules() {
        return Err(CliError::CheckReplays(0));
    }
    let found = task.replay(&choices)?;
    let text = |_| match &found {
        Some(failure) => failure.to_string(),
        None => {
            format!("{} ({}): every property holds in that execution\n", task.what, task.format)
        }
    };
    emit(args, vec![records::replay(task, exhibit, found.as_ref())], text)?;
    Ok(status(found.is_none()))
}

/// Returns the records of an injected bug's searches.
fn found<'a>(exhibit: &'a Exhibit, done: &'a [Done]) -> impl Iterator<Item = Record> + 'a {
    done.iter().map(|(task, report)| records::search(task, Some(exhibit), report))
}

/// Writes the records as asked, or the text.
fn emit(
    args: &CheckArgs,
    records: Vec<Record>,
    text: impl Fn(usize) -> String,
) -> Result<(), CliError> {
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.output, &set, &[], |_, columns| Ok(text(columns)))
}

fn status(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Returns the engine's tasks for a property or a scenario.
fn engine_tasks(what: &str) -> Result<Vec<Task>, CliError> {
    let named = |task: &Task| task.property.name() == what || task.what == what;
    let tasks: Vec<_> = Task::of_engine().into_iter().filter(named).collect();
    match tasks.is_empty() {
        true if EXHIBITS.iter().any(|exhibit| exhibit.name == what) => {
            Err(CliError::CheckIsExhibit(what.to_owned()))
        }
        true => Err(unknown("property or scenario", what, known())),
        false => Ok(tasks),
    }
}

/// Returns the error of a name that `check --list` does not have.
fn unknown(kind: &str, found: &str, names: Vec<&'static str>) -> CliError {
    UnknownName::new(kind, found, names).listed_by("pageout check --list").into()
}

fn known() -> Vec<&'static str> {
    let made_for =
        |property: &&Property| Task::of_engine().iter().any(|task| task.property == **property);
    let properties = Property::ALL.iter().filter(made_for).map(|property| property.name());
    let scenarios = SCENARIOS.iter().map(|scenario| scenario.name);
    properties.chain(scenarios).collect()
}

fn exhibit(name: &str) -> Result<&'static Exhibit, CliError> {
    let found = EXHIBITS.iter().find(|exhibit| exhibit.name == name);
    let names = || EXHIBITS.iter().map(|exhibit| exhibit.name).collect();
    found.ok_or_else(|| unknown("exhibit", name, names()))
}

fn known_format(name: &str) -> Result<&'static str, CliError> {
    let formats = ENGINE.iter().map(|stage| stage.format);
    let found = formats.clone().find(|format| *format == name);
    found.ok_or_else(|| unknown("format", name, formats.collect()))
}

/// Runs the tasks, as many at once as there are CPUs. Returns them with their reports, in order.
fn run(tasks: Vec<Task>, bounds: Bounds, bar: &ProgressBar) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let reports: Vec<_> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((number, task)) = {
            let number = next.fetch_add(1, Relaxed);
            tasks.get(number).map(|task| (number, task))
        } {
            let report = task.run(bounds);
            *reports[number].lock().expect("no searcher panics") = Some(report);
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let reports =
        reports.into_iter().map(|report| report.into_inner().expect("no searcher panics"));
    tasks.into_iter().zip(reports.map(|report| report.expect("every task was run"))).collect()
}
