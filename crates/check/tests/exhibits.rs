//! Each exhibit is found.

use pageout_check::check::Task;
use pageout_check::counterexample::parse_choices;
use pageout_check::exhibit::EXHIBITS;
use pageout_check::search::Bounds;

/// Bounds that are enough for every exhibit.
const BOUNDS: Bounds = Bounds { deviations: 1, executions: u64::MAX };

#[test]
fn exhibits_are_found_in_few_steps_and_replayed() {
    for exhibit in EXHIBITS {
        for (task, (_, most)) in Task::of_exhibit(exhibit).iter().zip(exhibit.formats) {
            let found = task.run(BOUNDS).failure;
            let found = found.unwrap_or_else(|| panic!("{} is found", exhibit.name));
            assert!(found.happened.steps.len() <= *most, "{found}");
            if let Some(command) = found.replay.as_deref() {
                let choices = command.rsplit(' ').next().expect("it ends with the choices");
                let choices = parse_choices(choices).expect("choices are read back");
                assert_eq!(task.replay(&choices), Ok(Some(found)), "{}", exhibit.name);
            }
        }
    }
}
