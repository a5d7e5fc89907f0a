//! A bug that was put into the engine, and the steps that show it: searched for on the spot.

use super::{WIDTH, clip, pad};
use anstyle::Style;
use pageout_check::check::Task;
use pageout_check::exhibit::EXHIBITS;
use pageout_check::records;
use pageout_check::search::Bounds;
use pageout_record::schema::{Ground, Record, RecordSet, StepKind, Told};

/// The bug, and the format whose search takes the fewest steps.
const SHOWN: (&str, &str) = ("free-before-flush", "x86-small");

/// Searches for the bug; returns the record of the search.
pub(super) fn record() -> Option<Record> {
    let (name, format) = SHOWN;
    let exhibit = EXHIBITS.iter().find(|exhibit| exhibit.name == name)?;
    let task = Task::of_exhibit(exhibit).into_iter().find(|task| task.format == format)?;
    let all = Bounds { deviations: usize::MAX, executions: u64::MAX };
    Some(records::search(&task, Some(exhibit), &task.run(all)))
}

/// Writes the steps, a line each; nothing if no search found any.
pub(super) fn steps(set: &RecordSet) -> String {
    let searches = set.records.iter().filter(|record| record.ground == Ground::Check);
    let found = searches.filter_map(|record| {
        let metric = record.metric(records::COUNTEREXAMPLE)?;
        let Told::Sequence(sequence) = metric.told() else { return None };
        Some((record, sequence))
    });
    let Some((record, sequence)) = found.into_iter().next() else { return String::new() };
    let bold = Style::new().bold();
    let mut text = format!("{bold}Reclaim frees memory that a program goes on reading:{bold:#}\n");
    let width = sequence.actors.iter().map(|actor| actor.chars().count()).max().unwrap_or(0);
    for (number, step) in sequence.steps.iter().enumerate() {
        let actor = pad(sequence.actors.get(step.actor).map_or("", String::as_str), width);
        let line = |told: &str| clip(&format!("{} {actor}  {told}", number + 1), WIDTH - 2);
        // The property's name stands before what broke it.
        let broken = step.text.split_once(": ").map_or(step.text.as_str(), |(_, told)| told);
        text += &match step.kind {
            StepKind::Step => format!("  {}\n", line(&step.text)),
            StepKind::Violation => format!("  {bold}{}{bold:#}\n", line(broken)),
        };
    }
    let executions = record.metric("executions").and_then(|of| of.values.first());
    let searched = executions.map_or(0.0, |number| *number);
    text += &format!(
        "Put in on purpose, found just now in {searched} schedules. Others: pageout check --list\n"
    );
    text
}
