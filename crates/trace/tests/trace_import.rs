//! Logs of `valgrind --tool=lackey --trace-mem=yes` made elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pageout_trace::{
    Ending, Event, Format, ImportError, ImportOptions, Info, Page, Totals, TraceReader, check_end,
    import,
};
use proptest::prelude::*;

const LOG: &str = "\
==3601== Lackey, an example Valgrind tool
==3601== Command: /bin/ls -l
==3601== 
I  0401ab70,3
I  0401ab73,5
 S 1fff000748,8
 L 0401bffc,8
SYSCALL[3601,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x4035000) 
SYSCALL[3601,1](334) unimplemented (by the kernel) syscall: 334! (ni_syscall)
 --> [pre-fail] Failure(0x26) 
--3601-- REDIR: 0x401d8a0
 M 04033e06,1
==3601== 
==3601== Exit code:       0
";

struct Output {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn output() -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    Output { _directory: directory, path }
}

fn options(epoch_references: u64) -> ImportOptions {
    ImportOptions {
        format: Some(Format::Lackey),
        epoch_references: Some(epoch_references),
        ..ImportOptions::default()
    }
}

fn import_log(log: &str, path: &Path, epoch: u64) -> Result<Totals, ImportError> {
    import(log.as_bytes(), path, &options(epoch), &mut |_| {}).map(|done| done.totals)
}

fn events(path: &Path) -> Vec<Event> {
    TraceReader::open(path).expect("opens").collect::<Result<_, _>>().expect("reads")
}

fn access(number: u64, store: bool, after: u64) -> Event {
    Event::Access { page: Page::new(number).expect("a page"), store, after }
}

#[test]
fn a_log_becomes_epochs_of_accesses_in_order() {
    let output = output();
    let totals = import_log(LOG, &output.path, 4).expect("imports");
    let expected = [
        // The second fetch is left out.
        access(0x401a, false, 0),
        access(0x01ff_f000, true, 2),
        // The load of eight bytes at ...ffc is on two pages.
        access(0x401b, false, 1),
        access(0x401c, false, 0),
        Event::EpochEnd { references: 4 },
        access(0x4033, true, 0),
        Event::EpochEnd { references: 1 },
    ];
    assert_eq!(events(&output.path), expected);
    assert_eq!((totals.references, totals.ending), (5, Ending::Unknown));
    let info = Info::of(&output.path).expect("reads");
    assert_eq!(info.header.command, ["/bin/ls", "-l"]);
    assert!(!info.header.mappings && info.areas.is_empty());
    let text = info.to_string();
    assert!(text.contains("no mappings were recorded: all pages count as anonymous"), "{text}");
}

#[test]
fn a_bare_log_and_foreign_line_ends_are_accepted() {
    let output = output();
    let log = "I  0401ab70,3\r\n L 1000,4\r\n\r\n S 1004,4\r\n";
    import_log(log, &output.path, 100).expect("imports");
    let expected = [
        access(0x401a, false, 0),
        access(1, false, 1),
        access(1, true, 1),
        Event::EpochEnd { references: 3 },
    ];
    assert_eq!(events(&output.path), expected);
}

#[test]
fn a_bad_line_is_named_and_nothing_is_written() {
    let output = output();
    let log = "I  0401ab70,3\n X 12,4\n";
    let error = import_log(log, &output.path, 100).expect_err("a bad line").to_string();
    let expected = "line 2: found ` X 12,4`; accepted are `I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`, \
                    ` S ADDRESS,SIZE` or ` M ADDRESS,SIZE`, with the address in hexadecimal and a \
                    size of 1 to 4096 bytes, and Valgrind's own lines \
                    (--tool=lackey --trace-mem=yes)";
    assert_eq!(error, expected);
    assert!(!output.path.exists());
}

#[test]
fn a_long_binary_line_is_shown_short() {
    let output = output();
    let line = "\u{1}\u{7f}".repeat(100_000);
    let error = import_log(&line, &output.path, 100).expect_err("a bad line").to_string();
    assert!(error.starts_with("line 1: found `\\u{1}\\u{7f}"), "{error}");
    assert!(error.chars().count() < 700, "{error}");
}

