//! `lab schedule`: interleavings of real kernels, searched by seeds.

use super::args::Building;
use super::progress::ShownProgress;
use super::schedule_args::ScheduleArgs;
use super::{schedule_text as text, tables};
use crate::error::CliError;
use crate::output;
use crate::this_run::this_run;
use pageout_experiment::input;
use pageout_lab::{Arch, Config, Kernel, Lab, Points, Program, Schedule, Search, Searched};
use pageout_record::schema::RecordSet;
use pageout_run::unread;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The seeds that are tried unless others are asked for.
const SEEDS: RangeInclusive<u64> = 0..=99;
/// The ending of the names of stored schedules.
const SCHEDULE: &str = "schedule";
/// Further options of every kernel: the file system of the workloads.
const OPTIONS: [&str; 1] = ["EXT4_FS=y"];

pub(crate) fn schedule(args: &ScheduleArgs) -> Result<ExitCode, CliError> {
    args.patched.check_paths()?;
    check_words(args)?;
    text::Form::of(args.format, 0)?;
    if args.only_replays() && (args.seeds.is_some() || args.searching.strategy.is_some()) {
        return Err(CliError::ReplayAlone);
    }
    output::check(&args.output.paths(), &args.patched.inputs())?;
    let points = args.searching.points()?;
    check_config(&args.patched.building)?;
    let search = search(args);
    let given = given(&args.replay, &search)?;
    let kernels = args.patched.kernels(&args.kernels, &["stock"])?;
    let told = ShownProgress::new();
    let (lab, config) = open(&args.patched.building, points, &told, &kernels, &search.workload)?;
    let scheduled = lab.schedule(&kernels, config, &search, &given)?;
    if let Some(directory) = &args.searching.save {
        save(directory, scheduled.searched.iter())?;
    }
    let records = scheduled.searched.iter().map(|searched| searched.record(&search)).collect();
    let set = RecordSet::new(this_run(), records);
    let emulators = std::slice::from_ref(&scheduled.emulator);
    let origin = tables::parts(&kernels, &scheduled.built, emulators);
    output::emit(&args.output, &set, &[], |_, columns| {
        let form = text::Form::of(args.format, columns)?;
        Ok(text::scheduled(&scheduled, &search, &origin, form))
    })?;
    let is_found = scheduled.searched.iter().any(|searched| searched.found());
    let mut replayed = scheduled.given.iter().flat_map(|(_, runs)| runs);
    let fails = replayed.any(|run| run.failure.is_some());
    Ok(ExitCode::from(u8::from(is_found || fails)))
}

/// Checks that no field of the workload stands among the kernels.
fn check_words(args: &ScheduleArgs) -> Result<(), CliError> {
    let Some(field) = args.kernels.iter().find(|word| !Kernel::is_name(word)) else {
        return Ok(());
    };
    let workload = args.workload.name().to_owned();
    Err(CliError::ScheduleField { field: field.clone(), workload })
}

fn search(args: &ScheduleArgs) -> Search {
    #[expect(clippy::reversed_empty_ranges, reason = "no seeds")]
    let none = 1..=0;
    let seeds = if args.only_replays() { none } else { args.seeds.clone().unwrap_or(SEEDS) };
    let limit = Duration::from_secs(args.time_limit.into());
    args.searching.search(args.workload.clone(), seeds, args.runs.into(), limit)
}

/// Returns the lab, which builds kernels with points, and the configuration of those kernels.
pub(super) fn open<'a>(
    building: &Building,
    points: Points,
    told: &'a ShownProgress,
    kernels: &[Kernel],
    workload: &Program,
) -> Result<(Lab<'a>, Config), CliError> {
    let (mut lab, configs) = building.open(told, kernels, &workload.needs(), None)?;
    lab.points = Some(points);
    lab.options.extend(OPTIONS.map(|option| option.parse().expect("an option of ours")));
    Ok((lab, configs[0]))
}

/// Returns an error unless one configuration of x86-64 is asked for.
pub(super) fn check_config(building: &Building) -> Result<(), CliError> {
    if building.configs.iter().any(|config| config.arch() != Arch::X86_64) {
        return Err(CliError::ScheduleConfig);
    }
    match building.configs(true)?[..] {
        [config] if config.arch() == Arch::X86_64 => Ok(()),
        _ => Err(CliError::ScheduleConfig),
    }
}

fn read(path: &Path) -> Result<Schedule, CliError> {
    let none = std::iter::empty::<&str>();
    let text = input::read_text(path, input::MAX_TEXT)
        .map_err(|error| unread("schedule", path, error, none))?;
    let wrong = |error| CliError::Schedule { path: path.to_owned(), error };
    Schedule::parse(&text).map_err(wrong)
}

/// Reads the stored schedules, which must be of this search's machine.
fn given(paths: &[PathBuf], search: &Search) -> Result<Vec<Schedule>, CliError> {
    let files: Vec<Vec<PathBuf>> =
        paths.iter().map(|path| files(path)).collect::<Result<_, _>>()?;
    let read = |path: PathBuf| {
        let schedule = read(&path)?;
        if schedule.workload == search.workload.text() && schedule.cpus == search.cpus {
            return Ok(schedule);
        }
        let Schedule { workload, cpus, .. } = schedule;
        Err(CliError::ScheduleOther { path, workload, cpus })
    };
    files.into_iter().flatten().map(read).collect()
}

/// Returns a file, or the schedules of a directory in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |source| CliError::Read { path: path.to_owned(), source };
    let entries: Vec<PathBuf> = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(failed)?;
    let is_schedule = |path: &PathBuf| path.extension().is_some_and(|end| end == SCHEDULE);
    let mut files: Vec<PathBuf> = entries.into_iter().filter(is_schedule).collect();
    files.sort();
    match files.is_empty() {
        true => Err(CliError::NoSchedules(path.to_owned())),
        false => Ok(files),
    }
}

/// Writes the schedule of each seed that failed, of the first one the small one:
/// `KERNEL-seed-N.schedule`.
pub(super) fn save<'a>(
    directory: &Path,
    all: impl Iterator<Item = &'a Searched>,
) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: directory.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    for searched in all {
        let small = searched.failure.as_ref().map(|failure| &failure.schedule);
        let others = searched.failed.iter().skip(small.iter().len());
        let all: Vec<&Schedule> = small.into_iter().chain(others).collect();
        let (kept, none): (Vec<_>, Vec<_>) = all.into_iter().partition(|of| of.repeats());
        if let Some(schedule) = none.first() {
            let (seeds, found) = (none.len(), &schedule.found);
            output::say(&format!("not kept: {seeds} seeds of {found}, which is no list of turns"));
        }
        for schedule in kept {
            let name = format!("{}-seed-{}.{SCHEDULE}", schedule.kernel, schedule.seed);
            let path = directory.join(name);
            output::to(Some(&path), schedule.to_string().as_bytes())?;
            output::say(&format!("kept as {}", path.display()));
        }
    }
    Ok(())
}
