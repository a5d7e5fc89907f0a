//! Traces of other tools, written by hand, with results worked out by hand.

use std::path::{Path, PathBuf};

use pageout_trace::{
    Event, FilterShape, Format, ImportError, ImportOptions, Info, Page, Refusal, TraceReader,
    import,
};
use proptest::prelude::*;

struct Output {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn output() -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.pgt");
    Output { _directory: directory, path }
}

fn import_to(path: &Path, format: Format, input: &[u8]) -> Result<(), ImportError> {
    let epoch_references = (!format.has_epochs()).then_some(4);
    let options =
        ImportOptions { format: Some(format), epoch_references, ..ImportOptions::default() };
    import(input, path, &options, &mut |_| {}).map(|_| ())
}

/// Returns the events that an input becomes, with epochs of four references, and its figures.
fn imported(format: Format, input: &[u8]) -> (Vec<Event>, Info) {
    let output = output();
    import_to(&output.path, format, input).expect("it is accepted");
    let reader = TraceReader::open(&output.path).expect("opens");
    let events = reader.collect::<Result<_, _>>().expect("reads");
    (events, Info::of(&output.path).expect("reads"))
}

/// Imports an input that is refused, checks that no file is written, and returns the error.
fn refused(format: Format, input: &[u8]) -> ImportError {
    let output = output();
    let error = import_to(&output.path, format, input).expect_err("it is refused");
    assert!(!output.path.exists(), "{error}");
    error
}

fn access(number: u64, store: bool, after: u64) -> Event {
    Event::Access { page: Page::new(number).expect("a page"), store, after }
}

const fn end(references: u64) -> Event {
    Event::EpochEnd { references }
}

#[test]
fn perf_s_samples_stand_in_their_order_and_none_is_left_out() {
    let text = "\
10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c0      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:     559fdf9825c8      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-stores/P:     7ffff4d98289       5080022 |OP STORE|LVL L1 hit|SNP N/A
10710 cpu/mem-loads,ldlat=30/P: ffffffff821e8700      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:                0      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:     559fdf982000      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:     559fdf983000      10268100142 |OP LOAD|LVL L1 hit|SNP None
";
    let (events, info) = imported(Format::PerfScript, text.as_bytes());
    let expected = [
        access(0x5_59fd_f982, false, 0),
        access(0x5_59fd_f982, false, 1),
        access(0x7_ffff_4d98, true, 1),
        access(0x5_59fd_f982, false, 1),
        end(4),
        access(0x5_59fd_f983, false, 0),
        end(1),
    ];
    assert_eq!(events, expected);
    assert!(info.header.sampled && !info.header.mappings);
    assert_eq!(info.header.filter, FilterShape::EVERY_PAGE);
    let told = info.to_string();
    assert!(told.contains("5 samples") && !told.contains("1 in "), "{told}");
    let two = refused(Format::PerfScript, b"10 a: 1000\n\n11 a: 1000\n");
    let refusal = Refusal::Process { found: 11, before: 10 };
    assert!(matches!(two, ImportError::Refused { number: 3, refusal: r } if r == refusal), "{two}");
}

