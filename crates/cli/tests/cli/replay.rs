//! Hand-made traces, replayed to figures worked out by hand.

use crate::common::{assert_refused, command, counted, records, run_with_input, stderr, stdout};
use pageout_trace::{
    Ending, Event, FilterShape, Header, Kind, Mapping, Page, PageRange, Permissions, TraceWriter,
};
use std::path::Path;
use tempfile::tempdir;

/// Two epochs of four references. The first touches pages 0x10 and 0x11 and stores to 0x20; the
/// second fetches from 0x10 and touches 0x30.
const LOG: &str = "\
I  00010000,4
 L 00010ff8,16
 S 00020000,8
I  00010004,4
I  00010008,4
 L 00030000,8
 M 00030008,8
I  0001000c,4
";

/// Imports [`LOG`] and replays it; epochs, agings, pages aged and folios referenced per variant.
fn replayed(directory: &Path, fields: &str) -> Vec<[f64; 2]> {
    let trace = directory.join("hand.pgt");
    let import = format!("trace import - --epoch 4 --output {}", trace.display());
    let done = run_with_input(&import, LOG);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let words = format!("compare trace --trace {} {fields} --runs 1", trace.display());
    let figures = ["pages aged", "folios referenced"];
    let of_record = |record| figures.map(|name| counted(record, name));
    records(&words).records.iter().map(of_record).collect()
}

#[test]
fn a_log_of_two_epochs_is_aged_page_by_page() {
    let directory = tempdir().expect("a directory");
    // After the first epoch 0x10, 0x11 and 0x20 are resident, all young; after the second also
    // 0x30, of which 0x10 and 0x30 were touched since.
    let expected = [3.0 + 4.0, 3.0 + 2.0];
    let found = replayed(directory.path(), "format=x86-64,arm64-4k order=0 every=1");
    assert_eq!(found, [expected; 6]);
}

#[test]
fn a_log_of_two_epochs_is_aged_in_larger_folios() {
    let directory = tempdir().expect("a directory");
    // Folios of 16 pages begin at 0x10, 0x20 and 0x30.
    let expected = [(2.0 + 3.0) * 16.0, 2.0 + 2.0];
    let found = replayed(directory.path(), "format=x86-64,arm64-4k order=4 every=1");
    assert_eq!(found, [expected; 6]);
}

#[test]
fn epochs_may_be_joined() {
    let directory = tempdir().expect("a directory");
    for every in ["2", "3"] {
        let found = replayed(directory.path(), &format!("format=x86-64 order=0 every={every}"));
        assert_eq!(found, [[4.0, 4.0]; 3], "one aging, at the end of the trace");
    }
}

fn range(start: u64, end: u64) -> PageRange {
    PageRange::new(start, end).expect("a range")
}

pub(crate) fn map(start: u64, end: u64) -> Event {
    Event::Map(Mapping {
        pages: range(start, end),
        permissions: Permissions::READ_WRITE,
        shared: false,
        kind: Kind::Anonymous,
    })
}

pub(crate) fn access(page: u64) -> Event {
    Event::Access { page: Page::new(page).expect("a page"), store: true, after: 1 }
}

pub(crate) const END: Event = Event::EpochEnd { references: 256 };

fn write_trace(path: &Path, events: &[Event]) {
    write_trace_with(path, FilterShape::EVERY_PAGE, events);
}

/// Writes a trace whose header names this filter.
pub(crate) fn write_trace_with(path: &Path, filter: FilterShape, events: &[Event]) {
    let header = Header {
        page_shift: 12,
        epoch_references: 256,
        filter,
        mappings: true,
        sampled: false,
        command: Vec::new(),
        architecture: "unknown".to_owned(),
        tool: "a test".to_owned(),
    };
    let mut writer = TraceWriter::create(path, &header).expect("a file to write");
    for event in events {
        writer.write(event).expect("an acceptable event");
    }
    writer.commit(Ending::Exited(0)).expect("a complete trace");
}

