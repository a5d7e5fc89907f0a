//! DAMON's records: tracepoints as perf and trace-cmd print them, and text and JSON of damo 2.9 to
//! 3.3.

use super::{Read, Refused, case, check, of};
use pageout_trace::{Cause, Format, ImportOptions};

/// A snapshot of two regions, of which the first, of three pages, was accessed.
const RAW: &str = "\
base_time_absolute: 8 m 59.809 s
data source: unknown

monitoring_start:                0 ns
monitoring_end:            104.599 ms
monitoring_duration:       104.599 ms
target_id: 0
nr_regions: 2
# start_addr     end_addr        length  nr_accesses   age
7f0000000000-7f0000003000 (  12.000 KiB)           4     7
7f0000003000-7f0000010000 (  52.000 KiB)           0    -1

";

const REGION: &str = "target_id=0 nr_regions=1 139637976727552-139637976739840: 4 7";

#[test]
fn the_text_of_damo_is_imported() {
    let raw_number = RAW.replace("8 m 59.809 s", "539809434100").replace("12.000 KiB", "12,288");
    let closed = format!(
        "{RAW}target_id: 0\nnr_regions: 1\n\
         000000000000-000000000000 (       0 B)          -1    -1\n"
    );
    check(
        &of(Format::Damon),
        vec![
            case("damo 2.9.9 and later", RAW, Read(3, 3, &[])),
            case("before 2.9.8", RAW.replace("data source: unknown\n", ""), Read(3, 3, &[])),
            case("of a scheme", RAW.replace("target_id: 0", "target_id: None"), Read(3, 3, &[])),
            case("--raw_number", raw_number, Read(3, 3, &[])),
            case(
                "an old target",
                RAW.replace("_id: 0", "_id: 18446623438842320000"),
                Read(3, 3, &[]),
            ),
            case("two records", RAW.repeat(2), Read(6, 3, &[])),
            case("a closing snapshot", closed, Read(3, 3, &[(Cause::ClosingSnapshot, 1)])),
            case("a byte-order mark", format!("\u{feff}{RAW}"), Read(3, 3, &[])),
        ],
    );
}

#[test]
fn tracepoints_are_imported_whoever_prints_them() {
    let converted = "\
kdamond.x xxxx xxxx 1.000000: damon:damon_aggregated: target_id=0 nr_regions=1 139637976727552-139637976739840: 4 7
kdamond.x xxxx xxxx 2.000000: damon:damon_aggregated: target_id=0 nr_regions=1 0-0: -1 -1
";
    let trace_cmd = "\
cpus=8
       kdamond.0-4452  [005] ..... 101005.778382: damon_aggregated:     target_id=0 nr_regions=1 139637976727552-139637976739840: 4 7
           <...>-4452  [005] 101005.878382: damon_aggregated:     target_id=0 nr_regions=1 139637976727552-139637976739840: 2 0
";
    let between = format!(
        "kdamond.0  4452 [005] 101005.77: damon:damon_aggregated: {REGION}\n\
         kdamond.0  4452 [005] 101005.78: damon:damos_before_apply: ctx_idx=0 scheme_idx=0 \
         target_idx=0 nr_regions=1 139637976727552-139637976739840: 4 7\n\
         kdamond.0  4452 [005] 101005.79: damon:damon_monitor_intervals_tune: sample_us=80000\n"
    );
    let both = format!(
        "kdamond.0  4452 [005] 101005.77: damon:damon_aggregated: {REGION}\n\
         kdamond.0  4452 [005] 101005.77: damon:damon_region_aggregated: {REGION} probe_hits=\n"
    );
    let ftrace = format!(
        "# tracer: nop\n#\n           kdamond.0-4452    [005] .....  101.77: damon_aggregated: \
         {REGION}\n"
    );
    check(
        &of(Format::Damon),
        vec![
            case("perf script of damo", converted, Read(3, 3, &[(Cause::ClosingSnapshot, 1)])),
            case("trace-cmd, with and without flags", trace_cmd, Read(6, 3, &[])),
            case("other events", between, Read(3, 3, &[(Cause::OtherEvent, 2)])),
            case("both events", both, Read(3, 3, &[(Cause::OtherEvent, 1)])),
            case(
                "the later event",
                format!("k-4 [0] 1.0: damon_region_aggregated: {REGION} probe_hits=13 00\n"),
                Read(3, 3, &[]),
            ),
            case(
                "perf trace",
                format!("3373.653 kdamond.0/129062 damon:damon_aggregated({REGION})\n"),
                Read(3, 3, &[]),
            ),
            case("ftrace", ftrace, Read(3, 3, &[])),
            case(
                "trace-cmd, of CPUs without events",
                format!(
                    "CPU 0 is empty\nCPU 2 is empty\ncpus=3\n k-4 [1] 1.0: damon_aggregated: \
                     {REGION}\n"
                ),
                Read(3, 3, &[(Cause::Remark, 2)]),
            ),
            case(
                "events lost elsewhere",
                format!(
                    "# tracer: nop\nCPU:1 [LOST 57 EVENTS]\n k-4 (4) [5] d..1. 1.0: \
                     damon_aggregated: {REGION}\n"
                ),
                Read(3, 3, &[(Cause::Remark, 1)]),
            ),
            case(
                "without the age",
                format!("k 4 [0] 1.0: damon:damon_aggregated: {}\n", &REGION[..REGION.len() - 2]),
                Read(3, 3, &[]),
            ),
        ],
    );
}

