//! The trace format: every written trace is read, and other bytes are refused.

use std::io::Write;

use pageout_trace::source::TraceSource;
use pageout_trace::{
    Ending, Event, Fault, FileId, FilterShape, Header, Info, Kind, Mapping, PAGE_LIMIT, Page,
    PageRange, Permissions, Totals, TraceError, TraceReader, TraceWriter, WriteError,
};
use proptest::prelude::*;

const EPOCH: u64 = 1000;

fn header(mappings: bool) -> Header {
    Header {
        page_shift: 12,
        epoch_references: EPOCH,
        filter: FilterShape::DEFAULT,
        mappings,
        sampled: false,
        command: vec!["sort".to_owned(), "--key=1".to_owned(), "ä b".to_owned()],
        architecture: "x86_64".to_owned(),
        tool: "test".to_owned(),
    }
}

fn pages(start: u64, end: u64) -> PageRange {
    PageRange::new(start, end).expect("a range")
}

fn access(number: u64, store: bool) -> Event {
    Event::Access { page: Page::new(number).expect("a page"), store, after: 1 }
}

fn map(start: u64, end: u64, kind: Kind) -> Event {
    let permissions = Permissions { readable: true, writable: true, executable: false };
    Event::Map(Mapping { pages: pages(start, end), kind, permissions, shared: false })
}

/// Returns two epochs with every kind of event.
fn small_events(file: FileId) -> Vec<Event> {
    let read_only = Permissions { readable: true, writable: false, executable: true };
    vec![
        map(10, 20, Kind::File { file, offset: 7 }),
        map(100, 200, Kind::Anonymous),
        map(300, 310, Kind::Stack),
        access(12, false),
        access(13, false),
        access(100, true),
        access(305, true),
        Event::EpochEnd { references: EPOCH },
        Event::Protect { pages: pages(10, 12), permissions: read_only },
        access(150, true),
        Event::Discard(pages(150, 160)),
        Event::Remap { pages: pages(140, 160), to: 500 },
        Event::Unmap(pages(100, 110)),
        map(20, 30, Kind::Heap),
        map(40, 41, Kind::Unknown),
        access(20, false),
        access(40, false),
        access(505, false),
        Event::EpochEnd { references: 17 },
        Event::Unmap(pages(500, 520)),
    ]
}

fn small_trace() -> (Vec<u8>, Vec<Event>, Totals) {
    let mut writer = TraceWriter::new(Vec::new(), &header(true)).expect("begins");
    let file = writer.file("/usr/bin/sort").expect("a file");
    let events = small_events(file);
    for event in &events {
        writer.write(event).expect("an event");
    }
    let (bytes, totals) = writer.finish(Ending::Exited(3)).expect("ends");
    (bytes, events, totals)
}

fn read(bytes: &[u8]) -> Result<(Vec<Event>, Totals), TraceError> {
    let mut reader = TraceReader::new(bytes)?;
    let events = reader.by_ref().collect::<Result<Vec<Event>, _>>()?;
    Ok((events, *reader.totals().expect("totals after the last event")))
}

/// Makes a file with a right magic, version and checksum around any stream.
fn packed(stream: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89PGT\r\n\x1a\n\x02\x00".to_vec();
    bytes.extend(zstd::encode_all(stream, 1).expect("compresses"));
    let crc = crc32fast::hash(&bytes);
    bytes.extend(crc.to_le_bytes());
    bytes
}

/// Page shift 12, epochs of 100 references, a filter of one entry, two empty strings and no
/// argument.
fn stream_header(mappings: u8) -> Vec<u8> {
    vec![12, 100, 1, 1, 1, mappings, 0, 0, 0]
}

#[test]
fn every_event_comes_back() {
    let (bytes, events, totals) = small_trace();
    let mut reader = TraceReader::new(bytes.as_slice()).expect("opens");
    assert_eq!(*reader.header(), header(true));
    let found = reader.by_ref().collect::<Result<Vec<_>, _>>().expect("reads");
    assert_eq!(found, events);
    assert_eq!(reader.totals(), Some(&totals));
    let Event::Map(Mapping { kind: Kind::File { file, .. }, .. }) = events[0] else {
        panic!("a file is mapped first");
    };
    assert_eq!(reader.file(file), Some("/usr/bin/sort"));
    assert_eq!(reader.areas().get(Page::new(515).expect("a page")), None);
    let expected = Totals {
        references: EPOCH + 17,
        epochs: 2,
        accesses: 8,
        distinct_pages: 8,
        ending: Ending::Exited(3),
    };
    assert_eq!(totals, expected);
    assert!(reader.next().is_none());
}

