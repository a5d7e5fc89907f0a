//! Programs recorded for real. Valgrind has to be installed: where it is not, these fail.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pageout_trace::{
    Ending, Event, Info, Kind, Mapping, RecordError, RecordOptions, Summary, TraceReader, record,
};

struct Recording {
    directory: tempfile::TempDir,
    options: RecordOptions,
}

fn recording(command: &[&str]) -> Recording {
    let directory = tempfile::tempdir().expect("a directory");
    let command = command.iter().map(Into::into).collect();
    let options = RecordOptions::new(command, directory.path().join("a.pgt"));
    Recording { directory, options }
}

impl Recording {
    fn run(&self) -> Summary {
        match record(&self.options, &mut |_| {}) {
            Ok(summary) => summary,
            Err(error) => panic!("{error} ({error:?})"),
        }
    }

    fn refused(&self) -> RecordError {
        let error = record(&self.options, &mut |_| {}).expect_err("no recording");
        let mut left = std::fs::read_dir(self.directory.path()).expect("lists");
        assert!(left.next().is_none(), "a file is left after {error}");
        error
    }

    fn path(&self) -> &PathBuf {
        &self.options.output
    }
}

/// A reader refuses accesses outside mappings, so a trace that is read has none.
#[test]
fn a_program_is_recorded_with_its_mappings() {
    let recording = recording(&["/bin/true"]);
    let summary = recording.run();
    assert_eq!(summary.totals.ending, Ending::Exited(0));
    assert!(summary.totals.references > 50_000, "{summary:?}");
    let Summary { unknown_pages, children, skipped_lines, .. } = summary;
    assert_eq!((unknown_pages, children, skipped_lines), (0, 0, 0));

    let mut reader = TraceReader::open(recording.path()).expect("opens");
    let events: Vec<Event> = reader.by_ref().collect::<Result<_, _>>().expect("reads");
    assert_eq!(reader.totals(), Some(&summary.totals));
    assert_eq!(reader.header().command, ["/bin/true"]);
    let maps: Vec<Mapping> = events
        .iter()
        .filter_map(|event| if let Event::Map(mapping) = event { Some(*mapping) } else { None })
        .collect();
    let mapped = |name: &str| {
        maps.iter().any(|mapping| match mapping.kind {
            Kind::File { file, .. } => {
                mapping.permissions.executable && reader.file(file).expect("named").contains(name)
            }
            _ => false,
        })
    };
    assert!(mapped("true") && mapped("ld-") && mapped("libc"), "{maps:?}");
    assert!(!mapped("lackey"), "Valgrind's own memory is no part of the trace");
    assert!(maps.iter().any(|mapping| mapping.kind == Kind::Stack), "{maps:?}");
    assert!(events.iter().any(|event| matches!(event, Event::Protect { .. })));
    assert!(events.iter().any(|event| matches!(event, Event::Unmap(_))));
}

#[test]
fn a_failing_program_has_a_trace_and_its_children_do_not() {
    let recording = recording(&["/bin/sh", "-c", "/bin/true; exit 3"]);
    let summary = recording.run();
    assert_eq!((summary.totals.ending, summary.children), (Ending::Exited(3), 1));
    let info = Info::of(recording.path()).expect("reads").to_string();
    assert!(info.contains("ended           with exit status 3"), "{info}");
}

#[test]
fn a_program_killed_by_a_signal_has_a_trace() {
    let summary = recording(&["/bin/sh", "-c", "kill -9 $$"]).run();
    assert_eq!(summary.totals.ending, Ending::Signalled(9));
}

#[test]
fn a_program_that_replaces_itself_is_traced_up_to_there() {
    let summary = recording(&["/bin/sh", "-c", "exec /bin/false"]).run();
    assert_eq!(summary.totals.ending, Ending::Replaced);
}

#[test]
fn a_child_left_behind_does_not_hold_the_recording() {
    let begun = Instant::now();
    let summary = recording(&["/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & exit 0"]).run();
    assert_eq!((summary.totals.ending, summary.children), (Ending::Exited(0), 1));
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[test]
fn what_cannot_run_is_told_and_leaves_nothing() {
    let error = recording(&["/nonexistent/program"]).refused();
    let expected = "`/nonexistent/program` did not start under Valgrind: command not found";
    assert_eq!(error.to_string(), expected);
    let error = recording(&["/etc/passwd"]).refused();
    assert!(error.to_string().ends_with("it cannot be executed"), "{error}");
    assert!(matches!(recording(&[]).refused(), RecordError::NoCommand));
    let mut recording = recording(&["/bin/true"]);
    recording.options.valgrind = PathBuf::from("/nonexistent/valgrind");
    let error = recording.refused();
    let expected = "cannot find `/nonexistent/valgrind`: install the package `valgrind`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_program_runs() {
    let mut recording = recording(&["/bin/sh", "-c", "touch ran"]);
    let ran = recording.directory.path().join("ran");
    recording.options.command[2] = format!("touch {}", ran.display()).into();
    recording.options.output = recording.directory.path().join("missing/a.pgt");
    let error = record(&recording.options, &mut |_| {}).expect_err("no directory");
    assert!(matches!(error, RecordError::Write(_)), "{error}");
    assert!(!ran.exists());
}