#[test]
fn mapping_changes_take_out_what_they_cover() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("mapped.pgt");
    let events = [
        map(0x100, 0x108),
        access(0x100),
        access(0x104),
        END,
        Event::Discard(range(0x104, 0x106)),
        access(0x104),
        END,
        Event::Unmap(range(0x100, 0x102)),
        END,
        Event::Remap { pages: range(0x102, 0x108), to: 0x200 },
        access(0x200),
        END,
    ];
    write_trace(&trace, &events);
    let words = format!(
        "compare trace --trace {} format=x86-64,arm64-4k order=0 every=1 --runs 1",
        trace.display()
    );
    // Resident: 0x100 and 0x104; the same, with 0x104 anew; 0x104; 0x200.
    for record in &records(&words).records {
        assert_eq!(counted(record, "pages aged"), 2.0 + 2.0 + 1.0 + 1.0);
        assert_eq!(counted(record, "folios referenced"), 2.0 + 1.0 + 0.0 + 1.0);
    }
}

#[test]
fn tables_suffice_however_often_memory_is_mapped_anew() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("again.pgt");
    let mut events = Vec::new();
    for k in 0..50 {
        let start = (k % 5) << 9;
        let again = [map(start, start + 512), access(start + 3), END];
        events.extend(again.into_iter().chain([Event::Unmap(range(start, start + 512))]));
    }
    write_trace(&trace, &events);
    let words = format!("run trace --trace {} every=1 --runs 1", trace.display());
    for record in &records(&words).records {
        assert_eq!(counted(record, "folios referenced"), 50.0);
    }
}

/// Empty epochs are counted as if each were aged, and few are.
#[test]
fn empty_epochs_are_aged_though_there_are_millions() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("empty.pgt");
    let figures = |empty: usize, every: u32| -> Vec<[f64; 4]> {
        let between = std::iter::repeat_n(END, empty);
        let events = [map(0x100, 0x102), access(0x100), END].into_iter();
        let events = events.chain(between).chain([access(0x100), access(0x101), END]);
        write_trace(&trace, &events.collect::<Vec<_>>());
        let words =
            format!("compare trace --trace {} order=0 every={every} --runs 1", trace.display());
        let names = ["agings", "pages aged", "folios referenced", "entries visited"];
        let of_record = |record| names.map(|name| counted(record, name));
        records(&words).records.iter().map(of_record).collect()
    };
    for (empty, every) in [(0, 1), (1, 1), (2, 1), (5, 1), (5, 2), (5, 4)] {
        let agings = ((empty + 2) as f64 / f64::from(every)).ceil();
        // Each but the last has a page. Found are the first store and the last two.
        for found in figures(empty, every) {
            assert_eq!(found[..3], [agings, agings + 1.0, 3.0], "{empty} by {every}: {found:?}");
        }
    }
    let entries = |empty| -> Vec<f64> {
        figures(empty, 1).iter().map(|found| (found[3] * found[1]).round()).collect()
    };
    let [two, three, many] = [2, 3, 5_000_000].map(entries);
    for (k, many) in many.iter().enumerate() {
        let each = three[k] - two[k];
        assert!((many - (two[k] + 4_999_998.0 * each)).abs() <= 1.0, "{two:?} {three:?} {many}");
    }
}

#[test]
fn traces_that_cannot_be_replayed_are_refused() {
    let directory = tempdir().expect("a directory");
    let half = 1 << 35;
    for (events, parts) in [
        (vec![], ["nothing to age", "mapped"]),
        (vec![map(1, 2), access(1), Event::Unmap(range(1, 2)), END], ["nothing to age", "mapped"]),
        (vec![map(half, half + 1), access(half), END], ["0x800000000", "canonical"]),
        (
            vec![map(half - 1, half + 2), END, Event::Unmap(range(half - 1, half + 2))],
            ["0x800000001", "canonical"],
        ),
        (
            vec![map(half - 1, (1 << 52) - half + 1), Event::Unmap(range(half - 1, half)), END],
            ["0x800000000", "canonical"],
        ),
        (
            vec![map(1, 3), access(1), END, Event::Remap { pages: range(1, 3), to: 1 << 36 }],
            ["0x1000000000", "canonical"],
        ),
    ] {
        let trace = directory.path().join("odd.pgt");
        write_trace(&trace, &events);
        for scenario in ["compare trace", "run trace"] {
            let mut command = command(scenario);
            let output = command.arg("--trace").arg(&trace).output().expect("it runs");
            assert_refused(&output, &parts);
            assert_refused(&output, &["odd.pgt"]);
        }
    }
}