/// The rest of a line that was cut off may be a valid line with another address or size.
#[test]
fn a_log_that_was_cut_off_is_refused_however_it_comes() {
    let output = output();
    for log in [" L 1000,8\n L 2000,1", " L 1000,8"] {
        let from_stream = import_log(log, &output.path, 100).expect_err("it was cut off");
        assert!(matches!(from_stream, ImportError::CutOff { .. }), "{log}: {from_stream}");
        let path = output.path.with_extension("log");
        std::fs::write(&path, log).expect("is written");
        let file = std::fs::File::open(&path).expect("opens");
        let at_once = check_end(&file, log.len() as u64, Some(Format::Lackey));
        assert!(matches!(at_once, Err(ImportError::CutOff { .. })), "{log}: {at_once:?}");
    }
    assert!(!output.path.exists());
}

/// Only the file's end is checked: the lines before may be wrong.
#[test]
fn a_file_s_end_is_looked_at_before_it_is_read() {
    let output = output();
    let path = output.path.with_extension("log");
    for (text, format, is_whole) in [
        ("", Format::Lackey, true),
        ("no log\n", Format::Lackey, true),
        ("no log", Format::PerfScript, false),
        ("no log", Format::Drmemtrace, false),
        ("no log", Format::Damon, false),
        ("no record", Format::Champsim, false),
        ("0123456789abcdef0123456789abcdef", Format::Champsim, false),
    ] {
        std::fs::write(&path, text).expect("is written");
        let file = std::fs::File::open(&path).expect("opens");
        let found = check_end(&file, text.len() as u64, Some(format));
        assert_eq!(found.is_ok(), is_whole, "{text:?} as {format:?}: {found:?}");
    }
}

#[test]
fn a_log_without_references_is_an_error() {
    let output = output();
    for log in ["", "==1== Memcheck, a memory error detector\n==1== \n"] {
        let error = import_log(log, &output.path, 100).expect_err("no reference");
        assert!(matches!(error, ImportError::Empty { .. }), "{error}");
    }
    assert!(!output.path.exists());
}

#[test]
fn an_epoch_length_out_of_bounds_is_an_error() {
    let output = output();
    let error = import_log(LOG, &output.path, 0).expect_err("no epoch").to_string();
    let most = 1_u64 << 40;
    let expected =
        format!("the trace format does not allow 0 references an epoch; 1 to {most} are accepted");
    assert_eq!(error, expected);
}

#[test]
fn progress_counts_references() {
    let output = output();
    let log = "I  0401ab70,3\n".repeat(600_000);
    let mut told = Vec::new();
    import(log.as_bytes(), &output.path, &options(1000), &mut |n| told.push(n)).expect("imports");
    assert_eq!(told, [262_144, 524_288, 600_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Young and dirty bits are those of a plain count, and each access is one of the reference
    /// at which it stands.
    #[test]
    fn epochs_hold_what_was_used(
        references in proptest::collection::vec(
            (0..6_u64, 0..4096_u64, 1..17_u64, 0..4_usize),
            1..200,
        ),
        epoch in 1..40_u64,
    ) {
        let output = output();
        let log: String = references.iter().map(|(page, offset, size, kind)| {
            format!("{}{:x},{size}\n", ["I  ", " L ", " S ", " M "][*kind], page * 4096 + offset)
        }).collect();
        import_log(&log, &output.path, epoch).expect("imports");
        let events = events(&output.path);
        let mut epochs = events.split_inclusive(|event| matches!(event, Event::EpochEnd { .. }));
        for chunk in references.chunks(usize::try_from(epoch).expect("small")) {
            let uses = |(page, offset, size, kind): &(u64, u64, u64, usize)| {
                let last = (offset + size - 1) / 4096;
                [*page, page + last].map(|page| (page, *kind >= 2))
            };
            let mut expected = BTreeMap::new();
            for (page, store) in chunk.iter().flat_map(uses) {
                *expected.entry(page).or_insert(false) |= store;
            }
            let (mut found, mut at) = (BTreeMap::new(), 0);
            let (end, accesses) = epochs.next().and_then(|e| e.split_last()).expect("an epoch");
            for event in accesses {
                let Event::Access { page, store, after } = *event else { panic!("{event:?}") };
                at += usize::try_from(after).expect("small");
                prop_assert!(uses(&chunk[at]).contains(&(page.number(), store)));
                *found.entry(page.number()).or_insert(false) |= store;
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(*end, Event::EpochEnd { references: chunk.len() as u64 });
        }
        prop_assert_eq!(epochs.next(), None);
    }

    #[test]
    fn any_bytes_are_imported_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let output = output();
        let _ = import(bytes.as_slice(), &output.path, &options(10), &mut |_| {});
    }
}
