//! Traces of caches, with records counted from either base, and files that are none.

use super::{Read, Refused, case, check, imported, of};
use pageout_trace::decoded::Decoded;
use pageout_trace::reference_string::StringError;
use pageout_trace::source::TraceSource;
use pageout_trace::{Format, ImportOptions, import, oracle_general};

/// Records of these objects and next uses; times count from 0.
fn records(all: &[(u64, i64)]) -> Vec<u8> {
    let record = |(time, (object, next)): (usize, &(u64, i64))| {
        let time = u32::try_from(time).expect("few records");
        let parts = [&time.to_le_bytes()[..], &object.to_le_bytes(), &4096_u32.to_le_bytes()];
        [&parts.concat()[..], &next.to_le_bytes()].concat()
    };
    all.iter().enumerate().flat_map(record).collect()
}

/// Records as libCacheSim's traceConv writes them.
const FROM_1: [(u64, i64); 6] = [(1, 3), (2, 6), (1, 5), (3, -1), (1, -1), (2, -1)];

#[test]
fn traces_of_either_base_are_imported() {
    let from_0 = FROM_1.map(|(object, next)| (object, if next == -1 { -1 } else { next - 1 }));
    let max = FROM_1.map(|(object, next)| (object, if next == -1 { i64::MAX } else { next }));
    let hashed = FROM_1.map(|(object, next)| (object.wrapping_mul(0x9e37_79b9_7f4a_7c15), next));
    check(
        &of(Format::OracleGeneral),
        vec![
            case("libCacheSim's", records(&FROM_1), Read(6, 3, &[])),
            case("from 0", records(&from_0), Read(6, 3, &[])),
            case("with the greatest number for none", records(&max), Read(6, 3, &[])),
            case("objects by their hashes", records(&hashed), Read(6, 3, &[])),
            case("no object twice", records(&[(1, -1), (2, -1)]), Read(2, 2, &[])),
        ],
    );
}

#[test]
fn other_files_are_refused_with_the_cause() {
    let distances = [(1, 2), (2, 4), (1, 2), (3, -1), (1, -1), (2, -1)];
    let csv = "10,20,4096\n".repeat(24);
    let mut lcs = b"\xf0\xde\xbc\x9a\x78\x56\x34\x12<IQIQ".to_vec();
    lcs.resize(1032, 0);
    let again = [(1, -1), (2, -1), (1, -1)];
    check(
        &of(Format::OracleGeneral),
        vec![
            case("distances", records(&distances), Refused("is the distance to record 4")),
            case("two files", records(&FROM_1).repeat(2), Refused("several traces in a row")),
            case(
                "cut off",
                &records(&FROM_1)[..96],
                Refused("record 1: its next use is 6, and no"),
            ),
            case("within a record", &records(&FROM_1)[..100], Refused("byte 96: the input ends")),
            case("an object again", records(&again), Refused("its object is not asked for again")),
            case("CSV", csv, Refused("found comma-separated values, not oracleGeneral")),
            case("lcs", lcs, Refused("found libCacheSim's lcs format")),
            case("text", "x".repeat(72), Refused("no record has that number")),
            case("zeros", [0; 48], Refused("record 0: its next use is 0")),
            case("nothing", "", Refused("no reference in it; accepted are oracleGeneral's")),
            case("27 bytes a record", [9; 27 * 8], Refused("no record has that number")),
        ],
    );
}

/// A file with a fault is recognized, so that the fault is named without `--from` too.
#[test]
fn distances_are_named_without_a_format() {
    let distances = records(&[(1, 2), (2, 4), (1, 2), (3, -1), (1, -1), (2, -1)]);
    let error = imported(&ImportOptions::default(), &distances).expect_err("distances");
    assert!(error.to_string().contains("is the distance to record 4"), "{error}");
}

/// With an epoch for each record, times are those of the file too.
#[test]
fn an_export_has_the_bytes_that_libcachesim_wrote() {
    let directory = tempfile::tempdir().expect("a directory");
    let (trace, exported) = (directory.path().join("a.pgt"), directory.path().join("a.bin"));
    let options = ImportOptions { epoch_references: Some(1), ..of(Format::OracleGeneral) };
    let input = records(&FROM_1);
    import(&*input, &trace, &options, &mut |_| {}).expect("a cache's trace");
    let source = TraceSource::read(&trace).expect("a trace");
    let decoded = Decoded::of_trace::<StringError>(&source, None, |_, _| Ok(()));
    let written = oracle_general::export(&decoded.expect("a trace"), &exported);
    assert_eq!(written.expect("it is written"), 6);
    assert_eq!(std::fs::read(&exported).expect("a file"), input);
}

#[test]
fn objects_are_as_many_as_memory_is_there_for() {
    let all: Vec<(u64, i64)> = (0..101).map(|object| (object, -1)).collect();
    let options = ImportOptions { available: Some(128 * 100), ..of(Format::OracleGeneral) };
    assert!(imported(&options, &records(&all[..100])).is_ok());
    let error = imported(&options, &records(&all)).expect_err("one more").to_string();
    assert!(error.contains("more than 100 pages"), "{error}");
}
