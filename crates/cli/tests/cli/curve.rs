//! `trace curve` and `trace export`.

use crate::common::{assert_refused, counted, records, refused, run, stderr, stdout};
use pageout_record::schema::Record;
use tempfile::tempdir;

const POLICIES: [&str; 7] = ["classic", "mglru", "lru", "arc", "s3fifo", "sieve", "min"];

/// Returns the point of a limit and a policy.
fn point<'r>(all: &'r [Record], limit: &str, policy: &str) -> &'r Record {
    let is =
        |record: &&Record| record.fields["limit"] == limit && record.variant["policy"] == policy;
    all.iter().find(is).unwrap_or_else(|| panic!("no point of {policy} at {limit}"))
}

#[test]
fn points_of_the_engine_and_of_min_equal_single_runs() {
    let all = records("trace curve cc1plus-list --limit 20%..40%").records;
    assert_eq!(all.len(), 2 * POLICIES.len());
    for limit in ["20%", "40%"] {
        let mut pages = 0.0;
        for lru in ["classic", "mglru"] {
            let single = format!("trace limit={limit} format=x86-64 --trace cc1plus-list");
            let single = records(&format!("run {single} --variant lru={lru}")).records;
            let [single] = &single[..] else { panic!("one record: {single:?}") };
            let engine = point(&all, limit, lru);
            for name in ["refaults", "major faults", "different pages", "limit"] {
                assert_eq!(counted(engine, name), counted(single, name), "{lru}, {limit}: {name}");
            }
            pages = counted(single, "different pages");
            let min = point(&all, limit, "min");
            let bound = counted(single, "bound: demand MIN, refaults");
            assert_eq!(counted(min, "refaults"), bound);
            assert_eq!(counted(min, "misses"), counted(single, "demand MIN, pages brought in"));
        }
        for policy in POLICIES {
            let one = point(&all, limit, policy);
            let misses = counted(one, "misses");
            assert_eq!(misses, pages + counted(one, "refaults"), "{policy}");
            let accesses = counted(one, "accesses of the trace");
            assert_eq!(counted(one, "miss ratio"), misses / accesses, "{policy}");
            assert!(misses >= counted(point(&all, limit, "min"), "misses"), "{policy}");
        }
    }
}

#[test]
fn a_curve_is_a_table_of_limits_and_policies() {
    let words = "trace curve cc1plus-list --limit 25%..100% --policy lru,arc,s3fifo,sieve,min";
    insta::assert_snapshot!("curve", stdout(words));
    let full = stdout(&format!("{words} --full"));
    assert!(full.starts_with(&stdout(words)), "{full}");
    assert!(full.contains("refaults"), "{full}");
}

#[test]
fn a_curve_is_drawn_listed_and_a_page() {
    let words = "trace curve cc1plus-list --limit 25%..75% --policy lru,sieve,min";
    let picture = stdout(&format!("{words} --format picture"));
    assert!(picture.contains("miss ratio, by limit"), "{picture}");
    let list = stdout(&format!("{words} --format list"));
    assert!(list.lines().all(|line| line.is_ascii() && line.len() <= 72), "{list}");
    let csv = stdout(&format!("{words} --csv"));
    let ratios = csv.lines().filter(|line| line.contains(",miss ratio,")).count();
    assert_eq!(ratios, 3 * 3, "{csv}");
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("curve.html");
    stdout(&format!("{words} --html {}", path.display()));
    let page = std::fs::read_to_string(&path).expect("a page");
    assert!(page.contains("miss ratio"), "the page has the curve");
}

#[test]
fn a_point_that_the_engine_has_no_room_for_is_told_and_loses_no_other() {
    let output = run("trace curve cc1plus-list --limit 4K,2M --policy classic,min --csv");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    for part in ["cc1plus-list", "4KiB", "classic", "cannot be reclaimed"] {
        assert!(message.contains(part), "no `{part}` in {message}");
    }
    assert_eq!(message.matches("error: ").count(), 1, "{message}");
    let csv = String::from_utf8(output.stdout).expect("text");
    assert_eq!(csv.lines().filter(|line| line.contains(",miss ratio,")).count(), 3, "{csv}");
    refused("trace curve cc1plus-list --limit 4K --policy classic", &["cannot be reclaimed"]);
}

/// At 100 % all policies have the same misses: the curve has the point all the same.
#[test]
fn a_curve_is_drawn_to_its_end() {
    let picture =
        stdout("trace curve cc1plus-list --limit 25%..100% --policy lru,min --format picture");
    let names = picture.lines().find(|line| line.trim_start().starts_with("25%"));
    let names: Vec<_> = names.expect("the axis").split_whitespace().collect();
    assert_eq!(names, ["25%", "50%", "75%", "100%"], "{picture}");
    let first = picture.lines().nth(2).expect("a title");
    assert_eq!(first, "miss ratio, by limit", "the curve comes first");
}