/// Returns a record of damo, with `fields` before the snapshots.
fn json(fields: &str, accesses: &str) -> String {
    format!(
        r#"[
    {{
        "kdamond_idx": 0,
        "context_idx": 0,
        "intervals": {{"sample_us": "5000", "aggr_us": "100000", "ops_update_us": "1000000"}},
        {fields}
        "scheme_filters": [],
        "snapshots": [
            {{
                "start_time": "1000000000",
                "end_time": "1100000000",
                "regions": [
                    {{
                        "start": "139,637,976,727,552",
                        "end": "139,637,976,739,840",
                        "nr_accesses": {{"samples": {accesses}, "percent": null}},
                        "age": {{"usec": null, "aggr_intervals": "7"}},
                        "sz_filter_passed": null
                    }}
                ],
                "total_bytes": null
            }}
        ],
        "data_source": "unknown"
    }}
]
"#
    )
}

#[test]
fn the_json_of_damo_is_imported() {
    let one = json("\"target_id\": 0,", "4");
    let closing = r#"{"regions": [{"start": "0", "end": "0",
        "nr_accesses": {"samples": -1, "percent": null}}]}"#;
    let closed =
        one.replace("\"total_bytes\": null\n            }", &format!("\"x\": 1}}, {closing}"));
    let plain = r#"[{"snapshots": [{"regions": [{"end": 12288, "start": 0,
        "nr_accesses": {"samples": null, "percent": 2.5}}]}], "target_id": null}]"#;
    check(
        &of(Format::Damon),
        vec![
            case("damo record", one.clone(), Read(3, 3, &[])),
            case(
                "of a scheme",
                json("\"scheme_idx\": 0, \"target_id\": null,", "4"),
                Read(3, 3, &[]),
            ),
            case(
                "an old target",
                json("\"target_id\": 18446623438842320000,", "4"),
                Read(3, 3, &[]),
            ),
            case("counts in quotes", json("\"target_id\": 0,", "\"1,234\""), Read(3, 3, &[])),
            case("a closing snapshot", closed, Read(3, 3, &[(Cause::ClosingSnapshot, 1)])),
            case("plain numbers, in another order", plain, Read(3, 3, &[])),
            case(
                "a byte-order mark",
                format!("\u{feff}{one}"),
                Refused("expected value at line 1"),
            ),
            case("no access", json("\"target_id\": 0,", "0"), Refused("no reference in it")),
            case("cut off", &one.as_bytes()[..400], Refused("EOF while parsing")),
            case(
                "JSON of another shape",
                "[{\"target_id\": 0}]",
                Refused("missing field `snapshots`"),
            ),
            case("no address", one.replace("139,637,976,739,840", "4 KiB"), Refused("line 15")),
            case("backwards", one.replace("739,840", "727,000"), Refused("not below the start")),
        ],
    );
    let two = format!(
        "{},{}",
        one.trim_end().trim_end_matches(']'),
        json("\"target_id\": 1,", "4").trim_start_matches('[')
    );
    check(&of(Format::Damon), vec![case("two targets", two.clone(), Refused("--pid 0"))]);
    let options = ImportOptions { process: Some(1), ..of(Format::Damon) };
    check(&options, vec![case("one of them", two, Read(3, 3, &[(Cause::OtherProcess, 1)]))]);
    let schemes = format!(
        "{},{}",
        json("\"scheme_idx\": 0, \"target_id\": 0,", "4").trim_end().trim_end_matches(']'),
        json("\"scheme_idx\": 1, \"target_id\": 0,", "4").trim_start_matches('[')
    );
    check(
        &of(Format::Damon),
        vec![case("two schemes", schemes, Refused("several DAMON contexts"))],
    );
}

/// Few bytes may ask for no more than a few seconds of work.
#[test]
fn regions_far_wider_than_their_text_are_refused() {
    let wide = "target_id: 0\nnr_regions: 1\n0-400000000 (  16 GiB) 4 7\n".repeat(8);
    let traced = "k 4 [0] 1.0: damon:damon_aggregated: target_id=0 nr_regions=1 0-17179869184: 4\n";
    let json = json("\"target_id\": 0,", "4").replace("139,637,976,727,552", "139,608,000,000,000");
    check(
        &of(Format::Damon),
        vec![
            case("eight snapshots", wide, Refused("33554432 pages were accessed in 8 regions")),
            case(
                "as tracepoints",
                traced.repeat(8),
                Refused("accepted are 4194304, and 32768 more"),
            ),
            case("JSON", json, Refused("pages were accessed in 1 regions")),
            case("beyond all", traced.repeat(9), Refused("accepted are 33554432 in all")),
        ],
    );
}

#[test]
fn reports_for_people_and_other_targets_are_refused() {
    let heatmap = "\
00000000000000000000000000000000000000000000000000
# access_frequency:  0  1  2  3  4  5  6  7  8  9
# x-axis: space (139637976727552-139637976739840: 12.000 KiB)
";
    let access = "\
heatmap: 888888888888
# min/max temperatures: -30,600,000,000, 600,002,369, column size: 766.312 MiB
intervals: sample 150 ms aggr 3 s (max access hz 6.667)
0   addr 4.000 GiB    size 1.937 GiB   access 0 hz   age 0 ns
";
    let two = RAW.to_owned() + &RAW.replace("target_id: 0", "target_id: 1");
    check(
        &of(Format::Damon),
        vec![
            case("damo report heatmap", heatmap, Refused("damo report access --raw_form")),
            case("damo report access", access, Refused("damo report access --raw_form")),
            case("two targets", two.clone(), Refused("choose one with --pid, such as --pid 0")),
            case("cut off", &RAW[..RAW.len() - 60], Refused("ends after 1 of them")),
            case("a trace.dat", *b"\x17\x08\x44tracing6\0", Refused("trace-cmd report")),
        ],
    );
    let options = ImportOptions { process: Some(1), ..of(Format::Damon) };
    check(&options, vec![case("one of them", two, Read(3, 3, &[(Cause::OtherProcess, 2)]))]);
}