/// Two snapshots of three regions: in the first, pages 16 to 18 and 32 were accessed; in the
/// second, only page 32; in the third, none.
#[test]
fn damon_s_snapshots_are_epochs() {
    let line = |region: &str| {
        format!(
            "kdamond.0 46568 [027] 79357.84: damon:damon_aggregated: target_id=0 \
             nr_regions=3 {region}\n"
        )
    };
    let regions = [
        "65536-77824: 4 10",
        "77824-131072: 0 3",
        "131072-135168: 1 2",
        "65536-77824: 0 0",
        "77824-131072: 0 4",
        "131072-135168: 20 0",
        "65536-77824: 0 0",
        "77824-131072: 0 4",
        "131072-135168: 0 0",
    ];
    let traced: String = regions.map(line).concat();
    let snapshot = |regions: [&str; 3]| {
        let head = "monitoring_start:                0 ns\nmonitoring_end:           100 ms\n\
                    monitoring_duration:      100 ms\ntarget_id: 0\nnr_regions: 3\n\
                    # start_addr     end_addr        length  nr_accesses   age\n";
        format!("{head}{}\n", regions.map(|region| format!("{region}\n")).concat())
    };
    let printed = [
        "base_time_absolute: 8 m 59.809 s\n\n".to_owned(),
        snapshot([
            "000000010000-000000013000 (  12.000 KiB)           4    10",
            "000000013000-000000020000 (  52.000 KiB)           0     3",
            "000000020000-000000021000 (   4.000 KiB)           1     2",
        ]),
        snapshot([
            "000000010000-000000013000 (  12.000 KiB)           0     0",
            "000000013000-000000020000 (  52.000 KiB)           0     4",
            "000000020000-000000021000 (   4.000 KiB)          20     0",
        ]),
        snapshot([
            "000000010000-000000013000 (  12.000 KiB)           0     0",
            "000000013000-000000020000 (  52.000 KiB)           0     4",
            "000000020000-000000021000 (   4.000 KiB)           0     0",
        ]),
    ];
    let expected = [
        access(16, false, 0),
        access(17, false, 1),
        access(18, false, 1),
        access(32, false, 1),
        end(4),
        access(32, false, 0),
        end(4),
        end(4),
    ];
    for text in [traced.clone(), printed.concat()] {
        let (events, info) = imported(Format::Damon, text.as_bytes());
        assert_eq!(events, expected, "{text}");
        assert!(info.header.sampled);
        assert_eq!((info.header.epoch_references, info.used_pages.max), (4, 4));
    }
    let lines: Vec<&str> = traced.lines().collect();
    let cut = refused(Format::Damon, format!("{}\n", lines[..8].join("\n")).as_bytes());
    assert!(cut.to_string().contains("line 8: a snapshot of 3 regions ends after 2"), "{cut}");
    let other = traced.replacen("target_id=0 nr_regions=3 131072", "target_id=1 nr_regions=3 1", 1);
    assert!(refused(Format::Damon, other.as_bytes()).to_string().contains("process 1"));
    let smaller = traced.replacen("nr_regions=3 77824", "nr_regions=2 77824", 1);
    assert!(refused(Format::Damon, smaller.as_bytes()).to_string().contains("after 1 of them"));
}

/// Returns a record of ChampSim's.
fn instruction(ip: u64, stores: [u64; 2], loads: [u64; 4]) -> Vec<u8> {
    let numbers = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let (stores, loads): (Vec<u8>, Vec<u8>) = (numbers(&stores), numbers(&loads));
    [&ip.to_le_bytes()[..], &[1, 0, 26, 6, 25, 0, 0, 0], &stores, &loads].concat()
}

#[test]
fn champsim_s_instructions_are_fetched_and_load_and_store() {
    let input = [
        instruction(0x40_1000, [0, 0x7000_0ff8], [0x6000_0000, 0, 0x5000_0004, 0]),
        instruction(0x40_1004, [0; 2], [0; 4]),
        instruction(0x40_2000, [0x6000_0010, 0], [0; 4]),
    ];
    let (events, info) = imported(Format::Champsim, &input.concat());
    let expected = [
        access(0x401, false, 0),
        access(0x6_0000, false, 1),
        access(0x5_0000, false, 1),
        access(0x7_0000, true, 1),
        end(4),
        // The epoch's first reference, the second instruction.
        access(0x401, false, 0),
        access(0x402, false, 1),
        access(0x6_0000, true, 1),
        end(3),
    ];
    assert_eq!(events, expected);
    assert!(!info.header.sampled);
    let bytes = input.concat();
    for (input, part) in [
        (&bytes[..65], "byte 64: the input ends within a record"),
        (&bytes[..63], "byte 0: the input ends within a record"),
        (&[0; 128][..], "byte 0: found no instruction"),
        (&[b"\xfd7zXZ\0"[..].to_vec(), vec![7; 64]].concat(), "reading the input failed"),
        (&[], "no reference"),
    ] {
        let error = refused(Format::Champsim, input).to_string();
        assert!(error.contains(part), "no `{part}` in {error}");
    }
}

#[test]
fn drmemtrace_s_view_has_fetches_reads_and_writes() {
    let text = "\
Output format:
<--record#-> <--instr#->: <---tid---> <record details>
------------------------------------------------------------
           1           0:     2765543 <marker: version 5>
  47445  37770:     2765543 ifetch       5 byte(s) @ 0x0000000000404a7e 48 8b 5c 24 08 mov
  47446  37770:     2765543 read         8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
  47447  37771:     2765544 ifetch      10 byte(s) @ 0x0000000000404ffc 48 b8 00 mov
                              2765544                                            00 00 00
  47448  37772:     2765544 pref-r-L1    1 byte(s) @ 0x0000000000999000 by PC 0x0000000000404ffc
  47449  37772:     2765544 write        8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404ffc
  47450  37772:     2765544 <thread 2765544 exited>
View tool results:
              2 : total instructions
";
    let (events, info) = imported(Format::Drmemtrace, text.as_bytes());
    let expected = [
        access(0x404, false, 0),
        access(0x7_fdf6_4e2a, false, 1),
        // The long instruction begins on the first page, which was just used, and ends on another.
        access(0x405, false, 1),
        access(0x7_fdf6_4e2a, true, 1),
        end(4),
    ];
    assert_eq!(events, expected);
    assert!(!info.header.sampled);
    let line = |thread: &str| format!("1 1: {thread} read 8 byte(s) @ 0x1000 by PC 0x1\n");
    let two = [line("W0.T5"), line("W1.T5")].concat();
    assert!(refused(Format::Drmemtrace, two.as_bytes()).to_string().contains("process 1"));
}