#[test]
fn addresses_that_only_the_engine_cannot_place_leave_the_other_policies() {
    let directory = tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    // Half of the canonical addresses, and a page beyond them.
    let (log, trace) = (path("log"), path("trace.pgt"));
    std::fs::write(&log, " L 1000,8\n S 800000000000,8\n L 2000,8\n L 1008,8\n").expect("a log");
    let import = format!("trace import {log} --output {trace} --filter 1x1,1");
    assert_eq!(run(&import).status.code(), Some(0));
    let words = format!("trace curve {trace} --limit 50%,100%");
    let output = run(&format!("{words} --policy lru,classic,mglru,min --csv"));
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert_eq!(message.matches("error: ").count(), 2, "a line for each policy: {message}");
    for part in ["classic", "mglru", "50% and 1 more", "0x800000000", "canonical"] {
        assert!(message.contains(part), "no `{part}` in {message}");
    }
    let csv = String::from_utf8(output.stdout).expect("text");
    assert_eq!(csv.lines().filter(|line| line.contains(",miss ratio,")).count(), 4, "{csv}");
    assert_eq!(run(&format!("{words} --policy lru,min")).status.code(), Some(0));
    refused(&format!("{words} --policy classic"), &["0x800000000", "canonical"]);
}

#[test]
fn limits_and_policies_that_are_none() {
    for (limit, part) in [
        ("0%", "`0%`"),
        ("50%,64M", "mixes sizes and percentages"),
        ("50%,50%", "every value once"),
        ("9%..5%", "`9%..5%`"),
        ("1K", "from 4KiB"),
        ("", "nothing is given"),
    ] {
        let words = format!("trace curve cc1plus-list --limit={limit}");
        assert_refused(&run(&words), &["--limit", part]);
    }
    refused("trace curve --policy lru,fifo", &["--policy", "`fifo`", "s3fifo", "min"]);
    refused("trace curve --policy lru,lru", &["every value once"]);
    refused("trace curve no-such-trace", &["no-such-trace", "sqlite-orders"]);
    refused("trace curve --json --csv", &["--json", "--csv"]);
}

/// A record for each access, which names the next one to its page.
#[test]
fn an_export_has_the_reference_string() {
    let directory = tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let log = path("log");
    // Pages 1, 2 and 1; an epoch is two references.
    std::fs::write(&log, " L 1000,8\n S 2000,8\n L 1008,8\n").expect("a log");
    let trace = path("trace.pgt");
    let import = format!("trace import {log} --output {trace} --epoch 2 --filter 1x1,1");
    assert_eq!(run(&import).status.code(), Some(0));
    let plain = path("string.oracleGeneral");
    let said = run(&format!("trace export {trace} --output {plain}"));
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(stderr(&said).contains("records 3, pages 2"), "{}", stderr(&said));
    let record = |time: u32, page: u64, next: i64| {
        let parts = [&time.to_le_bytes()[..], &page.to_le_bytes(), &4096_u32.to_le_bytes()];
        [&parts.concat()[..], &next.to_le_bytes()].concat()
    };
    let expected = [record(0, 1, 3), record(0, 2, -1), record(1, 1, -1)].concat();
    assert_eq!(std::fs::read(&plain).expect("a file"), expected);
    let packed = path("string.oracleGeneral.zst");
    assert_eq!(run(&format!("trace export {trace} --output {packed}")).status.code(), Some(0));
    let packed = std::fs::read(packed).expect("a file");
    assert_eq!(packed[..4], [0x28, 0xb5, 0x2f, 0xfd], "a frame of zstd");
    refused(&format!("trace export {trace} --output {trace}"), &["trace.pgt"]);
    refused("trace export cc1plus-list", &["--output"]);
}

#[test]
fn a_cache_s_trace_is_imported_and_keeps_its_order() {
    let directory = tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (first, again) = (path("first.oracleGeneral"), path("again.oracleGeneral"));
    let done = run(&format!("trace export cc1plus-list --output {first}"));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let import = format!("trace import --from oracle-general {first} --output {}", path("a.pgt"));
    let done = run(&import);
    assert!(stderr(&done).contains("no mappings"), "{}", stderr(&done));
    let done = run(&format!("trace export {} --output {again}", path("a.pgt")));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    // All but the times, of which the import keeps none.
    let objects = |name: &str| -> Vec<[u8; 20]> {
        let bytes = std::fs::read(name).expect("a file");
        let (records, rest) = bytes.as_chunks::<24>();
        assert!(rest.is_empty());
        records.iter().map(|record| *record.last_chunk().expect("20 of 24")).collect()
    };
    assert!(objects(&first) == objects(&again), "the same records");
    refused(&format!("{import} --filter 16x4,32"), &["--filter", "oracle-general"]);
}

/// A file without end, or with more records than a trace can have, takes neither time nor memory.
#[test]
fn what_is_no_cache_s_trace_is_refused() {
    let directory = tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let import = |name: &str| {
        format!("trace import --from oracle-general {} --output {}", path(name), path("x.pgt"))
    };
    let huge = std::fs::File::create(path("huge")).expect("a file");
    huge.set_len(24 << 36).expect("a hole");
    std::fs::write(path("cut"), [0; 25]).expect("a file");
    std::fs::write(path("empty"), "").expect("a file");
    for (name, part) in [("huge", "more than"), ("cut", "byte 24"), ("empty", "no reference")] {
        refused(&import(name), &[name, part, "record"]);
    }
    let zeros = format!("trace import --from oracle-general /dev/zero --output {}", path("x.pgt"));
    refused(&zeros, &["record 0"]);
    assert!(!std::path::Path::new(&path("x.pgt")).exists());
}
