//! The text that `lab schedule` prints.

use super::tables::{Parts, parts_of_series, provenance};
use crate::error::CliError;
use crate::terminal::COLUMNS;
use crate::{command_line, options};
use pageout_lab::{
    Failure, Kernel, Replayed, Schedule, Scheduled, Search, Searched, SearchedSeries,
    schedule_table,
};
use pageout_record::render::{Align, Grid, LIST_WIDTH, mail};
use std::fmt::Write;

/// The limits of every search.
const SEEN: &str = "\
Seen: orders of the CPUs at basic blocks, TLB flushes of x86 that are deferred.
Not seen: weak memory, and what an arm64 broadcast takes to arrive.
";

/// A form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A text of this many columns of characters.
    Columns(usize),
    /// A text for mails, with the command.
    Mail,
}

impl Form {
    /// Returns the form asked for; there are no pictures.
    pub(super) fn of(form: options::Form, columns: usize) -> Result<Self, CliError> {
        match form {
            options::Form::Table => Ok(Self::Columns(columns)),
            options::Form::List => Ok(Self::Mail),
            options::Form::Picture => Err(CliError::SchedulePicture),
        }
    }

    fn columns(self) -> usize {
        match self {
            Self::Columns(columns) => columns,
            Self::Mail => LIST_WIDTH,
        }
    }

    /// Writes the parts, with empty lines between them.
    fn text(self, parts: &[String]) -> String {
        let text = parts.join("\n");
        match self {
            Self::Columns(_) => text,
            Self::Mail => mail(&text, &command_line::words()),
        }
    }
}

/// Writes the results of a search, and of the replays.
pub(super) fn scheduled(
    scheduled: &Scheduled,
    search: &Search,
    origin: &Parts,
    form: Form,
) -> String {
    let mut parts =
        vec![format!("{} on {} CPUs, {}\n", search.workload.text(), search.cpus, search.strategy)];
    if scheduled.searched.is_empty() {
        parts = vec![format!("{} on {} CPUs\n", search.workload.text(), search.cpus)];
    }
    let were_run = |(_, runs): &&(Schedule, Vec<Replayed>)| !runs.is_empty();
    parts.extend(scheduled.given.iter().filter(were_run).map(replayed));
    parts.extend(scheduled.searched.iter().map(|of| searched(of, search, form)));
    parts.extend(scheduled.found.iter().filter(were_run).map(replayed));
    parts.extend([provenance(origin, form.columns()), SEEN.to_owned()]);
    form.text(&parts)
}

/// Writes the results of a series: a row for each kernel, the first failure of each kind with the
/// kernels that its schedule fails on, and the patches.
pub(super) fn series(
    kernels: &[Kernel],
    searched: &SearchedSeries,
    search: &Search,
    form: Form,
) -> String {
    let (workload, seeds) = (search.workload.text(), &search.seeds);
    let mut parts = vec![
        format!(
            "{workload} on {} CPUs, {}, seeds {} to {}\n",
            search.cpus,
            search.strategy,
            seeds.start(),
            seeds.end()
        ),
        rows(kernels, searched).text(form.columns()),
    ];
    for (schedule, runs) in &searched.found {
        let of_it = |searched: &&Searched| searched.kernel == schedule.kernel;
        let all = searched.tried.iter().filter_map(|tried| tried.outcome.as_ref().ok());
        parts.extend(all.clone().find(of_it).map(|of| self::searched(of, search, form)));
        parts.push(replayed(&(schedule.clone(), runs.clone())));
    }
    let SearchedSeries { built, emulator, .. } = searched;
    let origin = parts_of_series(kernels, built, std::slice::from_ref(emulator));
    parts.extend([provenance(&origin, form.columns()), SEEN.to_owned()]);
    form.text(&parts)
}

fn rows(kernels: &[Kernel], searched: &SearchedSeries) -> Grid {
    use Align::{Left, Right};
    let mut grid = Grid::new([
        ("kernel", Left),
        ("without turns", Left),
        ("seeds", Right),
        ("failed", Right),
        ("first failure", Left),
    ]);
    for kernel in kernels {
        let tried = searched.tried.iter().find(|tried| tried.kernel == kernel.name);
        let row = match tried.and_then(|tried| tried.outcome.as_ref().ok()) {
            None => ["-".to_owned(), "-".to_owned(), "-".to_owned(), String::new()],
            Some(of) => [
                of.control.as_ref().map_or("passes", |_| "fails").to_owned(),
                of.tried.to_string(),
                of.failed.len().to_string(),
                first(of),
            ],
        };
        grid.row([kernel.name.clone()].into_iter().chain(row));
    }
    grid
}

/// Describes a kernel's first failure.
fn first(of: &Searched) -> String {
    match (&of.control, of.failed.first()) {
        (Some(how), _) => how.clone(),
        (None, Some(failed)) => format!("seed {}: {}", failed.seed, failed.failure),
        (None, None) => String::new(),
    }
}

