//! Hand-made traces on modelled machines.

use crate::common::{records, refused, stdout};
use crate::replay::{END, access, map, write_trace_with};
use pageout_record::schema::{Basis, Record};
use pageout_trace::{Event, FilterShape};
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};

const EPOCHS: u64 = 80;
const ROUNDS: u64 = 6;
const HOT: u64 = 32;
const COLD: u64 = 4;
const PAGES: u64 = 512;

/// Some pages are used again and again while the others are swept through; a TLB holds them all.
fn hot_and_cold() -> Vec<Event> {
    let mut cold = (HOT..PAGES).cycle();
    let mut events = vec![map(0x100, 0x100 + PAGES)];
    for _ in 0..EPOCHS {
        for _ in 0..ROUNDS {
            events.extend(
                (0..HOT).chain(cold.by_ref().take(COLD as usize)).map(|page| access(0x100 + page)),
            );
        }
        events.push(END);
    }
    events
}

fn made(filter: FilterShape) -> (TempDir, PathBuf) {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("made.pgt");
    write_trace_with(&path, filter, &hot_and_cold());
    (directory, path)
}

fn words(command: &str, path: &Path, fields: &str) -> String {
    format!("{command} trace --trace {} {fields} --ground model", path.display())
}

fn value(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("{name} is in {record:?}")).values[0]
}

#[test]
fn translations_that_are_not_flushed_hide_hot_pages() {
    let (_directory, path) = made(FilterShape::EVERY_PAGE);
    for format in ["arm64-4k", "x86-64"] {
        let set = records(&words("compare", &path, &format!("limit=1MiB format={format}")));
        let lists: Vec<_> = set.records.iter().map(|record| &*record.variant["lru"]).collect();
        assert_eq!(lists, [["classic"; 4], ["mglru"; 4]].concat());
        let of = |flush: &str, name: &str| {
            let mut on_classic = set.records[..4].iter();
            let record = on_classic.find(|record| record.variant["flush"] == flush);
            value(record.expect("a variant that is compared"), name)
        };
        let flushes = ["architecture", "sync", "nosync", "none"];
        assert!(flushes.iter().all(|flush| of(flush, "refaults") > 0.0), "memory is short");
        assert_eq!(of("sync", "hidden accesses"), 0.0);
        assert!(of("none", "hidden accesses") > of("nosync", "hidden accesses"));
        assert!(of("none", "hot pages reclaimed") > of("sync", "hot pages reclaimed"));
        assert!(of("none", "hid for, P50") <= of("none", "hid for, max"));
        let default = if format == "x86-64" { "none" } else { "nosync" };
        assert_eq!(of("architecture", "time"), of(default, "time"));
        let measured = |record: &Record| record.metrics.iter().any(|m| m.basis == Basis::Measured);
        assert!(!set.records.iter().any(measured), "nothing here reads a clock");
    }
}

#[test]
fn what_the_trace_leaves_out_is_counted_and_runs_of_the_program_add_up() {
    let (_directory, path) = made(FilterShape::EVERY_PAGE);
    let run = |repeat: u64| {
        let fields = format!("format=arm64-4k repeat={repeat}");
        let set = records(&words("run", &path, &fields));
        let again = records(&words("run", &path, &fields));
        assert_eq!(set.records, again.records, "the same in every run");
        let of = |name: &str| value(&set.records[0], name);
        let simulated = EPOCHS * ROUNDS * (HOT + COLD);
        assert_eq!(of("accesses simulated"), (repeat * simulated) as f64);
        // Epochs have 256 references each, whatever of them is in the trace.
        assert_eq!(of("accesses of the program"), (repeat * EPOCHS * 256) as f64);
        assert!(of("time") > 0.0 && of("major faults") <= of("pages read"));
        of("faults") * of("accesses of the program") / 1e6
    };
    let (once, thrice) = (run(1), run(3));
    assert!(once >= PAGES as f64, "every page faults once");
    assert!((thrice - 3.0 * once).abs() <= once / 10.0, "{thrice} after {once}");
}

#[test]
fn stacks_are_written_and_traces_that_are_not_dense_enough_are_refused() {
    let (directory, path) = made(FilterShape::EVERY_PAGE);
    let stacks = directory.path().join("stacks.txt");
    let folded = format!("format=arm64-4k --full --folded {}", stacks.display());
    let table = stdout(&words("run", &path, &folded));
    assert!(table.contains("hid for, P99"), "{table}");
    let stacks = std::fs::read_to_string(stacks).expect("stacks");
    assert!(stacks.contains("program;fault"), "{stacks}");
    let (_directory, sparse) = made(FilterShape { sets: 64, ways: 8, window: 512 });
    let words = words("run", &sparse, "format=x86-64");
    refused(&words, &["64x8,512", "platform x86-server-class", "16x6"]);
    for (fields, parts) in [
        ("every=2", ["`every`", "on ground host only"]),
        ("repeat=0", ["`repeat`", "1 to 10000"]),
        ("limit=0%", ["`limit`", "1% to 100%"]),
    ] {
        refused(&format!("run trace {fields} --ground model"), &parts);
    }
}