/// A claim is refused for its content, whatever its size; see [`Format`] for the formats with
/// claims.
#[test]
fn what_claims_too_much_is_refused() {
    let line = |nr: u64, region: &str| {
        format!("k 1 [0] 1.0: damon:damon_aggregated: target_id=0 nr_regions={nr} {region}\n")
    };
    let accesses = refused(Format::Damon, line(1, "0-1152921504606846976: 1 0").as_bytes());
    let ImportError::Refused { refusal: Refusal::Accesses { pages }, .. } = accesses else {
        panic!("{accesses}");
    };
    assert_eq!(pages, 1 << 48);
    let regions = refused(Format::Damon, line(1 << 60, "0-4096: 1 0").as_bytes());
    let ImportError::Refused { refusal: Refusal::Snapshot { expected, found }, .. } = regions
    else {
        panic!("{regions}");
    };
    assert_eq!((expected, found), (1 << 60, 1));
    // 2^22 different pages are few enough, one more is not.
    let many = |end: u64| line(1, &format!("4096-{end}: 1 0"));
    let pages = refused(Format::Damon, many((2 + (1 << 22)) << 12).as_bytes());
    let ImportError::Refused { refusal: Refusal::Pages { pages }, .. } = pages else {
        panic!("{pages}");
    };
    assert_eq!(pages, (1 << 22) + 1);
    // Any number of times, up to a total.
    let often = many(1 << 34).repeat(9);
    let sum = refused(Format::Damon, often.as_bytes());
    assert!(matches!(sum, ImportError::Refused { number: 9, .. }), "{sum}");
}

#[test]
fn a_line_without_end_is_refused() {
    for format in [Format::Lackey, Format::PerfScript, Format::Damon, Format::Drmemtrace] {
        for byte in [b"1", b" ", b"\0"] {
            let line = byte.repeat(17 << 20);
            let error = refused(format, &line);
            let refused = matches!(error, ImportError::Read { .. } | ImportError::Line { .. });
            assert!(refused, "{format:?}: {error}");
        }
    }
}

#[test]
fn pages_are_as_many_as_memory_is_there_for() {
    let output = output();
    for format in [Format::Lackey, Format::PerfScript] {
        let line = |page: u64| match format {
            Format::Lackey => format!(" L {page:x}000,8\n"),
            _ => format!("1 a: {page:x}000\n"),
        };
        let options = ImportOptions {
            format: Some(format),
            available: Some(10_000),
            ..ImportOptions::default()
        };
        let pages = |pages: u64| {
            let log: String = (1..=pages).map(line).collect();
            import(log.as_bytes(), &output.path, &options, &mut |_| {})
        };
        // A page takes some bytes at least, so 10,000 pages can't fit; the error says how many do.
        let Err(ImportError::TooManyPages { most }) = pages(10_000) else {
            panic!("{format:?}: 10,000 pages fit in as many bytes");
        };
        assert!(most > 1, "{most}");
        assert_eq!(pages(most).expect("they fit").totals.distinct_pages, most);
        let error = pages(most + 1);
        assert!(matches!(error, Err(ImportError::TooManyPages { most: again }) if again == most));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_imported_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::ALL {
            let _ = import_to(&output().path, format, &bytes);
        }
    }

    /// Lines that are almost valid.
    #[test]
    fn damaged_lines_are_imported_or_refused(
        at in 0..200_usize,
        byte in prop::sample::select(b"0 1f:-(=/,\n".to_vec()),
        which in 0..4_usize,
    ) {
        let lines = [
            (Format::PerfScript, "10 cpu/mem-loads/P: 559fdf982 10268 |OP LOAD|LVL L1 hit"),
            (Format::Damon, "k: damon:damon_aggregated: target_id=0 nr_regions=1 4096-8192: 3 8"),
            (Format::Damon, "nr_regions: 1\n1000-2000 ( 4 KiB) 3 7"),
            (Format::Drmemtrace, "1 1: W0.T5 read 8 byte(s) @ 0x1000 by PC 0x1"),
        ];
        let (format, text) = lines[which];
        let mut bytes = text.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = import_to(&output().path, format, &bytes);
    }
}