/// Describes the runs of a kernel's schedule on the other kernels, if it was run there.
pub(super) fn elsewhere(searched: &SearchedSeries, kernel: &str) -> Option<String> {
    let (_, runs) = searched.found.iter().find(|(schedule, _)| schedule.kernel == kernel)?;
    let end = |run: &Replayed| if run.failure.is_some() { "fails" } else { "passes" };
    let runs: Vec<String> = runs.iter().map(|run| format!("{} {}", run.kernel, end(run))).collect();
    (!runs.is_empty()).then(|| format!("its schedule elsewhere: {}", runs.join(", ")))
}

fn seconds(of: f64) -> String {
    if of < 10.0 { format!("{of:.1} s") } else { format!("{of:.0} s") }
}

fn searched(of: &Searched, search: &Search, form: Form) -> String {
    let mut text = format!("{}\n", of.kernel);
    let mut line = |name: &str, said: String| {
        writeln!(text, "  {name:<14} {said}").expect("a string takes all");
    };
    let passed = || format!("passes; {} points, {} checks", of.points, of.checks);
    line("without turns", of.control.as_ref().map_or_else(passed, |how| format!("fails: {how}")));
    match &of.control {
        Some(_) => line("seeds", "none tried, since it fails without".to_owned()),
        None => line("seeds", seeds(of)),
    }
    let Some(failure) = &of.failure else { return text };
    if let Some(first) = of.first {
        line("first failure", format!("seed {}, after {}", failure.seed, seconds(first)));
        line("", failure.schedule.failure.clone());
    }
    self::failure(failure, &mut line);
    text.push('\n');
    let columns = form.columns().clamp(LIST_WIDTH, COLUMNS);
    text += &schedule_table(&failure.rows, search.cpus, columns);
    text.push('\n');
    text += &failure.schedule.to_string();
    text
}

fn seeds(of: &Searched) -> String {
    let rate = of.tried as f64 / of.seconds.max(0.001);
    let gave_up = match of.gave_up {
        0 => String::new(),
        gave_up => format!(", {gave_up} gave up"),
    };
    let (tried, failed) = (of.tried, of.failed.len());
    format!("{tried} tried, {failed} failed{gave_up}; {rate:.2} a second")
}

fn failure(of: &Failure, line: &mut dyn FnMut(&str, String)) {
    let (equal, more) = of.equal;
    let turns = of.schedule.turns.len();
    let needs_turns = of.turns > 0 || !of.is_listed;
    let again = if needs_turns { "the seed again" } else { "again" };
    line(again, format!("{equal} of {more} further runs equal to the byte"));
    if !needs_turns {
        return;
    }
    if !of.is_listed {
        line(
            "turns",
            format!("{turns}; the list of them alone does not fail, so it is not shrunk"),
        );
        return;
    }
    let (lists, took) = (of.tries, seconds(of.seconds));
    line("turns", format!("{} of the seed, {turns} after {lists} lists, {took}", of.turns));
    let (equal, more) = of.small_equal;
    line("these again", format!("{equal} of {more} further runs equal to the byte"));
}

fn replayed((schedule, runs): &(Schedule, Vec<Replayed>)) -> String {
    let mut text =
        format!("schedule of {}, {} seed={}\n", schedule.kernel, schedule.found, schedule.seed);
    for run in runs {
        let how =
            run.failure.as_ref().map_or_else(|| "passes".to_owned(), |how| format!("fails: {how}"));
        let (given, all) = run.given;
        let mut said = format!("  {}: {how}; {given} of {all} turns given up", run.kernel);
        if run.moved > 0 {
            said += &format!(", {} at the nearest point", run.moved);
        }
        for function in &run.missing {
            said += &format!(", none in {function}(), which is not there");
        }
        if !run.same_build {
            said += "; another build";
        }
        writeln!(text, "{said}").expect("a string takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines about a failure of a seed that gave up no turn.
    fn lines(found: &str, is_listed: bool) -> Vec<(String, String)> {
        let text = format!(
            "pageout schedule 1\nworkload x\ncpus 3\nkernel stock\nbuild 0\nfound {found}\n\
             seed 3\nfailure x\n"
        );
        let of = Failure {
            seed: 3,
            turns: 0,
            points: 0,
            equal: (1, 1),
            small_equal: (1, 1),
            tries: 1,
            seconds: 0.0,
            schedule: Schedule::parse(&text).expect("a schedule"),
            is_listed,
            rows: Vec::new(),
        };
        let mut lines = Vec::new();
        failure(&of, &mut |name, said| lines.push((name.to_owned(), said)));
        lines
    }

    #[test]
    fn a_failure_without_turns_has_none_to_leave_out() {
        let [(name, _)] = &lines("few=16", true)[..] else { panic!("one line") };
        assert_eq!(name, "again");
    }

    #[test]
    fn a_failure_by_priorities_says_that_it_is_not_shrunk() {
        let [(again, _), (_, turns)] = &lines("pct=3", false)[..] else { panic!("two lines") };
        assert_eq!(again, "the seed again");
        assert!(turns.contains("not shrunk"), "{turns}");
    }
}