#[test]
fn a_trace_cut_anywhere_is_an_error() {
    let (bytes, ..) = small_trace();
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).expect_err("a cut trace");
        match error {
            TraceError::NotATrace { .. } => assert_eq!(length, 0),
            TraceError::Truncated { offset, epochs } => {
                assert_eq!(offset, length as u64);
                assert!(epochs <= 2);
            }
            other => panic!("cut to {length} bytes: {other}"),
        }
    }
    let cut = read(&bytes[..bytes.len() - 1]).expect_err("a cut trace").to_string();
    let end = bytes.len() - 1;
    let expected =
        format!("truncated after epoch 2: the file ends at byte {end}, before the trailer");
    assert_eq!(cut, expected);
}

#[test]
fn a_long_trace_cut_in_the_middle_names_the_epoch() {
    let mut writer = TraceWriter::new(Vec::new(), &header(false)).expect("begins");
    let mut number = 1_u64;
    for _ in 0..400 {
        for _ in 1..EPOCH {
            number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            writer.write(&access(number >> 12, number & 1 == 0)).expect("an access");
        }
        writer.write(&Event::EpochEnd { references: EPOCH }).expect("an epoch");
    }
    let (bytes, _) = writer.finish(Ending::Unknown).expect("ends");
    let error = read(&bytes[..bytes.len() / 2]).expect_err("a cut trace");
    let TraceError::Truncated { epochs, .. } = error else { panic!("{error}") };
    assert!((1..400).contains(&epochs), "{epochs}");
}

