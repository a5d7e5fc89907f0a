//! What `check` prints.

use super::Done;
use pageout_catalog::EXHIBITS;
use pageout_check::check::Task;
use pageout_check::exhibit::Exhibit;
use pageout_check::property::Property;
use pageout_check::scenarios::SCENARIOS;
use pageout_check::search::Searched;
use pageout_record::render::{Align, Grid};
use std::fmt::Write;
use std::time::Duration;

const LEGEND: &str = "\
executions  complete runs of a scenario, each with other choices of who goes on, or cases compared
states      points at which there was a choice, each counted once
bound       every execution with at most so many choices against the default, by which whoever runs
            goes on, was seen; all: there are no others
Every property is checked in every execution; a scenario is listed under the one it was made for.
Memory is sequentially consistent. docs/assurance.md says what is explored and what is not.
";

/// The engine's searches, the catalog, counterexamples of what went wrong, and the sum of it.
pub(super) fn all(engine: &[Done], catalog: &[(&Exhibit, Vec<Done>)]) -> String {
    let mut text = format!("{}\n", searches(engine));
    for (task, report) in engine {
        if let Some(failure) = &report.failure {
            let _ = writeln!(text, "{} FAILS: {failure}", task.property);
        }
    }
    if !catalog.is_empty() {
        let title = "Bugs that must be found:";
        let _ = writeln!(text, "{title}\n\n{}", exhibits(catalog));
    }
    text.push_str(LEGEND);
    let failures = engine.iter().filter(|(_, report)| report.failure.is_some()).count();
    let holds = match failures {
        0 => format!("All properties held, searches: {}", engine.len()),
        _ => format!("{failures} of {} searches failed", engine.len()),
    };
    let found = |(_, done): &&(_, Vec<Done>)| done.iter().all(|(_, r)| r.failure.is_some());
    let _ = match catalog.len() {
        0 => writeln!(text, "{holds}."),
        n => {
            let found = catalog.iter().filter(found).count();
            writeln!(text, "{holds}; {found} of {n} exhibits were found.")
        }
    };
    text
}

fn searches(done: &[Done]) -> Grid {
    let left = ["property", "scenario", "format"].map(|name| (name, Align::Left));
    let right = ["executions", "states", "bound", "seconds"].map(|name| (name, Align::Right));
    let columns = left.into_iter().chain(right).chain([("result", Align::Left)]);
    let mut grid = Grid::new(columns);
    for (task, report) in done {
        let searched = &report.searched;
        grid.row([
            task.property.name().to_owned(),
            task.what.to_owned(),
            task.format.to_owned(),
            searched.executions.to_string(),
            states(task, searched),
            bound(searched),
            seconds(report.elapsed),
            if report.failure.is_some() { "FAILS" } else { "holds" }.to_owned(),
        ]);
    }
    grid
}

fn exhibits(catalog: &[(&Exhibit, Vec<Done>)]) -> Grid {
    let left = ["exhibit", "origin", "breaks", "format"].map(|name| (name, Align::Left));
    let right = ["executions", "steps", "seconds"].map(|name| (name, Align::Right));
    let columns = left.into_iter().chain(right).chain([("result", Align::Left)]);
    let mut grid = Grid::new(columns);
    for (exhibit, done) in catalog {
        for (task, report) in done {
            let failure = report.failure.as_ref();
            let broken = failure.map_or("nothing", |failure| failure.property);
            let executions = match report.searched.executions {
                0 => String::new(),
                executions => executions.to_string(),
            };
            grid.row([
                exhibit.name.to_owned(),
                exhibit.origin.name().to_owned(),
                broken.to_owned(),
                task.format.to_owned(),
                executions,
                failure
                    .map_or_else(String::new, |failure| failure.happened.steps.len().to_string()),
                seconds(report.elapsed),
                if failure.is_some() { "found" } else { "NOT FOUND" }.to_owned(),
            ]);
        }
    }
    grid
}

fn states(task: &Task, searched: &Searched) -> String {
    if task.has_schedules() { searched.states.to_string() } else { String::new() }
}

fn bound(searched: &Searched) -> String {
    match searched.complete {
        _ if searched.exhausted => "all".to_owned(),
        Some(bound) => bound.to_string(),
        None => "-".to_owned(),
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.2}", elapsed.as_secs_f64())
}

/// One exhibit: what it is, and how it fails.
pub(super) fn exhibit(exhibit: &Exhibit, done: &[Done]) -> String {
    let mut text = format!("{} ({}): {}\n", exhibit.name, exhibit.origin.name(), exhibit.what);
    for (task, report) in done {
        let _ = match &report.failure {
            Some(failure) => write!(text, "\n{failure}"),
            None => writeln!(text, "\nNOT FOUND in {} ({})", task.what, task.format),
        };
    }
    text
}

/// What there is to check.
pub(super) fn list() -> String {
    let columns = |first| [(first, Align::Left), ("what", Align::Left)];
    let mut properties = Grid::new(columns("property"));
    for property in Property::ALL {
        properties.row([property.name(), property.says()]);
    }
    let mut scenarios = Grid::new(columns("scenario"));
    for scenario in SCENARIOS {
        scenarios.row([scenario.name, scenario.about]);
    }
    let mut exhibits = Grid::new(columns("exhibit"));
    for exhibit in EXHIBITS {
        let what = format!("{}: {}", exhibit.origin.name(), exhibit.what);
        exhibits.row([exhibit.name.to_owned(), what]);
    }
    format!("{properties}\n{scenarios}\n{exhibits}")
}
