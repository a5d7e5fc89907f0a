//! Programs recorded for real. Valgrind and QEMU's user mode have to be installed: without them
//! these tests fail.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pageout_trace::{
    Ending, Event, Info, Kind, Mapping, RecordError, RecordOptions, Recorded, Recorder, Summary,
    TraceReader, record,
};

struct Recording {
    directory: tempfile::TempDir,
    options: RecordOptions,
}

fn recording(command: &[&str]) -> Recording {
    let directory = tempfile::tempdir().expect("a directory");
    let command = command.iter().map(Into::into).collect();
    let options = RecordOptions::new(Recorder::Valgrind, command, directory.path().join("a.pgt"));
    Recording { directory, options }
}

impl Recording {
    fn run(&self) -> Summary {
        self.run_all().first
    }

    fn run_all(&self) -> Recorded {
        match record(&self.options, &mut |_| {}) {
            Ok(recorded) => recorded,
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
    let Summary { unknown_pages, children, replacements, skipped_lines, .. } = summary;
    assert_eq!((unknown_pages, children, replacements, skipped_lines), (0, 0, 0, 0));

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

/// Returns the files that were mapped executable, in the order in which they were mapped.
fn programs(path: &PathBuf) -> Vec<String> {
    let mut reader = TraceReader::open(path).expect("opens");
    let mut names: Vec<String> = Vec::new();
    while let Some(event) = reader.next() {
        if let Event::Map(Mapping { kind: Kind::File { file, .. }, permissions, .. }) =
            event.expect("reads")
            && permissions.executable
        {
            let name = reader.file(file).expect("named").to_owned();
            names.extend(Some(name).filter(|name| !names.contains(name)));
        }
    }
    names
}

#[test]
fn a_program_that_replaces_itself_is_followed() {
    let recording = recording(&["/bin/sh", "-c", "exec /bin/false"]);
    let summary = recording.run();
    assert_eq!((summary.totals.ending, summary.replacements), (Ending::Exited(1), 1));
    let names = programs(recording.path());
    let shell = std::fs::canonicalize("/bin/sh").expect("there is a shell");
    let place = |end: &str| names.iter().position(|name| name.ends_with(end));
    let (before, after) = (place(shell.to_str().expect("UTF-8")), place("/false"));
    assert!(before.is_some() && before < after, "{names:?}");
}

/// Programs are often started by scripts, which also close descriptors that they do not own.
#[test]
fn scripts_that_start_each_other_are_followed_and_their_children_are_not() {
    let mut recording = recording(&[]);
    let script = |name: &str, text: &str| {
        let path = recording.directory.path().join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).expect("a file");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("it is ours");
        path
    };
    let told = recording.directory.path().join("told");
    let inner = script("inner", "exec /bin/sh -c 'exit 3'");
    let child = format!("(cd /bin && ./env \"a b\"=c) > {}", told.display());
    // The descriptor that the log goes to.
    let outer = script("outer", &format!("{child}; exec 200>&-; exec {} x y", inner.display()));
    recording.options.command = vec![outer.into()];
    let summary = recording.run();
    assert_eq!((summary.totals.ending, summary.replacements), (Ending::Exited(3), 2));
    let names = programs(recording.path());
    assert!(!names.iter().any(|name| name.ends_with("/env")), "{names:?}");
    let told = std::fs::read_to_string(told).expect("the child ran");
    assert!(told.lines().any(|line| line == "a b=c"), "{told}");
    assert!(!told.to_lowercase().contains("valgrind"), "{told}");
}

/// A program that cannot be run in the place of another leaves that one running.
#[test]
fn a_replacement_that_fails_is_none() {
    let mut recording = recording(&["/bin/bash", "-c", "shopt -s execfail; exec /none; exit 4"]);
    let summary = recording.run();
    assert_eq!((summary.totals.ending, summary.replacements), (Ending::Exited(4), 0));
    recording.options.command[2] = "exec /etc/passwd".into();
    assert_eq!(recording.run().totals.ending, Ending::Exited(126));
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
    recording.options.program = PathBuf::from("/nonexistent/valgrind");
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

/// QEMU's user mode runs only programs of its own architecture.
#[cfg(target_arch = "x86_64")]
mod under_qemu {
    use super::*;

    fn under_qemu(command: &[&str]) -> Recording {
        let mut recording = recording(command);
        recording.options =
            RecordOptions::new(Recorder::Qemu, recording.options.command, recording.options.output);
        recording
    }

    /// Returns the used pages of each file whose name has this end, by their places in the file.
    fn used(path: &PathBuf, end: &str) -> Vec<u64> {
        let mut reader = TraceReader::open(path).expect("opens");
        let mut pages = Vec::new();
        while let Some(event) = reader.next() {
            let Event::Access { page, .. } = event.expect("reads") else { continue };
            let area = reader.areas().get(page).expect("it is mapped");
            if let Kind::File { file, offset } = area.kind
                && reader.file(file).expect("named").ends_with(end)
            {
                pages.push(offset + page.number() - area.pages.start());
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    #[test]
    fn a_program_uses_the_same_pages_of_its_file_as_under_valgrind() {
        let command = ["/bin/sh", "-c", "for i in 1 2 3; do echo $i; done >/dev/null"];
        let (valgrind, qemu) = (recording(&command), under_qemu(&command));
        let (by_valgrind, by_qemu) = (valgrind.run(), qemu.run());
        assert_eq!(by_qemu.totals.ending, Ending::Exited(0));
        assert_eq!((by_qemu.unknown_pages, by_qemu.children, by_qemu.skipped_lines), (0, 0, 0));
        let shell = std::fs::canonicalize("/bin/sh").expect("there is a shell");
        let shell = shell.to_str().expect("UTF-8");
        let (valgrind, qemu) = (used(valgrind.path(), shell), used(qemu.path(), shell));
        assert!(valgrind.len() > 5, "{valgrind:?}");
        assert_eq!(valgrind, qemu);
        // Modifies are two references, and libraries choose other loops.
        let ratio = by_qemu.totals.references as f64 / by_valgrind.totals.references as f64;
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }

    #[test]
    fn how_a_program_ends_is_told() {
        let ending = |script: &str| {
            let summary = under_qemu(&["sh", "-c", script]).run();
            (summary.totals.ending, summary.children)
        };
        assert_eq!(ending("/bin/true; exit 3"), (Ending::Exited(3), 1));
        assert_eq!(ending("kill -9 $$"), (Ending::Signalled(9), 0));
        assert_eq!(ending("exec /bin/false"), (Ending::Replaced, 0));
        assert_eq!(ending("sleep 60 >/dev/null 2>&1 & exit 0"), (Ending::Exited(0), 1));
    }

    #[test]
    fn what_cannot_run_under_qemu_is_told() {
        let error = under_qemu(&["/nonexistent/program"]).refused();
        assert!(error.to_string().contains("did not start under QEMU"), "{error}");
        let mut recording = under_qemu(&["/bin/true"]);
        recording.options.program = PathBuf::from("/nonexistent/qemu");
        let expected = "cannot find `/nonexistent/qemu`: install the package `qemu-user`";
        assert_eq!(recording.refused().to_string(), expected);
        let directory = tempfile::tempdir().expect("a directory");
        let shim = directory.path().join("shim");
        std::fs::write(&shim, "#!/bin/sh -e\nexec ls\n").expect("a file");
        let shim = shim.to_str().expect("UTF-8");
        let error = under_qemu(&[shim]).refused().to_string();
        assert!(error.starts_with(&format!("{shim} is a script for `/bin/sh")), "{error}");
    }
}
