//! The output of `check`.

use super::Done;
use pageout_check::check::Task;
use pageout_check::exhibit::{EXHIBITS, Exhibit};
use pageout_check::property::Property;
use pageout_check::scenarios::SCENARIOS;
use pageout_check::search::Searched;
use pageout_record::render::{Align, Grid, exact, fixed};
use std::fmt::Write;
use std::time::Duration;

const LEGEND: &str = "\
runs: complete executions of a scenario, each with other choices of which CPU goes on, or cases \
compared.
states: points at which there was a choice, each counted once.
bound: every execution was seen that has at most so many choices against the default, which is \
that the same CPU goes on; all: there are no others.
s: seconds of search.
Every property is checked in every execution; a scenario stands under the one it was made for.
Memory is sequentially consistent. docs/assurance.md says what is explored and what is not.
";

/// Writes the engine's searches, the catalog, counterexamples of failures, and a summary.
pub(super) fn all(engine: &[Done], catalog: &[(&Exhibit, Vec<Done>)], columns: usize) -> String {
    let mut text = format!("{}\n", searches(engine).text(columns));
    for (task, report) in engine {
        if let Some(failure) = &report.failure {
            let _ = writeln!(text, "{} FAILS: {failure}", task.property);
        }
    }
    if !catalog.is_empty() {
        let title = "Bugs that must be found:";
        let _ = writeln!(text, "{title}\n\n{}", exhibits(catalog).text(columns));
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
    let left = ["scenario", "format"].map(|name| (name, Align::Left));
    let right = ["runs", "states", "bound", "s"].map(|name| (name, Align::Right));
    let columns = left.into_iter().chain(right).chain([("result", Align::Left)]);
    let mut grid = Grid::new(columns);
    for of_property in done.chunk_by(|(one, _), (other, _)| one.property == other.property) {
        grid.heading(of_property[0].0.property.name());
        for (task, report) in of_property {
            let searched = &report.searched;
            grid.row([
                task.what.to_owned(),
                task.format.to_owned(),
                exact(searched.executions as f64),
                states(task, searched),
                bound(searched),
                seconds(report.elapsed),
                if report.failure.is_some() { "FAILS" } else { "holds" }.to_owned(),
            ]);
        }
    }
    grid
}

fn exhibits(catalog: &[(&Exhibit, Vec<Done>)]) -> Grid {
    let left = ["breaks", "format"].map(|name| (name, Align::Left));
    let right = ["runs", "steps", "s"].map(|name| (name, Align::Right));
    let columns = left.into_iter().chain(right).chain([("result", Align::Left)]);
    let mut grid = Grid::new(columns);
    for (exhibit, done) in catalog {
        grid.heading(format!("{} ({})", exhibit.name, exhibit.origin.name()));
        for (task, report) in done {
            let failure = report.failure.as_ref();
            let broken = failure.map_or("nothing", |failure| failure.property);
            let runs = match report.searched.executions {
                0 => String::new(),
                runs => exact(runs as f64),
            };
            grid.row([
                broken.to_owned(),
                task.format.to_owned(),
                runs,
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
    if task.has_schedules() { exact(searched.states as f64) } else { String::new() }
}

fn bound(searched: &Searched) -> String {
    match searched.complete {
        _ if searched.exhausted => "all".to_owned(),
        Some(bound) => bound.to_string(),
        None => "-".to_owned(),
    }
}

fn seconds(elapsed: Duration) -> String {
    fixed(elapsed.as_secs_f64(), 2)
}

/// Describes an injected bug, and how it fails.
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

/// Lists the properties, scenarios and injected bugs that can be checked.
pub(super) fn list(columns: usize) -> String {
    let heads = |first, says| [(first, Align::Left), (says, Align::Left)];
    let mut properties = Grid::new(heads("property", "what must hold"));
    for property in Property::ALL {
        properties.row([property.name(), property.says()]);
    }
    let mut scenarios = Grid::new(heads("scenario", "what happens"));
    for scenario in SCENARIOS {
        scenarios.row([scenario.name, scenario.about]);
    }
    let mut exhibits = Grid::new(heads("exhibit", "its origin, and the bug"));
    for exhibit in EXHIBITS {
        let what = format!("{}: {}", exhibit.origin.name(), exhibit.what);
        exhibits.row([exhibit.name.to_owned(), what]);
    }
    [properties, scenarios, exhibits].map(|grid| grid.text(columns)).join("\n")
}