#[test]
fn every_flipped_bit_is_an_error() {
    let (bytes, ..) = small_trace();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn a_byte_after_the_end_is_an_error() {
    let (mut bytes, ..) = small_trace();
    bytes.push(0);
    assert!(matches!(read(&bytes), Err(TraceError::Trailing { .. })));
}

#[test]
fn other_files_are_told_at_once() {
    let message = |bytes: &[u8]| read(bytes).expect_err("no trace").to_string();
    assert!(message(b"").contains("it begins with nothing (it is empty)"));
    assert!(message(b"hello, world\n").contains("begins with 68 65 6c 6c 6f 2c 20 77,"));
    for (bytes, part) in [
        (&b"I  0401ab70,3\n"[..], "it is a lackey log; use `pageout trace import --from lackey`"),
        (b"\x1f\x8b\x08\0", "it is gzip-compressed data; decompress it with `gzip -dc`"),
        (b"PERFILE2", "it is perf's own file; print it with `perf script"),
    ] {
        assert!(message(bytes).contains(part), "{}", message(bytes));
    }
    let (mut bytes, ..) = small_trace();
    bytes[8] = 1;
    let expected = "trace format version 1; this build reads version 2: record the program again";
    assert_eq!(message(&bytes), expected);
}

#[test]
fn what_no_trace_may_hold_is_named() {
    let name_over_limit = [&[1][..], &[0x81, 0x80, 0x08]].concat();
    let huge_page = [&[2][..], &[0x80; 7], &[0x20, 1]].concat();
    let cases: Vec<(u8, Vec<u8>, Fault)> = vec![
        (0, vec![2, 1, 1, 7, 0], Fault::NoMappings),
        (1, vec![2, 9, 0, 7, 0], Fault::Range { start: 9, nr_pages: 0 }),
        (1, [huge_page, vec![7, 0]].concat(), Fault::Range { start: 1 << 54, nr_pages: 1 }),
        (1, vec![2, 9, 2, 16], Fault::Code { what: "mapping flags", found: 16, most: 15 }),
        (1, vec![2, 9, 2, 7, 5], Fault::Code { what: "mapping kind", found: 5, most: 4 }),
        (1, vec![2, 9, 2, 7, 1, 0, 0], Fault::UnknownFile { found: 0, named: 0 }),
        (1, vec![2, 9, 2, 7, 0, 2, 10, 2, 7, 0], Fault::Overlap(pages(10, 12))),
        (1, vec![3, 9, 2], Fault::NotMapped(pages(9, 11))),
        // Page 0 gets place 0 and is accessed there at reference 0.
        (1, vec![8, 0, 16, 0], Fault::NotMapped(pages(0, 1))),
        (0, vec![16, 0], Fault::UnknownPage { found: 0, named: 0 }),
        (0, vec![8, 0, 19, 0], Fault::UnknownPage { found: 1, named: 1 }),
        (0, vec![8, 0, 16, 7, 16, 0, 17, 0], Fault::ThirdAccess(7)),
        (0, vec![8, 0, 16, 100], Fault::AfterEpoch { references: 100 }),
        (0, vec![8, 0, 16, 5, 0, 5], Fault::AfterEpoch { references: 5 }),
        // A zigzag distance of -1, below the address space.
        (0, vec![8, 1], Fault::Range { start: u64::MAX, nr_pages: 1 }),
        (0, vec![0, 0], Fault::EpochReferences { found: 0, most: 100 }),
        (0, vec![0, 101], Fault::EpochReferences { found: 101, most: 100 }),
        (0, vec![0, 5, 0, 5], Fault::AfterLastEpoch),
        (0, vec![0, 5, 8, 0, 16, 0], Fault::AfterLastEpoch),
        (0, vec![8, 0, 16, 0, 7, 0, 0, 1, 1, 0, 0], Fault::OpenEpoch),
        (0, vec![9], Fault::Code { what: "record tag", found: 9, most: 8 }),
        (0, vec![0xff; 12], Fault::Number),
        (1, name_over_limit, Fault::LongString((128 << 10) + 1)),
        (1, vec![1, 2, 0xff, 0xfe], Fault::Utf8),
    ];
    for (mappings, records, expected) in cases {
        let bytes = packed(&[stream_header(mappings), records].concat());
        match read(&bytes) {
            Err(TraceError::Malformed { fault, .. }) => assert_eq!(fault, expected),
            other => panic!("{expected:?}: {other:?}"),
        }
    }
}

#[test]
fn absurd_headers_are_refused_without_allocating() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let filter = |sets, ways, window| Fault::Filter(FilterShape { sets, ways, window });
    let cases = [
        (vec![11, 100, 1, 1, 1, 0, 0, 0, 0], Fault::PageShift(11)),
        (vec![12, 0, 1, 1, 1, 0, 0, 0, 0], Fault::EpochLength(0)),
        (vec![12, 100, 3, 1, 1, 0, 0, 0, 0], filter(3, 1, 1)),
        (vec![12, 100, 1, 0, 1, 0, 0, 0, 0], filter(1, 0, 1)),
        ([&[12, 100, 1, 1][..], &huge, &[0, 0, 0, 0]].concat(), filter(1, 1, u32::MAX)),
        (
            vec![12, 100, 1, 1, 1, 4],
            Fault::Code { what: "flags of what was recorded", found: 4, most: 3 },
        ),
        ([&[12, 100, 1, 1, 1, 0][..], &huge].concat(), Fault::LongString(u64::MAX)),
        ([&[12, 100, 1, 1, 1, 0, 0, 0][..], &huge].concat(), Fault::Arguments(u64::MAX)),
    ];
    for (stream, expected) in cases {
        match read(&packed(&stream)) {
            Err(TraceError::Malformed { fault, .. }) => assert_eq!(fault, expected),
            other => panic!("{expected:?}: {other:?}"),
        }
    }
}

#[test]
fn a_trailer_that_does_not_agree_is_an_error() {
    let stream = [stream_header(0), vec![8, 0, 16, 0, 0, 7, 7, 7, 1, 2, 1, 0, 0]].concat();
    let error = read(&packed(&stream)).expect_err("a wrong trailer").to_string();
    assert_eq!(error, "the trailer says 2 accesses, the events make 1");
    let right = [stream_header(0), vec![8, 0, 16, 0, 0, 7, 7, 7, 1, 1, 1, 0, 0]].concat();
    assert!(read(&packed(&right)).is_ok());
}

