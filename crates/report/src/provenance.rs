//! The origin of the records: the command, the build and the machine.

use crate::budget::Budget;
use crate::text::count;
use maud::{Markup, html};
use pageout_record::schema::{RecordFile, Run};
use std::collections::BTreeSet;

/// The maximum number of runs that are listed.
const LISTED: usize = 64;

/// Returns the command, and the commit, machine and seeds of each run.
pub(crate) fn provenance(command: &str, file: &RecordFile, budget: &mut Budget) -> Markup {
    let seeds: BTreeSet<u64> = file.records().map(|record| record.seed).collect();
    let named: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
    let more = seeds.len().saturating_sub(named.len());
    if file.sets.len() > LISTED {
        budget.note(format!("{LISTED} of {} runs are listed.", file.sets.len()));
    }
    html! {
        dl {
            dt { "Command" }
            dd { code { (command) } }
            dt { @if seeds.len() == 1 { "Seed" } @else { "Seeds" } }
            dd { (named.join(", ")) @if more > 0 { " and " (more) " more" } }
            @for (index, set) in file.sets.iter().take(LISTED).enumerate() {
                @if file.sets.len() > 1 { dt.run { "Run " (index + 1) } dd.run {} }
                (run(&set.run))
            }
        }
    }
}

fn run(of: &Run) -> Markup {
    let machine = &of.machine;
    html! {
        dt { "Tool" }
        dd { (of.tool) }
        dt { "Commit" }
        dd { (of.commit.as_deref().unwrap_or("not known")) }
        dt { "Machine" }
        dd {
            (machine.cpu) ", " (machine.arch) ", " (count(machine.cores as usize, "core")) ", "
            (machine.memory_mib) " MiB, " (machine.os)
        }
        dt { "Run" }
        dd { code { (of.id) } }
    }
}
