//! `lab schedule`: interleavings of real kernels, searched by seeds.

use super::progress::ShownProgress;
use super::schedule_args::ScheduleArgs;
use super::schedule_text as text;
use crate::error::CliError;
use crate::output;
use crate::this_run::this_run;
use pageout_experiment::input;
use pageout_lab::{Arch, Needs, Points, Schedule, Scheduled, Search};
use pageout_record::schema::RecordSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Further options of every kernel: the file system of the workloads.
const OPTIONS: [&str; 1] = ["EXT4_FS=y"];

pub(crate) fn schedule(args: &ScheduleArgs) -> Result<ExitCode, CliError> {
    args.patched.check_paths()?;
    output::check(&args.output.paths(), &args.patched.inputs())?;
    let points = Points::new(&args.points)?;
    let building = &args.patched.building;
    let configs = building.configs(true)?;
    if configs.len() > 1 || configs.iter().any(|config| config.arch() != Arch::X86_64) {
        return Err(CliError::ScheduleConfig);
    }
    let given: Vec<Schedule> =
        args.replay.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let search = search(args);
    if let Some((path, other)) = args
        .replay
        .iter()
        .zip(&given)
        .find(|(_, of)| of.workload != search.workload.text() || of.cpus != search.cpus)
    {
        let (path, workload, cpus) = (path.clone(), other.workload.clone(), other.cpus);
        return Err(CliError::ScheduleOther { path, workload, cpus });
    }
    let kernels = args.patched.kernels(&args.kernels, &["stock"])?;
    let told = ShownProgress::new();
    let (mut lab, configs) = building.open(&told, &kernels, &Needs::SWAP, None)?;
    lab.points = Some(points);
    lab.options.extend(OPTIONS.map(|option| option.parse().expect("an option of ours")));
    let scheduled = lab.schedule(&kernels, configs[0], &search, &given)?;
    if let Some(directory) = &args.save {
        save(directory, &scheduled)?;
    }
    let records = scheduled.searched.iter().map(|searched| searched.record(&search)).collect();
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.output, &set, &[], |_, _| Ok(text::scheduled(&scheduled, &search)))?;
    let is_found = scheduled.searched.iter().any(|searched| searched.found());
    let fails = |(_, runs): &(_, Vec<_>)| {
        runs.iter().any(|run: &pageout_lab::Replayed| run.failure.is_some())
    };
    let fails = !given.is_empty() && scheduled.replayed.iter().any(fails);
    Ok(ExitCode::from(u8::from(is_found || fails)))
}

fn search(args: &ScheduleArgs) -> Search {
    #[expect(clippy::reversed_empty_ranges, reason = "no seeds")]
    let none = 1..=0;
    Search {
        workload: args.workload.clone(),
        cpus: args.cpus,
        seeds: if args.replay.is_empty() { args.seeds.clone() } else { none },
        strategy: args.strategy,
        turns_in: args.turns_in.clone(),
        hang: Duration::from_secs(args.hang.into()),
        limit: Duration::from_secs(args.time_limit.into()),
        tries: args.tries.into(),
        replays: args.runs.into(),
        all_seeds: args.all_seeds,
    }
}

fn read(path: &Path) -> Result<Schedule, CliError> {
    let none = std::iter::empty::<&str>();
    let text = input::read_text(path, input::MAX_TEXT)
        .map_err(|error| crate::error::unread("schedule", path, error, none))?;
    let wrong = |error| CliError::Schedule { path: path.to_owned(), error };
    Schedule::parse(&text).map_err(wrong)
}

/// Writes each failure's schedule: `KERNEL-seed-N.schedule`.
fn save(directory: &Path, scheduled: &Scheduled) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: directory.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let failures = scheduled.searched.iter().filter_map(|searched| searched.failure.as_ref());
    for failure in failures {
        let name = format!("{}-seed-{}.schedule", failure.schedule.kernel, failure.seed);
        let path = directory.join(name);
        output::to(Some(&path), failure.schedule.to_string().as_bytes())?;
        output::say(&format!("kept as {}", path.display()));
    }
    Ok(())
}