#[test]
fn a_refused_event_leaves_the_trace_as_it_was() {
    let mut writer = TraceWriter::new(Vec::new(), &header(true)).expect("begins");
    writer.write(&map(10, 20, Kind::Heap)).expect("maps");
    let refused = [map(19, 21, Kind::Heap), access(20, true), Event::Unmap(pages(5, 12))];
    for event in refused {
        assert!(matches!(writer.write(&event), Err(WriteError::Fault(_))), "{event:?}");
    }
    let (bytes, _) = writer.finish(Ending::Unknown).expect("ends");
    assert_eq!(read(&bytes).expect("reads").0, [map(10, 20, Kind::Heap)]);
}

#[test]
fn a_file_appears_only_when_its_trace_is_complete() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    let names = || {
        let entries = std::fs::read_dir(directory.path()).expect("lists");
        entries.map(|entry| entry.expect("an entry").file_name()).collect::<Vec<_>>()
    };
    let mut writer = TraceWriter::create(&path, &header(false)).expect("begins");
    writer.write(&access(1, true)).expect("an access");
    assert!(names().is_empty(), "{:?}", names());
    assert!(matches!(writer.commit(Ending::Unknown), Err(WriteError::Fault(Fault::OpenEpoch))));
    assert!(names().is_empty(), "{:?}", names());
    std::fs::File::create(&path).expect("creates").write_all(b"old").expect("writes");
    drop(TraceWriter::create(&path, &header(false)).expect("begins"));
    assert_eq!(std::fs::read(&path).expect("reads"), b"old");
    let writer = TraceWriter::create(&path, &header(false)).expect("begins");
    writer.commit(Ending::Unknown).expect("ends");
    assert_eq!(names(), ["a.pgt"]);
    assert_eq!(Info::of(&path).expect("reads").totals.accesses, 0);
}

#[test]
fn only_regular_files_are_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let create = |path: &std::path::Path| TraceWriter::create(path, &header(false)).err();
    assert!(matches!(create(directory.path()), Some(WriteError::NotAFile { .. })));
    assert!(matches!(create("/dev/null".as_ref()), Some(WriteError::NotAFile { .. })));
    let missing = directory.path().join("missing/a.pgt");
    assert!(matches!(create(&missing), Some(WriteError::NoDirectory { .. })));
}

#[test]
fn info_is_aligned_and_has_units() {
    let (bytes, ..) = small_trace();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    std::fs::write(&path, &bytes).expect("writes");
    let info = Info::of(&path).expect("reads");
    let text = info.to_string();
    let kib = bytes.len() as f64 / 1024.0;
    let each = bytes.len() as f64 / 8.0;
    let expected = format!(
        "\
command         sort --key=1 ä b
ended           with exit status 3
recorded        by test, on x86_64
page size       4 KiB
references      1,017 (instructions, loads, stores)
epochs          2 of 1,000 references
footprint       0.03 MiB: 8 pages
accesses        8: 1 in 127.1 references
left out        those on which a TLB of 16 x 4 or 32 entries hits
size            {kib:.1} KiB: {each:.2} bytes an access

pages an epoch           min      median         max
used                       4           4           4
stored to                  1           1           2

mapped                 times         MiB    MiB used
file                       1        0.04        0.01
anonymous                  1        0.39        0.01
heap                       1        0.04        0.00
stack                      1        0.04        0.00
unknown                    1        0.00        0.00

mapped at most  0.47 MiB at once
files mapped    1
mapping changes 5 map, 2 unmap, 1 protect, 1 move, 1 discard
unexplained     1 accesses to unknown memory
"
    );
    assert_eq!(text, expected);
}

#[test]
fn the_samples_are_whole() {
    for name in TraceSource::sample_names() {
        let info = TraceSource::sample(name).expect("a sample").info().expect("reads");
        assert!(info.header.mappings);
        assert_eq!(info.totals.ending, Ending::Exited(0));
        assert!(info.footprint_mib() > 15.0, "{info}");
        assert!(info.compressed_bytes <= 9 << 18, "2.25 MiB: {info}");
        assert_eq!(info.unknown_accesses, 0);
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..64_u64, PAGE_LIMIT - 8..PAGE_LIMIT, 0..PAGE_LIMIT]
}

