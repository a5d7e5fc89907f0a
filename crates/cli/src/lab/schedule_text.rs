//! The text that `lab schedule` prints.

use pageout_lab::{Failure, Replayed, Schedule, Scheduled, Search, Searched, schedule_table};
use std::fmt::Write;

/// Writes the results of a search, and of the replays.
pub(super) fn scheduled(scheduled: &Scheduled, search: &Search) -> String {
    let mut parts =
        vec![format!("{} on {} CPUs, {}\n", search.workload.text(), search.cpus, search.strategy)];
    if scheduled.searched.is_empty() {
        parts = vec![format!("{} on {} CPUs\n", search.workload.text(), search.cpus)];
    }
    let were_run = |(_, runs): &&(Schedule, Vec<Replayed>)| !runs.is_empty();
    parts.extend(scheduled.given.iter().filter(were_run).map(replayed));
    parts.extend(scheduled.searched.iter().map(|of| searched(of, search)));
    parts.extend(scheduled.found.iter().filter(were_run).map(replayed));
    parts.push(
        "Seen: orders of the CPUs at basic blocks, TLB flushes of x86 that are deferred.\n\
         Not seen: weak memory, and what an arm64 broadcast takes to arrive.\n"
            .to_owned(),
    );
    parts.join("\n")
}

fn seconds(of: f64) -> String {
    if of < 10.0 { format!("{of:.1} s") } else { format!("{of:.0} s") }
}

fn searched(of: &Searched, search: &Search) -> String {
    let mut text = format!("{}\n", of.kernel);
    let mut line = |name: &str, said: String| {
        writeln!(text, "  {name:<14} {said}").expect("a string takes all");
    };
    let passed = || format!("passes; {} points, {} checks", of.points, of.checks);
    line("without turns", of.control.as_ref().map_or_else(passed, |how| format!("fails: {how}")));
    let rate = of.tried as f64 / of.seconds.max(0.001);
    let failed = format!("{} tried, {} failed; {rate:.2} a second", of.tried, of.failed.len());
    line("seeds", failed);
    let Some(failure) = &of.failure else { return text };
    let first = of.first.map_or_else(String::new, seconds);
    line("first failure", format!("seed {}, after {first}", failure.seed));
    self::failure(failure, &mut line);
    text.push('\n');
    text += &schedule_table(&failure.rows, search.cpus);
    text.push('\n');
    text += &failure.schedule.to_string();
    text
}

fn failure(of: &Failure, line: &mut dyn FnMut(&str, String)) {
    line("", of.schedule.failure.clone());
    let (equal, more) = of.equal;
    line("the seed again", format!("{equal} of {more} further runs equal to the byte"));
    let turns = of.schedule.turns.len();
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
