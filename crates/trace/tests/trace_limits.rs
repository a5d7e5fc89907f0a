//! Limits on the work that a small file can cause. Traces that are compressed far below the work of
//! reading them are refused, whatever they repeat.

use std::io::Write;

use pageout_trace::{Fault, Info, TraceError, TraceReader};

/// Returns a trace whose stream is a header, `start`, and `times` repetitions of `record`.
fn repeated(mappings: u8, start: &[u8], record: &[u8], times: usize) -> Vec<u8> {
    let mut bytes = b"\x89PGT\r\n\x1a\n\x02\x00".to_vec();
    let mut stream = zstd::Encoder::new(&mut bytes, 1).expect("begins");
    // Epochs of one reference, a filter of one entry, two empty strings, no argument.
    stream.write_all(&[12, 1, 1, 1, 1, mappings, 0, 0, 0]).expect("compresses");
    stream.write_all(start).expect("compresses");
    let many = record.repeat(1 << 12);
    for _ in 0..times >> 12 {
        stream.write_all(&many).expect("compresses");
    }
    stream.finish().expect("ends");
    bytes
}

/// Returns events that map pages from 0 on, each as an area of its own: stack and heap in turn.
fn maps(areas: u32) -> Vec<u8> {
    let number = |page: u32| [page as u8 | 0x80, (page >> 7) as u8 | 0x80, (page >> 14) as u8];
    let map = |page| [&[2][..], &number(page), &[1, 3, 2 + (page % 2) as u8]].concat();
    (0..areas).flat_map(map).collect()
}

fn fault_of(bytes: &[u8]) -> Fault {
    let reader = TraceReader::new(bytes).expect("a header");
    match Info::read(reader, bytes.len() as u64) {
        Err(TraceError::Malformed { fault, .. }) => fault,
        other => panic!("a trace of {} bytes: {other:?}", bytes.len()),
    }
}

#[test]
fn files_are_few_though_their_names_are_empty() {
    let bytes = repeated(1, &[], &[1, 0], 1_000_000);
    assert!(bytes.len() < 400, "{}", bytes.len());
    assert_eq!(fault_of(&bytes), Fault::TooManyFiles);
}

#[test]
fn a_short_trace_has_no_end_of_epochs() {
    let bytes = repeated(0, &[], &[0, 1], 100_000_000);
    assert_eq!(fault_of(&bytes), Fault::Steps);
}

#[test]
fn changes_of_many_areas_are_few() {
    let start = maps(1 << 16);
    // Of all 65,536 pages: dropped, and made read-only and writable again.
    let all = [0, 0x80, 0x80, 4];
    let protect = |flags| [&[4][..], &all, &[flags]].concat();
    for changes in [[&[6][..], &all].concat(), [protect(1), protect(3)].concat()] {
        let bytes = repeated(1, &start, &changes, 4096);
        assert_eq!(fault_of(&bytes), Fault::Steps, "{changes:?}");
    }
}
