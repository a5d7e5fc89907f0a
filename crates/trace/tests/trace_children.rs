//! Children recorded under a real Valgrind, which has to be installed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pageout_trace::{
    Ending, Info, RecordError, RecordOptions, Recorded, RecordedChild, Recorder, record,
};
use tempfile::{TempDir, tempdir};

fn options(directory: &TempDir, command: &[&str]) -> RecordOptions {
    let command = command.iter().map(Into::into).collect();
    let output = directory.path().join("run.pgt");
    let mut options = RecordOptions::new(Recorder::Valgrind, command, output);
    options.children = true;
    options
}

/// Records a shell's command, and reads all traces that it leaves.
fn recorded(script: &str) -> Recorded {
    let directory = tempdir().expect("a directory");
    let done = match record(&options(&directory, &["/bin/sh", "-c", script]), &mut |_| {}) {
        Ok(done) => done,
        Err(error) => panic!("{error} ({error:?})"),
    };
    let mut expected = BTreeSet::from([directory.path().join("run.pgt")]);
    for child in &done.children {
        let info = Info::of(&child.output).expect("reads");
        assert_eq!(info.totals, child.summary.totals);
        assert_eq!(info.header.command.first(), Some(&child.program));
        assert_eq!((child.summary.unknown_pages, child.summary.skipped_lines), (0, 0), "{child:?}");
        expected.insert(directory.path().join(format!("run.{}.pgt", child.number)));
    }
    let there = fs::read_dir(directory.path()).expect("lists");
    let there: BTreeSet<_> = there.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(there, expected);
    done
}

/// Returns the names of the programs, sorted.
fn programs(done: &Recorded) -> Vec<String> {
    let name = |child: &RecordedChild| {
        let name = Path::new(&child.program).file_name().expect("a file");
        name.to_str().expect("UTF-8").to_owned()
    };
    let mut names: Vec<_> = done.children.iter().map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn each_command_of_a_pipeline_has_its_trace() {
    let done = recorded("seq 1 1000 | sort | tail -1 >/dev/null; exit 3");
    assert_eq!(done.first.totals.ending, Ending::Exited(3));
    assert_eq!(programs(&done), ["seq", "sort", "tail"]);
    assert_eq!(done.untraced_children, 0, "{done:?}");
    for child in &done.children {
        assert_eq!(child.summary.totals.ending, Ending::Exited(0));
        assert!(child.summary.totals.references > 50_000, "{child:?}");
    }
}

#[test]
fn how_children_end_is_told_as_far_as_it_can_be() {
    let done = recorded("sh -c 'kill -9 $$'; sh -c 'kill -15 $$'; sh -c 'exit 4'; true");
    let endings: Vec<_> = done.children.iter().map(|child| child.summary.totals.ending).collect();
    // No log shows a signal that cannot be caught.
    assert_eq!(endings, [Ending::Unknown, Ending::Signalled(15), Ending::Exited(4)]);
}

#[test]
fn a_child_that_outlives_the_first_process_is_recorded_to_its_end() {
    let done = recorded("(sleep 1 &) >/dev/null 2>&1; exit 0");
    assert_eq!(programs(&done), ["sleep"]);
    assert_eq!(done.children[0].summary.totals.ending, Ending::Exited(0));
}

#[test]
fn children_that_execute_nothing_are_counted() {
    let done = recorded("(:); (exit 1); /bin/true; :");
    assert_eq!((programs(&done), done.untraced_children), (vec!["true".to_owned()], 2));
}

#[test]
fn children_of_children_and_their_replacements_are_recorded() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("script");
    fs::write(&path, "#!/bin/sh\n/bin/true; exec /bin/false\n").expect("a file");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let done = recorded(&format!("cd {}; ./script; exit 0", directory.path().display()));
    let [script, inner] = &done.children[..] else { panic!("{done:?}") };
    assert!(script.program.ends_with("script") && inner.program.ends_with("true"), "{done:?}");
    // The program continues as another one, in the same trace.
    assert_eq!((script.summary.totals.ending, script.summary.replacements), (Ending::Exited(1), 1));
}

/// A trace whose file cannot be replaced ends all processes.
#[test]
fn a_child_without_a_trace_ends_the_recording() {
    let directory = tempdir().expect("a directory");
    let options = options(&directory, &["/bin/sh", "-c", "/bin/true; sleep 60"]);
    fs::create_dir(options.child_output(1)).expect("a directory");
    let error = record(&options, &mut |_| {}).expect_err("no file can be there");
    assert!(error.to_string().contains("run.1.pgt is not a regular file"), "{error}");
    assert!(!options.output.exists());
}

#[test]
fn qemu_does_not_follow_children() {
    let directory = tempdir().expect("a directory");
    let mut options = options(&directory, &["/bin/true"]);
    options.recorder = Recorder::Qemu;
    let error = record(&options, &mut |_| {}).expect_err("it cannot");
    assert!(matches!(error, RecordError::Children { .. }));
    let expected = "--children needs --recorder valgrind: QEMU records one process";
    assert_eq!(error.to_string(), expected);
}
