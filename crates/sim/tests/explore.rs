//! `check`'s searches: the engine holds in every scenario, and each exhibit is found.

use pageout_sim::explore::check::{explore, replay};
use pageout_sim::explore::counterexample::parse_choices;
use pageout_sim::explore::museum::{COMPARISONS, ENGINE, EXHIBITS, Finding};
use pageout_sim::explore::scenario::{SCENARIOS, Scenario};
use pageout_sim::explore::search::Bounds;

/// Enough for every exhibit; the command goes further with the engine.
const BOUNDS: Bounds = Bounds { deviations: 1, executions: u64::MAX };

/// What a person follows.
const MOST_STEPS: usize = 12;

#[test]
fn the_engine_holds_in_every_scenario() {
    for scenario in SCENARIOS {
        for stage in ENGINE {
            let report = explore(*stage, scenario, BOUNDS, "pageout check");
            if let Some(failure) = report.failure {
                panic!("{}: {failure}", scenario.name);
            }
            assert_eq!(report.searched.complete, Some(1), "{} {}", scenario.name, stage.format);
        }
    }
}

#[test]
fn exhibits_are_found_in_few_steps_and_replayed() {
    for exhibit in EXHIBITS {
        match exhibit.finding {
            Finding::Schedule(name, stages) => {
                let scenario = Scenario::named(name).expect("the exhibit's scenario exists");
                for stage in stages {
                    let found = explore(*stage, scenario, BOUNDS, "pageout check").failure;
                    let found = found.unwrap_or_else(|| panic!("{} is found", exhibit.name));
                    assert!(found.steps.len() <= MOST_STEPS, "{found}");
                    let command = found.replay.as_deref().expect("a schedule is replayed");
                    let choices = command.rsplit(' ').next().expect("it ends with the choices");
                    let choices = parse_choices(choices).expect("choices are read back");
                    let again = replay(*stage, scenario, &choices, "pageout check");
                    assert_eq!(again, Some(found), "{}", exhibit.name);
                }
            }
            Finding::Cases(_, cases) => {
                for (format, compare) in cases {
                    assert!(compare().is_err(), "{} in {format}", exhibit.name);
                }
            }
        }
    }
}

#[test]
fn the_engine_passes_every_comparison() {
    for (property, formats) in COMPARISONS {
        for (format, compare) in *formats {
            let passed = compare();
            assert!(passed.is_ok_and(|cases| cases > 0), "{property} in {format}");
        }
    }
}

#[test]
fn choices_that_are_none_are_refused() {
    for text in ["", "3", "3:", "3:1,", "5:1,3:1", "3:1,3:2", "x:1", "3:-1"] {
        assert!(parse_choices(text).is_err(), "{text}");
    }
}