#[test]
fn a_trace_with_larger_pages_is_refused() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("16k.pgt");
    let header = Header {
        page_shift: 14,
        epoch_references: 256,
        filter: FilterShape::EVERY_PAGE,
        mappings: false,
        sampled: false,
        command: Vec::new(),
        architecture: "arm64".to_owned(),
        tool: "a test".to_owned(),
    };
    let mut writer = TraceWriter::create(&trace, &header).expect("a file to write");
    for event in [access(1), END] {
        writer.write(&event).expect("an acceptable event");
    }
    writer.commit(Ending::Unknown).expect("a complete trace");
    let output = command("run trace --trace").arg(&trace).output().expect("it runs");
    assert_refused(&output, &["16k.pgt", "16384", "4096"]);
}

/// Sweeps over twice as many pages as there is memory for.
#[test]
fn a_comparison_without_a_limit_says_how_to_give_one() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("small.pgt");
    write_trace(&trace, &[map(0x100, 0x102), access(0x100), END]);
    let compared =
        |more: &str| stdout(&format!("compare trace --trace {} {more} --runs 1", trace.display()));
    let note = "limit=50% runs it in half of its memory";
    let on_one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(on_one_line(compared("")).contains(note));
    assert!(!on_one_line(compared("limit=100%")).contains(note));
}

#[test]
fn a_program_runs_under_a_limit() {
    let directory = tempdir().expect("a directory");
    let trace = directory.path().join("sweeps.pgt");
    let sweep = || (0x100..0x180).map(access).chain([END]);
    let events: Vec<_> =
        [map(0x100, 0x180)].into_iter().chain((0..6).flat_map(|_| sweep())).collect();
    write_trace(&trace, &events);
    let words = |limit: &str| {
        format!("run trace --trace {} format=x86-64 --runs 1 limit={limit}", trace.display())
    };
    let text = stdout(&words("50%"));
    for name in ["limit=50%", "refaults", "bound: demand MIN", "hot pages reclaimed"] {
        assert!(text.contains(name), "no `{name}` in:\n{text}");
    }
    let figures = |limit: &str| {
        let set = records(&words(limit));
        let [record] = &set.records[..] else { panic!("one record: {set:?}") };
        let names = ["limit", "refaults", "bound: demand MIN, refaults", "hot pages reclaimed"];
        names.map(|name| counted(record, name))
    };
    let steps = format!(
        "compare trace --trace {} format=x86-64 --runs 1 limit=50% \
         --base shootdown=immediate --new shootdown=deferred --new unmap=per-entry",
        trace.display()
    );
    assert!(stdout(&steps).contains("immediate"), "axes of reclaim can be compared");
    assert_eq!(figures("50%"), figures("256KiB"), "64 pages either way");
    // Round and round through 128 pages, MIN with 64 frames faults on 64 of every 127 accesses, and
    // on none of the five that are left of five rounds more.
    let [limit, refaults, min, hot] = figures("50%");
    assert_eq!((limit, min), (64.0, 5.0 * 64.0));
    assert!(min < refaults && refaults <= 5.0 * 128.0, "{refaults}");
    assert_eq!(hot, refaults, "the next sweep is the next epoch");
    assert_eq!(figures("1MiB")[1..], [0.0, 0.0, 0.0], "all of it fits");
}
