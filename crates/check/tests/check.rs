//! `check`'s searches: the engine holds in every scenario.

use pageout_check::check::Task;
use pageout_check::counterexample::parse_choices;
use pageout_check::search::Bounds;

/// The bounds of the test; the command goes further.
const BOUNDS: Bounds = Bounds { deviations: 1, executions: u64::MAX };

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

/// Makes two choices against the default: one fault finds nothing, another makes a page table
/// there, and the first puts a leaf over it.
#[test]
fn no_leaf_replaces_a_page_table() {
    let bounds = Bounds { deviations: 2, ..BOUNDS };
    let mut tasks = Task::of_engine();
    tasks.retain(|task| task.what == "leaf-copy-on-write");
    assert_eq!(tasks.len(), 4, "formats");
    let failed = |task: Task| Some(task.run(bounds).failure?.to_string());
    let failures: Vec<String> = tasks.into_iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn choices_that_are_none_are_refused() {
    for text in ["", "3", "3:", "3:1,", "5:1,3:1", "3:1,3:2", "x:1", "3:-1"] {
        assert!(parse_choices(text).is_err(), "{text}");
    }
}
