//! The threads' figures beside ours, through the binary.

use crate::common::{assert_refused, records, run, stdout};
use pageout_record::schema::Ground;

#[test]
fn every_thread_has_its_rows_and_none_is_left_out() {
    let table = stdout("reproduce --quick");
    for thread in ["S0: ", "S1: ", "S2: ", "S3: ", "S4: ", "lists: "] {
        assert!(table.lines().any(|line| line.starts_with(thread)), "no {thread} in:\n{table}");
    }
    for part in ["predicted", "counted", "measured", "direction only", "bounded", "score"] {
        assert!(table.contains(part), "no {part} in:\n{table}");
    }
    for id in ["s0-young-arm64", "s1-mglru-x86", "s2-thpscale-32", "s3-reach", "s4-shell1"] {
        let rows = table.lines().skip_while(|line| line.split(' ').next() != Some(id)).skip(1);
        let rows = rows.take_while(|line| line.starts_with(' '));
        assert!(rows.count() >= 1, "{id} has no row in:\n{table}");
    }
}

#[test]
fn a_thread_s_records_are_its_own() {
    let set = records("reproduce --thread S3 --quick");
    assert!(set.records.len() > 30, "{} records", set.records.len());
    assert!(set.records.iter().all(|record| record.fields["thread"] == "S3"));
    let on_host = set.records.iter().any(|record| record.ground == Ground::Host);
    assert!(!on_host, "nothing of it runs on the host");
    let predicted = records("reproduce --thread S1 --quick --draws 50");
    let model = predicted.records.iter().find(|record| record.ground == Ground::Model);
    let metrics = &model.expect("a prediction").metrics;
    let of = |name: &str| metrics.iter().find(|metric| metric.name == name).expect(name);
    let ratio = of("ratio").interval.expect("of draws");
    assert!(ratio.low < ratio.high && of("after").values[0] < of("before").values[0]);
}

#[test]
fn what_is_not_a_thread_is_refused() {
    assert_refused(&run("reproduce --thread S9"), &["S9", "S0, S1, S2, S3, S4 or lists"]);
    assert_refused(&run("reproduce --draws 3"), &["--draws", "20"]);
}