fn range() -> impl Strategy<Value = PageRange> {
    (number(), 1..24_u64).prop_map(|(start, nr)| {
        let start = start.min(PAGE_LIMIT - nr);
        PageRange::new(start, start + nr).expect("a range")
    })
}

fn permissions() -> impl Strategy<Value = Permissions> {
    any::<[bool; 3]>().prop_map(|[readable, writable, executable]| Permissions {
        readable,
        writable,
        executable,
    })
}

fn event(files: Vec<FileId>) -> impl Strategy<Value = Event> {
    let file = proptest::sample::select(files);
    let kind = prop_oneof![
        Just(Kind::Anonymous),
        Just(Kind::Stack),
        Just(Kind::Heap),
        Just(Kind::Unknown),
        (file, any::<u64>()).prop_map(|(file, offset)| Kind::File { file, offset }),
    ];
    let map = (range(), kind, permissions(), any::<bool>()).prop_map(
        |(pages, kind, permissions, shared)| {
            Event::Map(Mapping { pages, kind, permissions, shared })
        },
    );
    let protect = (range(), permissions())
        .prop_map(|(pages, permissions)| Event::Protect { pages, permissions });
    prop_oneof![
        8 => (number(), any::<bool>(), 0..4_u64).prop_map(|(number, store, after)| {
            Event::Access { page: Page::new(number).expect("a page"), store, after }
        }),
        4 => map,
        1 => range().prop_map(Event::Unmap),
        1 => range().prop_map(Event::Discard),
        1 => protect,
        1 => (range(), number()).prop_map(|(pages, to)| Event::Remap { pages, to }),
        2 => Just(Event::EpochEnd { references: EPOCH }),
    ]
}

/// Returns the ids that a trace gives its first files.
fn file_ids() -> Vec<FileId> {
    let mut writer = TraceWriter::new(Vec::new(), &header(true)).expect("begins");
    FILES.iter().map(|name| writer.file(name).expect("a file")).collect()
}

const FILES: [&str; 3] = ["/lib/a.so", "", "/tmp/ü (deleted)"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_accepted_comes_back(
        mappings in any::<bool>(),
        events in proptest::collection::vec(event(file_ids()), 0..300),
        last in 901..EPOCH,
    ) {
        let mut writer = TraceWriter::new(Vec::new(), &header(mappings)).expect("begins");
        for name in FILES {
            writer.file(name).expect("a file");
        }
        let mut accepted = Vec::new();
        for event in events.into_iter().chain([Event::EpochEnd { references: last }]) {
            if writer.write(&event).is_ok() {
                accepted.push(event);
            }
        }
        let (bytes, totals) = writer.finish(Ending::Signalled(9)).expect("ends");
        let mut reader = TraceReader::new(bytes.as_slice()).expect("opens");
        let found = reader.by_ref().collect::<Result<Vec<_>, _>>().expect("reads");
        prop_assert_eq!(found, accepted);
        prop_assert_eq!(reader.totals(), Some(&totals));
        for (id, name) in file_ids().into_iter().zip(FILES) {
            prop_assert_eq!(reader.file(id), Some(name));
        }
    }

    #[test]
    fn garbage_is_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read(&bytes).is_err());
        let behind_magic = [b"\x89PGT\r\n\x1a\n\x02\x00".as_slice(), &bytes].concat();
        prop_assert!(read(&behind_magic).is_err());
    }

    #[test]
    fn any_stream_ends_in_an_error_or_a_trace(
        mappings in 0..2_u8,
        records in proptest::collection::vec(prop_oneof![0..24_u8, any::<u8>()], 0..400),
    ) {
        let bytes = packed(&[stream_header(mappings), records].concat());
        let reader = TraceReader::new(bytes.as_slice()).expect("a header");
        let mut errors = 0;
        for event in reader.take(1_000_000) {
            prop_assert_eq!(errors, 0);
            errors += usize::from(event.is_err());
        }
    }
}
