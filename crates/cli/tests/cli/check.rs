//! `check`: what it prints and how it ends.

use crate::common::{records, refused, run, stdout};
use pageout_record::schema::{StepKind, Told};

#[test]
fn what_there_is_is_listed() {
    insta::assert_snapshot!(stdout("check --list"));
}

#[test]
fn an_exhibit_is_shown_in_steps() {
    insta::assert_snapshot!(stdout("check --exhibit write-out-before-flush"));
}

#[test]
fn counterexamples_are_in_words() {
    for (exhibit, says) in [
        ("byte-length", "test_and_clear_young_ptes, young=per-entry flush=none, of entries 0 to"),
        ("batch-past-end", "one by one, young pages are 1, folio 0 is in generation"),
        ("look-around-one", "young="),
    ] {
        let shown = stdout(&format!("check --exhibit {exhibit}"));
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(says) && !flat.contains('{'), "{shown}");
    }
}

#[test]
fn a_schedule_is_replayed_as_the_counterexample_says() {
    let shown = stdout("check --exhibit free-before-flush --format x86-small");
    let (_, command) = shown.split_once("Replay:\n    pageout ").expect("it names the command");
    let replayed = run(&command.replace("\\\n", ""));
    assert_eq!(replayed.status.code(), Some(1), "what is replayed fails");
    let replayed = String::from_utf8(replayed.stdout).expect("output is UTF-8");
    assert!(shown.ends_with(&replayed), "{replayed}");
    let default = "check --exhibit free-before-flush --format x86-small --replay default";
    assert_eq!(run(default).status.code(), Some(0), "without the deviation all is well");
}

#[test]
fn a_counterexample_s_record_has_the_steps_that_are_printed() {
    let of = "check --exhibit free-before-flush --format x86-small";
    let text = stdout(of);
    let set = records(of);
    let [record] = &set.records[..] else { panic!("one search: {set:?}") };
    let metric = |name| record.metric(name).expect(name);
    assert_eq!(metric("failures").values, [1.0]);
    let Told::Sequence(sequence) = metric("counterexample").told() else { panic!("no steps") };
    let (found, steps) = sequence.steps.split_last().expect("steps");
    for (number, step) in (1..).zip(steps) {
        let line = format!("{number}. {}: {}", sequence.actors[step.actor], step.text);
        assert!(text.contains(&line), "{line}\n{text}");
        assert_eq!(step.after.len(), sequence.watched.len());
    }
    assert!(found.kind == StepKind::Violation && text.contains(&found.text), "{found:?}");
    assert!(steps.iter().all(|step| step.kind == StepKind::Step));
    // The entry is gone from the table while the TLBs may still hold it: that is the bug.
    let gone =
        steps.iter().find(|step| step.text.starts_with("takes out")).expect("it is unmapped");
    assert_eq!(gone.after[0], "nothing");
    assert!(gone.after[1].contains("page 0 → frame 64"), "{gone:?}");
}

#[test]
fn a_swap_entry_is_shown_in_the_table_from_the_step_that_leaves_it() {
    let set = records("check --exhibit write-out-before-flush --format x86-small");
    let told = set.records[0].metric("counterexample");
    let Told::Sequence(sequence) = told.expect("a counterexample").told() else {
        panic!("no steps")
    };
    let tables: Vec<_> = sequence.steps.iter().map(|step| (&*step.text, &*step.after)).collect();
    let left = tables.iter().position(|(text, _)| text.starts_with("leaves a swap entry"));
    let left = left.expect("the page is swapped out");
    assert_eq!(tables[left - 1].1[0], "nothing");
    assert_eq!(tables[left].1[0], "page 0: a swap entry");
    assert_eq!(tables[left + 1].1[0], "page 0: a swap entry");
}

#[test]
fn a_choice_that_an_execution_does_not_have_is_refused() {
    let of = "check --exhibit free-before-flush --format x86-small --replay";
    refused(&format!("{of} 0:77"), &["choice 0:77", "options 0 to"]);
    refused(&format!("{of} 9999:1"), &["choice 9999:1", "steps"]);
    refused("check reclaim-dirty --format x86-small --replay 0:77", &["choice 0:77"]);
    let elsewhere = "check --exhibit free-before-flush --format riscv-small";
    refused(elsewhere, &["free-before-flush", "arm64-small-4, x86-small"]);
}

#[test]
fn a_property_is_searched_up_to_a_bound() {
    let text = stdout("check protection --bound 1 --format arm64-small-4");
    let rows: Vec<_> = text.lines().filter(|line| line.contains("arm64-small-4")).collect();
    assert_eq!(rows.len(), 11, "{text}");
    assert!(rows.iter().all(|row| row.ends_with("holds")), "{text}");
    assert!(text.contains("\nprotection\n"), "{text}");
    assert!(text.ends_with("All properties held, searches: 11.\n"), "{text}");
    assert!(!text.contains("Bugs that must"), "{text}");
}
