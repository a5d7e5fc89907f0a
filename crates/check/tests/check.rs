//! `check`'s searches: the engine holds in every scenario, and each exhibit is found.

use pageout_check::catalog::EXHIBITS;
use pageout_check::check::Task;
use pageout_check::counterexample::parse_choices;
use pageout_check::search::Bounds;

/// Enough for every exhibit; the command goes further with the engine.
const BOUNDS: Bounds = Bounds { deviations: 1, executions: u64::MAX };

/// What a person follows.
const MOST_STEPS: usize = 12;

#[test]
fn the_engine_holds() {
    let mut failures = String::new();
    for task in Task::of_engine() {
        let report = task.run(BOUNDS);
        if let Some(failure) = report.failure {
            failures += &format!("{} {} {}: {failure}\n", task.property, task.what, task.format);
            continue;
        }
        let searched = report.searched;
        assert!(searched.exhausted || searched.complete == Some(1), "{task:?} {searched:?}");
        assert!(searched.executions > 0, "{task:?}");
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn exhibits_are_found_in_few_steps_and_replayed() {
    for exhibit in EXHIBITS {
        for task in Task::of_exhibit(exhibit) {
            let found = task.run(BOUNDS).failure;
            let found = found.unwrap_or_else(|| panic!("{} is found", exhibit.name));
            assert!(found.happened.steps.len() <= MOST_STEPS, "{found}");
            if let Some(command) = found.replay.as_deref() {
                let choices = command.rsplit(' ').next().expect("it ends with the choices");
                let choices = parse_choices(choices).expect("choices are read back");
                assert_eq!(task.replay(&choices), Ok(Some(found)), "{}", exhibit.name);
            }
        }
    }
}

#[test]
fn choices_that_are_none_are_refused() {
    for text in ["", "3", "3:", "3:1,", "5:1,3:1", "3:1,3:2", "x:1", "3:-1"] {
        assert!(parse_choices(text).is_err(), "{text}");
    }
}
